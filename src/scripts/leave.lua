-- Leave the queue of every name, and wake the waiter that can be served instead.
-- KEYS  for each name: lock, queue, liveness   ARGV[1] waiter  -> 0
local call = redis.call
local waiter, slot = ARGV[1], ''
-- include clock
-- include forget
-- include publish
-- include wake
for i = 1, #KEYS, 3 do
  local left = call('ZREM', KEYS[i + 1], waiter)
  call('ZREM', KEYS[i + 2], waiter)
  if not forget(KEYS[i], KEYS[i + 1], KEYS[i + 2]) and left == 1 then
    wake(KEYS[i], KEYS[i + 1], KEYS[i + 2])
  end
end
return 0
