-- Acquire a slot of a semaphore: the key is a hash with a field for the number of slots and one for
-- each slot that is held, its end and the value.
-- ARGV  9 number of slots  10 slot
-- include term
-- include broken
-- include request
-- include queue
if life ~= 'repair' and waiter ~= '' then
  queue_up(KEYS[3], KEYS[4])
end

local key, slots, want = KEYS[1], ARGV[9], ARGV[10]
local type = call('TYPE', key).ok
-- include yours
local mine = yours(key, type)
local taken, left, free = type ~= 'none', -2, {}
if not mine and type == 'hash' and call('HGET', key, 'slots') == slots then
  local at, soonest = {}, nil
  local fields = call('HGETALL', key)
  for i = 1, #fields, 2 do
    local slot = string.match(fields[i], '^s:(%d+)$')
    local ends = slot and tonumber(string.match(fields[i + 1], '^%d+'))
    if ends and ends > now then
      at[slot] = true
      soonest = math.min(soonest or ends, ends)
    end
  end
  taken = at[want] or tonumber(want) > tonumber(slots)
  if taken then
    for i = 1, tonumber(slots) - 1 do
      local slot = decimal((want - 1 + i) % slots + 1)
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
if taken or blocked then
  -- include holder
  return {0, left, id, max_ttl, identity, set, next_ticket, place, ahead_ms,
    mine or holder_of(key), unpack(free)}
end
-- Beside slots others are served: the place in the queue stays until the client leaves.
call('HSET', key, 'slots', slots, 's:' .. want, decimal(now + ttl) .. ':' .. value)
-- include longest
return {1, 0, id, max_ttl, identity, set, 0}
