-- Compare-and-renew (A7): never creates the key, never shortens its life.
-- KEYS[1] lock  ARGV[1] value  ARGV[2] ttl in ms  -> 1 renewed, 0 gone or another's
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
