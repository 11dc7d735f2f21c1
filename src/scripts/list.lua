-- Names of keys, some at a time: about forty at most, or what a few hundred visited keys have.
-- KEYS[1] marker: the keys of a tagged pattern are in its slot
-- ARGV[1] cursor  ARGV[2] pattern  ARGV[3] if given: of fence counters only those that are none
-- -> {next cursor, key, key, ...}
-- A counter is one whole number below 2^52 (acquire.lua).
local function is_counter(key)
  local type = redis.call('TYPE', key).ok
  if type ~= 'hash' or redis.call('HLEN', key) ~= 1 then
    return type == 'none'
  end
  local number = tonumber(redis.call('HGETALL', key)[2]) or -1
  return number >= 0 and number % 1 == 0 and number + 1 < 4503599627370496
end
local reply = {ARGV[1]}
for _ = 1, 64 do
  local found = redis.call('SCAN', reply[1], 'MATCH', ARGV[2], 'COUNT', 10)
  reply[1] = found[1]
  for i = 1, #found[2] do
    if not ARGV[3] or not is_counter(found[2][i]) then
      reply[#reply + 1] = found[2][i]
    end
  end
  if reply[1] == '0' or #reply > 40 then
    break
  end
end
return reply
