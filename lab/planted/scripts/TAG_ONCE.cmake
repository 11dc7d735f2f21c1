# SPDX-License-Identifier: BSD-2-Clause
# A tag is granted again beside its own lock: no value of the tag is another request's.
replace(yours "return string.sub(text, 1, 23) == tag and" "return false and")
