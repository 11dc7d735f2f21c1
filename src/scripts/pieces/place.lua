-- Our rank in the queue of a plain mutex, and how long the waiter ahead may live (wait.lua).
local time = call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local next_ticket, rank, ahead_ms = 0, 0, 0
-- No clock has come to 2^52: what is not below it was planted or damaged.
local limit = 4503599627370496

local is_new = queued and call('ZADD', queue, 'NX', ticket, waiter) == 1
-- A heartbeat, unless the last one is fresh: a waiter that was woken is in a hurry.
if not queued or is_new or tonumber(call('ZSCORE', alive, waiter) or 0) < now + 0.7 * life then
  local largest = tonumber(call('ZSCORE', alive, 't') or 0)
  if largest + 1 >= limit then
    largest = 0
  end
  if not queued then
    next_ticket = math.max(now_us, largest + 1)
  else
    -- The largest ticket is remembered, also when its place is taken along by a grant.
    if largest < tonumber(ticket) then
      call('ZADD', alive, now + life, waiter, ticket, 't')
    else
      call('ZADD', alive, now + life, waiter)
    end
    call('PEXPIRE', queue, life)
    call('PEXPIRE', alive, life)
  end
end

-- Twice if waiters without a heartbeat for their TTL were evicted. That is looked at by the waiter
-- behind them.
for _ = 1, is_first and 0 or 2 do
  rank = queued and call('ZRANK', queue, waiter) or call('ZCARD', queue)
  if rank == 0 then break end
  local at = rank - 1 .. ''
  local ahead = call('ZRANGE', queue, at, at)[1]
  local ends = call('ZSCORE', alive, ahead)
  ahead_ms = math.max(math.min((tonumber(ends) or 0) - now, limit), 1)
  if ahead_ms > 1 then break end
  if not ends then
    call('ZREM', queue, ahead)
  end
  local dead = call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', '0', '64')
  for i = 1, #dead do
    call('ZREM', queue, dead[i])
    call('ZREM', alive, dead[i])
  end
end
