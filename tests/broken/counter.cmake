# SPDX-License-Identifier: BSD-2-Clause
# Re-entrant holds are counted instead of being named.
replace(take "call('HSET', key, 'owner', group, 'h:' .. value, expiry)"
    "call('HSET', key, 'owner', group)\n  call('HINCRBY', key, 'count', 1)")
replace(giveback "return give_back_field(key)"
    "if call('HINCRBY', key, 'count', -1) <= 0 then\n      call('DEL', key)\n    end\n    return 1")
