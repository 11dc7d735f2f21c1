-- Raise the fence counters, and the token that the owner of a re-entrant lock has, to the
-- token, only while the lock here is still ours.
-- KEYS    for each name: lock, fence counter
-- ARGV    1 value  2 token  3 life of an idle counter in ms  4 incarnation of the node
-- -> 1 done, 0 not ours
local call = redis.call
local hashes = {}
for i = 1, #KEYS, 2 do
  if redis.pcall('GET', KEYS[i]) ~= ARGV[1] then
    hashes[i] = call('TYPE', KEYS[i]).ok == 'hash'
    if not hashes[i] or call('HEXISTS', KEYS[i], 'h:' .. ARGV[1]) == 0 then
      return 0
    end
  end
end
for i = 1, #KEYS, 2 do
  local counter = call('HGETALL', KEYS[i + 1])
  if (tonumber(counter[2] or '') or -1) < tonumber(ARGV[2]) then
    call('HSET', KEYS[i + 1], counter[1] or ARGV[4], ARGV[2])
  end
  call('PEXPIRE', KEYS[i + 1], ARGV[3])
  if hashes[i] and tonumber(call('HGET', KEYS[i], 'fence') or '0') < tonumber(ARGV[2]) then
    call('HSET', KEYS[i], 'fence', ARGV[2])
  end
end
return 1
