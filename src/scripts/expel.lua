-- Take the admission of this incarnation away: its clock was set (G6). Its set stays: without it, a client
-- with another list of nodes would take it for one that was never initialised (G8). A stamp has the
-- time of before.
-- KEYS[1] marker  ARGV[1] what the marker names  -> 1 taken away, 0 it was not there
local marker = redis.call('HMGET', KEYS[1], 'id', 'stamp')
if string.match(marker[2] or '', '^%d+ (.*)$') == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'stamp')
end
if marker[1] ~= ARGV[1] then
  return 0
end
redis.call('HDEL', KEYS[1], 'id')
-- Of an elected vote max_ttl belongs to the set: no client writes it again.
if not string.find(ARGV[1], '@', 1, true) then
  redis.call('HDEL', KEYS[1], 'max_ttl')
end
return 1
