-- wake() notifies the head of a queue that the lock may be free for it, and all readers that are
-- first. Needs: now; waiter, which a rollback leaves where it is; slot, '#' and the number of a
-- semaphore's slot that is free now, or ''; publish().

-- Could this waiter be served now? A reader beside readers, any waiter by a free slot.
local function is_free_for(head, key)
  local type = call('TYPE', key).ok
  if type == 'zset' then
    return string.sub(head, 1, 1) == 'r'
  elseif type == 'hash' then
    local slots = call('HGET', key, 'slots')
    return slots and call('HLEN', key) - 1 < tonumber(slots)
  end
  return type == 'none'
end

local function wake(key, queue, alive)
  for at = 0, 15 do
    local head = call('ZRANGE', queue, at, at)[1]
    -- No waiter behind the one that stays can be served before it.
    if not head or head == waiter then
      return
    end
    local ends = call('ZSCORE', alive, head)
    if ends and tonumber(ends) > now then
      if not is_free_for(head, key) then
        return
      end
      -- Without its label, so that the slot is where the client looks for it.
      publish(key, head, string.match(head, '^[^ ]+') .. slot)
      if string.sub(head, 1, 1) ~= 'r' then
        return
      end
    end
  end
end
