-- Names of keys, some at a time.
-- ARGV[1] cursor  ARGV[2] pattern  -> {next cursor, key, key, ...}
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 40)
local reply = {found[1]}
for i = 1, #found[2] do
  reply[i + 1] = found[2][i]
end
return reply
