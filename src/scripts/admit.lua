-- Turn a probation that was watched for the guard time into the marker, if it is still there.
-- KEYS[1] marker  KEYS[2] probation  ARGV[1] identity  ARGV[2] probation  ARGV[3] max_ttl in ms
-- -> 1 admitted, 0 the probation was lost
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  return 1
end
if redis.call('GET', KEYS[2]) ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'max_ttl', ARGV[3])
redis.call('DEL', KEYS[2])
return 1
