# SPDX-License-Identifier: BSD-2-Clause
# A node gives any free permit instead of the one that was asked for.
replace(take_slots [[left = #free > 0 and 0 or math.min(soonest - now, limit)]]
    [[left = #free > 0 and 0 or math.min(soonest - now, limit)
    if #free > 0 then
      taken, want = false, decimal(free[1])
    end]])
