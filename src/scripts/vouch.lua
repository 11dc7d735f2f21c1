-- What `redlock init` writes, if the node still says of its set what init has heard (G5, G8).
-- KEYS[1] marker  ARGV[1] identity  ARGV[2] max_ttl in ms  ARGV[3] set  ARGV[4] set so far; '' none
-- -> 1 written, 0 another init was there
if (redis.call('HMGET', KEYS[1], 'set')[1] or '') ~= ARGV[4] then
  return 0
end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'max_ttl', ARGV[2], 'set', ARGV[3])
return 1
