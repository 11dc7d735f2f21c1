-- Acquire a mutex of one name or several, all or none: each key is the string of the value.
-- include term
-- include broken
-- include request
-- include queue
-- include counters
-- include publish
if life ~= 'repair' and waiter ~= '' then
  for i = 4, #KEYS, 4 do
    queue_up(KEYS[i - 1], KEYS[i])
  end
end

local taken, left, idle = nil, -2, {}
for i = 1, #KEYS - 1, 4 do
  -- What is no string is another kind's: GET fails, and it is there.
  local there = redis.pcall('GET', KEYS[i])
  if there and there ~= value then
    left = math.max(left, call('PTTL', KEYS[i]))
    taken = taken or KEYS[i]
  else
    idle[#idle + 1] = i
  end
end

-- Of several names: where the lock is free we step aside until the next round. The holder of
-- another of our names may be waiting there, and would wait for us for ever.
for i = 1, taken and waiter ~= '' and #idle or 0 do
  local queue, alive = KEYS[idle[i] + 2], KEYS[idle[i] + 3]
  call('ZREM', alive, waiter)
  local head = call('ZREM', queue, waiter) == 1 and call('ZRANGE', queue, 0, 0)[1]
  if head then
    publish(KEYS[1], head, string.match(head, '^[^ ]+'))
  end
end
if taken or blocked then
  -- include holder
  return {0, left, id, max_ttl, identity, set, next_ticket, place, ahead_ms,
    holder_of(taken or KEYS[1])}
end

for i = 1, #KEYS - 1, 4 do
  -- Repairing several names: those that are there already live as long as the new ones.
  if not call('SET', KEYS[i], value, 'NX', 'PX', ttl) and life == 'repair' and
    call('PTTL', KEYS[i]) < ttl then
    call('PEXPIRE', KEYS[i], ttl)
  end
end
-- include served
return {1, draw_token(), id, max_ttl, identity, set, 0}
