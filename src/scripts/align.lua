-- Raise the fence counters, and the token that the owner of a re-entrant lock has, to the
-- token, only while the lock here is still ours.
-- KEYS    for each name: lock, fence counter
-- ARGV    1 value  2 token  3 life of an idle counter in ms  4 incarnation of the node
-- -> 1 done, 0 not ours, or no token
local call = redis.call
local hashes, token, limit = {}, tonumber(ARGV[2]), 4503599627370496 -- 2^52
if token >= limit then
  return 0
end
-- What is no number of a counter is behind every token (acquire.lua).
local function is_behind(text)
  local number = tonumber(text or '') or -1
  return number < token or number % 1 ~= 0 or number >= limit
end
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
  -- A node without memory lets a script write what needs some only behind another write.
  local is_there = call('PEXPIRE', KEYS[i + 1], ARGV[3]) == 1
  if is_behind(counter[2]) then
    call('HSET', KEYS[i + 1], counter[1] or ARGV[4], ARGV[2])
  end
  if not is_there then
    call('PEXPIRE', KEYS[i + 1], ARGV[3])
  end
  if hashes[i] and is_behind(call('HGET', KEYS[i], 'fence')) then
    call('HSET', KEYS[i], 'fence', ARGV[2])
  end
end
return 1
