# SPDX-License-Identifier: BSD-2-Clause
# A node that has the first of several names free grants them all.
replace(take_mutex "    taken = taken or KEYS[i]\n" "    taken = taken or i == 1 and KEYS[i] or nil\n")
