-- Acquire for an owner, which may hold the lock any number of times: the key is a hash with a field
-- for the owner, one for each hold and its end, and one for the token of the first.
-- ARGV  9 owner
-- include term
-- include broken
-- include request
-- include queue
-- include counters
if life ~= 'repair' and waiter ~= '' then
  queue_up(KEYS[3], KEYS[4])
end

local key, owner = KEYS[1], ARGV[9]
local type = call('TYPE', key).ok
-- include yours
local mine = yours(key, type)
local taken = type ~= 'none'
if not mine and type == 'hash' and call('HGET', key, 'owner') == owner then
  -- An owner that holds it already cannot wait for those that wait for it.
  taken, blocked = false, false
end
if taken or blocked then
  -- include holder
  return {0, taken and call('PTTL', key) or -2, id, max_ttl, identity, set, next_ticket, place,
    ahead_ms, mine or holder_of(key)}
end
call('HSET', key, 'owner', owner, 'h:' .. value, decimal(now + ttl))
-- include served
-- include longest

-- The owner's token is that of its first hold; the counter goes on nevertheless, so that the
-- token of a hold that only looks nested, beside a leftover, is larger than every earlier one.
local token, first = draw_token(), 0
if token > 0 then
  first = tonumber(call('HGET', key, 'fence') or '') or 0
  if first % 1 ~= 0 or first < 0 or first >= limit then
    first = 0
  end
  if first == 0 then
    call('HSET', key, 'fence', decimal(token))
  end
end
return {1, token, id, max_ttl, identity, set, first}
