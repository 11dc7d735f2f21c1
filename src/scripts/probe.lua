-- Is this incarnation admitted? If not, the probation string to be watched.
-- KEYS[1] marker  KEYS[2] probation  ARGV[1] identity  ARGV[2] nonce  -> 'A' or the string
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  return 'A'
end
local probation = redis.call('GET', KEYS[2])
if not probation or string.sub(probation, 1, #ARGV[1]) ~= ARGV[1] then
  probation = ARGV[1] .. '/' .. ARGV[2]
  redis.call('SET', KEYS[2], probation)
end
return probation
