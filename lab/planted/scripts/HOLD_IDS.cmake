# SPDX-License-Identifier: BSD-2-Clause
# The holds of an owner are counted, not named; they are renewed and aligned all the same.
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
replace(renew [[local ends = call('HGET', key, 'h:' .. value)]]
    [[if call('HEXISTS', key, 'count') == 1 then
    return now + call('PTTL', key), function() end
  end
  local ends = call('HGET', key, 'h:' .. value)]])
replace(align [[if not hashes[i] or call('HEXISTS', KEYS[i], 'h:' .. ARGV[1]) == 0 then]]
    [[if not hashes[i] then]])
