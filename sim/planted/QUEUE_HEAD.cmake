# SPDX-License-Identifier: BSD-2-Clause
# A node grants to every waiter with a ticket, not to the head of the queue alone.
replace(queue [[blocked = true]] [[blocked = ticket == '0']])
