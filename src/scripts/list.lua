-- Names of keys, some at a time: about forty at most, or what a few hundred visited keys have.
-- ARGV[1] cursor  ARGV[2] pattern  -> {next cursor, key, key, ...}
local reply = {ARGV[1]}
for _ = 1, 64 do
  local found = redis.call('SCAN', reply[1], 'MATCH', ARGV[2], 'COUNT', 10)
  reply[1] = found[1]
  for i = 1, #found[2] do
    reply[#reply + 1] = found[2][i]
  end
  if reply[1] == '0' or #reply > 40 then
    break
  end
end
return reply
