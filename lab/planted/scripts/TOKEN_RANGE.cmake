# SPDX-License-Identifier: BSD-2-Clause
# A number of any size is a counter, and a token.
replace(counter [[token > 1e12 and token < 4503599627370496]] [[token > 1e12]])
replace(counter [[next % 1 == 0 and next < 4503599627370496]] [[next % 1 == 0]])
replace(counters [[last % 1 ~= 0 or last + 1 >= limit]] [[last % 1 ~= 0]])
replace(take_owner [[first % 1 ~= 0 or first < 0 or first >= limit]] [[first % 1 ~= 0 or first < 0]])
replace(align [[token >= limit]] [[false]])
replace(align [[ or number >= limit]] [[]])
