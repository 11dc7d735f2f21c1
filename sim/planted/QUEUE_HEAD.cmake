# SPDX-License-Identifier: BSD-2-Clause
# A node grants to every waiter with a ticket, not to the head of the queue alone.
replace(take [[local here = rank > 0]] [[local here = rank > 0 and ticket == '0']])
