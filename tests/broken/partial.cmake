# SPDX-License-Identifier: BSD-2-Clause
# Of several names a node looks at the first alone and sets those that are free.
replace(take_mutex "    taken = true\n" "    taken = taken or i == 1\n")
