-- Acquire with a queue, of any kind, one name or several; with a token and the marker if asked.
-- KEYS    for each name: lock, fence counter, queue, liveness; then the marker
-- ARGV    1 number of names  2 value  3 ttl in ms
--         4 kind: m mutex, s shared, o owner (re-entrant), k slots (semaphore)
--         5 owner, or number of slots  6 slot
--         7 life of an idle counter in ms, 0 for no token
--         8 1 to be told who the node is at this moment (G2)
--         9 waiter, '' to ignore the queue  10 ticket, 0 for none yet
--         11 life of a waiter in ms, 'heal' for a hold that is proven already
--         12 incarnation of the node, "?" behind it or alone: not sure
-- -> {1, token, marker id, marker max_ttl, identity, token of the owner's first hold or 0}
--    {0, remaining ms, marker id, marker max_ttl, identity, next ticket or 0, place in the queue,
--        ms that who is ahead may live, up to four free slots}
--    {-2, max_ttl} the ttl is beyond what this node allows
local call = redis.call

-- The plain mutex, free, and we are first, or nobody waits: what everybody waits for.
if ARGV[4] == 'm' and ARGV[1] == '1' and ARGV[7] == '0' and ARGV[8] == '0' and ARGV[9] ~= '' then
  local waiter, queued = ARGV[9], ARGV[10] ~= '0'
  if call('ZRANGE', KEYS[3], 0, 0)[1] == (queued and waiter or nil) and
    call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then
    if queued then
      call('ZREM', KEYS[3], waiter)
      call('ZREM', KEYS[4], waiter)
    end
    return {1, 0, '', 0, '', 0}
  end
end

local names, value, ttl, kind, group =
  tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local want, waiter, ticket, life = ARGV[6], ARGV[9], ARGV[10], ARGV[11]
local key = KEYS[1]
-- Counters and tickets are microseconds of a clock. What is not below 2^52 was planted or damaged.
local limit = 4503599627370496

local function decimal(number)
  return string.format('%.0f', number)
end

-- The grant of a lock for one takes the place in the queue with it: while it is ours nobody else
-- is served here, and a rollback puts us back. Beside readers and slots others are served.
local function leave()
  if waiter ~= '' and ticket ~= '0' and (kind == 'm' or kind == 'o') then
    for i = 1, names do
      call('ZREM', KEYS[4 * i - 1], waiter)
      call('ZREM', KEYS[4 * i], waiter)
    end
  end
end

local id, max_ttl, identity = '', 0, ''
if ARGV[7] ~= '0' or ARGV[8] == '1' then
  local marker = call('HMGET', KEYS[#KEYS], 'id', 'max_ttl')
  id, max_ttl = marker[1] or '', tonumber(marker[2] or '') or 0
  if max_ttl > 0 and ttl > max_ttl then
    return {-2, max_ttl}
  end
end
if ARGV[8] == '1' then
  identity = (string.match(call('INFO', 'server'), 'run_id:(%x+)') or '') .. ':' ..
    (string.match(call('INFO', 'replication'), 'master_replid:(%x+)') or '')
end
local time = call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
local expiry = decimal(now + ttl)

-- The largest ticket that was seen; 0 if there was none.
local function largest_ticket(alive)
  local largest = tonumber(call('ZSCORE', alive, 't') or 0)
  return largest + 1 < limit and largest or 0
end

-- The queue. A writer waits for everybody ahead of it, a reader only for writers.
local place, ahead_ms, next_ticket, blocked = 0, 0, 0, false
if life ~= 'heal' and (waiter ~= '' or kind == 's') then
  for i = 1, names do
    local queue, alive = KEYS[4 * i - 1], KEYS[4 * i]
    next_ticket = math.max(next_ticket, now_us)
    if waiter ~= '' and ticket ~= '0' then
      -- A sign of life, unless the last one is fresh: who is woken is in a hurry.
      local ends = tonumber(call('ZSCORE', alive, waiter) or 0)
      if ends < now + 0.7 * life then
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
    else
      next_ticket = math.max(next_ticket, largest_ticket(alive) + 1)
    end
    local function place_of_ours()
      return waiter ~= '' and call('ZRANK', queue, waiter) or call('ZCARD', queue)
    end
    local rank = place_of_ours()
    local dead = rank > 0 and call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64) or {}
    for j = 1, #dead do
      call('ZREM', queue, dead[j])
      call('ZREM', alive, dead[j])
    end
    if #dead > 0 then
      rank = place_of_ours()
    end
    local here = rank > 0
    if kind == 's' and here then
      here = false
      for _, other in ipairs(call('ZRANGE', queue, 0, math.min(rank, 256) - 1)) do
        here = here or string.sub(other, 1, 1) == 'w'
      end
    end
    if here then
      local before = call('ZRANGE', queue, rank - 1, rank - 1)[1]
      local ends = call('ZSCORE', alive, before)
      if not ends then
        call('ZREM', queue, before)
      end
      ahead_ms = math.max(ahead_ms, math.min(tonumber(ends or now + 1) - now, limit))
      blocked = true
    end
    place = math.max(place, rank + 1)
  end
end

-- The lock itself: free for us, or how long it stays taken.
local left, free, idle = -2, {}, {}
local type = kind == 'm' and '' or call('TYPE', key).ok
local taken = true
if kind == 'm' then
  taken = false
  for i = 1, names do
    local lock = KEYS[4 * i - 3]
    -- What is no string is another kind's: GET fails, and it is there.
    local there = redis.pcall('GET', lock)
    if there and there ~= value then
      left = math.max(left, call('PTTL', lock))
      taken = true
    else
      idle[#idle + 1] = i
    end
  end
elseif type == 'none' then
  taken = false
elseif kind == 's' and type == 'zset' then
  taken = false
elseif kind == 'o' and type == 'hash' and call('HGET', key, 'owner') == group then
  -- Who holds it already cannot wait for those who wait for it.
  taken, blocked = false, false
elseif kind == 'k' and type == 'hash' and call('HGET', key, 'slots') == group then
  local soonest
  local at = {}
  local fields = call('HGETALL', key)
  for i = 1, #fields, 2 do
    local slot = string.match(fields[i], '^s:(%d+)$')
    local ends = slot and tonumber(string.match(fields[i + 1], '^%d+'))
    if ends and ends > now then
      at[slot] = true
      soonest = math.min(soonest or ends, ends)
    end
  end
  taken = at[want] or tonumber(want) > tonumber(group)
  if taken then
    for i = 1, tonumber(group) - 1 do
      local slot = decimal((want - 1 + i) % group + 1)
      if not at[slot] then
        free[#free + 1] = tonumber(slot)
        if #free == 4 then break end
      end
    end
    left = #free > 0 and 0 or math.min(soonest - now, limit)
  end
end
if taken and left == -2 then
  left = call('PTTL', key)
end

-- Of several names: where the lock is free we step aside until the next round. Who holds another
-- of our names may be waiting there, and would wait for us for ever.
for i = 1, taken and waiter ~= '' and #idle or 0 do
  local queue = KEYS[4 * idle[i] - 1]
  call('ZREM', KEYS[4 * idle[i]], waiter)
  local head = call('ZREM', queue, waiter) == 1 and call('ZRANGE', queue, 0, 0)[1]
  if head then
    redis.pcall('PUBLISH', 'redlock.wake:' .. string.sub(head, 2, 17), head)
  end
end
if taken or blocked then
  local reply = {0, left, id, max_ttl, identity, next_ticket, place, ahead_ms}
  for i = 1, #free do
    reply[#reply + 1] = free[i]
  end
  return reply
end

if kind == 'm' then
  for i = 1, names do
    -- Healing several names: those that are there already live as long as the new ones.
    local lock = KEYS[4 * i - 3]
    if not call('SET', lock, value, 'NX', 'PX', ttl) and life == 'heal' and
      call('PTTL', lock) < ttl then
      call('PEXPIRE', lock, ttl)
    end
  end
elseif kind == 's' then
  call('ZREMRANGEBYSCORE', key, '-inf', now)
  call('ZADD', key, expiry, value)
elseif kind == 'o' then
  call('HSET', key, 'owner', group, 'h:' .. value, expiry)
else
  call('HSET', key, 'slots', group, 's:' .. want, expiry .. ':' .. value)
end
leave()
-- The key lives as long as its longest hold.
if kind ~= 'm' and call('PTTL', key) < ttl then
  call('PEXPIRE', key, ttl)
end

-- The owner's token is that of its first hold; the counter goes on nevertheless, so that the
-- token of a hold that only looks nested, beside a leftover, is larger than every earlier one.
local token, owners = 0, 0
if ARGV[7] ~= '0' then
  -- A counter that expired, was lost, began in quarantine or came back with an old snapshot
  -- starts at the clock. How it is stored: acquire.lua.
  local sure, tags, old = string.match(ARGV[12], '^[^?]*'), {}, {}
  for i = 1, names do
    local counter = call('HGETALL', KEYS[4 * i - 2])
    local from, last = counter[1], tonumber(counter[2] or '') or -1
    if last % 1 ~= 0 or last + 1 >= limit then
      last = -1
    end
    local known = from == sure and sure ~= '' and last > 1e12
    token = math.max(token, last + 1, known and 0 or now_us)
    tags[i], old[i] = (known or sure == '') and from or ARGV[12], from
    -- Without its marker the node is in quarantine, whatever who asks believes (G2).
    if ARGV[8] == '1' and id ~= identity and not known and tags[i] == sure then
      tags[i] = sure .. '?'
    end
  end
  for i = 1, names do
    if old[i] and old[i] ~= tags[i] then
      call('DEL', KEYS[4 * i - 2])
    end
    call('HSET', KEYS[4 * i - 2], tags[i], decimal(token))
    call('PEXPIRE', KEYS[4 * i - 2], ARGV[7])
  end
  owners = kind == 'o' and tonumber(call('HGET', key, 'fence') or '') or 0
  if owners % 1 ~= 0 or owners < 0 or owners >= limit then
    owners = 0
  end
  if kind == 'o' and owners == 0 then
    call('HSET', key, 'fence', decimal(token))
  end
end
return {1, token, id, max_ttl, identity, owners}
