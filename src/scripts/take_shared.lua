-- Acquire as one of many readers: the key is a sorted set of holds by their ends.
-- include term
-- include broken
-- include request
-- include queue
-- A reader waits for the writers ahead of it, a reader without a place for all that are queued.
if life ~= 'repair' then
  local rank, writers = queue_up(KEYS[3], KEYS[4]), false
  for _, other in ipairs(blocked and call('ZRANGE', KEYS[3], 0, math.min(rank, 256) - 1) or {}) do
    writers = writers or string.sub(other, 1, 1) ~= 'r'
  end
  if not writers then
    blocked, ahead_ms = false, 0
  end
end

local type = call('TYPE', KEYS[1]).ok
-- include yours
local mine = yours(KEYS[1], type)
local taken = type ~= 'none' and type ~= 'zset' or mine
if taken or blocked then
  -- include holder
  return {0, taken and call('PTTL', KEYS[1]) or -2, id, max_ttl, identity, set, next_ticket, place,
    ahead_ms, mine or holder_of(KEYS[1])}
end
-- Beside readers others are served: the place in the queue stays until the client leaves.
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
call('ZADD', KEYS[1], decimal(now + ttl), value)
-- include longest
return {1, 0, id, max_ttl, identity, set, 0}
