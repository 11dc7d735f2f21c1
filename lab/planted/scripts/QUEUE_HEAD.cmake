# SPDX-License-Identifier: BSD-2-Clause
# A node grants to every waiter with a ticket, not to the head of the queue alone.
replace(queue [[blocked = true]] [[blocked = ticket == '0']])
replace(wait [[if is_first or rank > 0 or not grant() then]]
    [[if is_first or (rank > 0 and not queued) or not grant() then]])
