-- Take the admission of this incarnation away: its clock was set (G6). Its set stays: without it, a client
-- with another list of nodes would take it for one that was never initialised (G8).
-- KEYS[1] marker  ARGV[1] identity  -> 1 taken away, 0 it was not there
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then
  return 0
end
redis.call('HDEL', KEYS[1], 'id', 'max_ttl')
return 1
