-- Tell who is first in the queue that the lock may be free: for servers that delete by themselves.
-- KEYS[1] lock  KEYS[2] queue  -> 1 told, 0 nobody waits or it is taken
local head = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
if not head or redis.call('EXISTS', KEYS[1]) == 1 then
  return 0
end
redis.call('PUBLISH', 'redlock.wake:' .. string.sub(head, 2, 17), head)
return 1
