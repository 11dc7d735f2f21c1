# SPDX-License-Identifier: BSD-2-Clause
# A counter that another life of the node began goes on counting, not from the clock.
replace(counter [[token = math.max(token, next)]]
    [[token = fields[i] ~= sure and next > 1 and next or math.max(token, next)]])
replace(counters [[known and 0 or now_us]] [[(known or last > 0) and 0 or now_us]])
