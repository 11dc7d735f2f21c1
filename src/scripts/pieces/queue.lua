-- Behind request. queue_up() finds our place in the queue of a name; these are the worst of all
-- names that it was called for.
local place, ahead_ms, next_ticket, blocked = 0, 0, 0, false

-- The largest ticket that was seen; 0 if there was none.
local function largest_ticket(alive)
  local largest = tonumber(call('ZSCORE', alive, 't') or 0)
  return largest + 1 < limit and largest or 0
end

-- A heartbeat, unless the last one is fresh: a waiter that was woken is in a hurry.
local function show_life(queue, alive)
  if tonumber(call('ZSCORE', alive, waiter) or 0) >= now + 0.7 * life then
    return
  end
  call('ZADD', queue, 'NX', ticket, waiter)
  -- The largest ticket is remembered, also when its place is taken along by a grant.
  if largest_ticket(alive) < tonumber(ticket) then
    call('ZADD', alive, decimal(now + life), waiter, ticket, 't')
  else
    call('ZADD', alive, decimal(now + life), waiter)
  end
  call('PEXPIRE', queue, life)
  call('PEXPIRE', alive, life)
end

local function find_rank(queue)
  return waiter ~= '' and call('ZRANK', queue, waiter) or call('ZCARD', queue)
end

-- Waiters without a heartbeat for their TTL are evicted.
local function evict(queue, alive)
  local dead = call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)
  for i = 1, #dead do
    call('ZREM', queue, dead[i])
    call('ZREM', alive, dead[i])
  end
  return #dead
end

local function queue_up(queue, alive)
  next_ticket = math.max(next_ticket, now_us)
  if waiter ~= '' and ticket ~= '0' then
    show_life(queue, alive)
  else
    next_ticket = math.max(next_ticket, largest_ticket(alive) + 1)
  end
  local rank = find_rank(queue)
  if rank > 0 and evict(queue, alive) > 0 then
    rank = find_rank(queue)
  end
  if rank > 0 then
    local before = call('ZRANGE', queue, rank - 1, rank - 1)[1]
    local ends = call('ZSCORE', alive, before)
    if not ends then
      call('ZREM', queue, before)
    end
    ahead_ms = math.max(ahead_ms, math.min(tonumber(ends or now + 1) - now, limit))
    blocked = true
  end
  place = math.max(place, rank + 1)
  return rank
end
