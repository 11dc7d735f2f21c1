-- Raise the fence counter to the token, only while the lock here is still ours.
-- KEYS[1] lock  KEYS[2] fence counter
-- ARGV[1] value  ARGV[2] token  ARGV[3] life of an idle counter in ms  -> 1 done, 0 not ours
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
local counter = redis.call('GET', KEYS[2])
if not counter or tonumber(counter) < tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], ARGV[2])
end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1
