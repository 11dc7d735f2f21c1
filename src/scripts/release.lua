-- Compare-and-delete (A6): the key goes only while it still carries our value. Who is first in
-- the queue is told.
-- KEYS[1] lock  KEYS[2] queue  ARGV[1] value  -> 1 deleted, 0 gone or another's
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if head then
  redis.call('PUBLISH', 'redlock.wake:' .. string.sub(head, 2, 17), head)
end
return 1
