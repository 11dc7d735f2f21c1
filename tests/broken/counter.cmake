# SPDX-License-Identifier: BSD-2-Clause
# Re-entrant holds are counted instead of being named.
replace(take_owner "call('HSET', key, 'owner', owner, 'h:' .. value, decimal(now + ttl))"
    "call('HSET', key, 'owner', owner)\n  call('HINCRBY', key, 'count', 1)")
replace(giveback "return give_back_field(key)"
    "if call('HEXISTS', key, 'count') == 0 then
      return give_back_field(key)
    end
    if call('HINCRBY', key, 'count', -1) <= 0 then
      call('DEL', key)
    end
    return 1")
