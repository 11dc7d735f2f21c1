-- What `redlock init` writes, if the node's set is still what init has read (G5, G8).
-- KEYS[1] marker  ARGV[1] what the marker is to name  ARGV[2] max_ttl in ms  ARGV[3] set
-- ARGV[4] set so far; '' none  ARGV[5] the electors of an elected vote
-- -> 1 written, 0 another init was there
local marker = redis.call('HMGET', KEYS[1], 'set', 'stamp', 'electors')
if (marker[1] or '') ~= ARGV[4] then
  return 0
end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'max_ttl', ARGV[2], 'set', ARGV[3])
-- Of an elected vote that it was so far.
if marker[2] or marker[3] then
  redis.call('HDEL', KEYS[1], 'stamp', 'electors')
end
if ARGV[5] then
  redis.call('HSET', KEYS[1], 'electors', ARGV[5])
end
return 1
