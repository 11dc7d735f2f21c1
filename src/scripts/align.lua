-- Raise the fence counters, and the token that the owner of a re-entrant lock has, to the
-- token, only while the lock here is still ours.
-- KEYS    for each name: lock, fence counter
-- ARGV    1 value  2 token  3 life of an idle counter in ms  4 incarnation of the node
-- -> 1 done, 0 not ours
local call = redis.call
local function is_ours(key)
  if call('TYPE', key).ok == 'hash' then
    return call('HEXISTS', key, 'h:' .. ARGV[1]) == 1
  end
  return redis.pcall('GET', key) == ARGV[1]
end

for i = 1, #KEYS, 2 do
  if not is_ours(KEYS[i]) then
    return 0
  end
end
for i = 1, #KEYS, 2 do
  local counter = call('HGETALL', KEYS[i + 1])
  if (tonumber(counter[2] or '') or -1) < tonumber(ARGV[2]) then
    call('HSET', KEYS[i + 1], counter[1] or ARGV[4], ARGV[2])
  end
  call('PEXPIRE', KEYS[i + 1], ARGV[3])
  if call('TYPE', KEYS[i]).ok == 'hash' and
    tonumber(call('HGET', KEYS[i], 'fence') or '0') < tonumber(ARGV[2]) then
    call('HSET', KEYS[i], 'fence', ARGV[2])
  end
end
return 1
