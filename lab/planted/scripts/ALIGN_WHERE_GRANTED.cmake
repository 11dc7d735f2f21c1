# SPDX-License-Identifier: BSD-2-Clause
# A counter is raised where the lock is not ours.
replace(align [[if not hashes[i] or call('HEXISTS', KEYS[i], 'h:' .. ARGV[1]) == 0 then]]
    [[if false then]])
