-- Evict the holder that has the mark and no other, then wake the waiter that can be served. Of a
-- re-entrant lock all holds of the owner go.
-- KEYS[1] lock  KEYS[2] queue  KEYS[3] liveness  ARGV[1] mark
-- -> {1, ms that it had left, its value, cut}, {0, remaining ms of what is there, ''}
local call = redis.call
local key, waiter = KEYS[1], ''
-- include clock
-- include mark

-- The value of the holder, and how long it had left; nil: no holder has the mark.
local function find()
  local type = call('TYPE', key).ok
  if type == 'string' then
    -- Another program's key may have megabytes.
    local value = call('GETRANGE', key, 0, 1023)
    return mark_of(value) == ARGV[1] and value, call('PTTL', key)
  end
  local holds = type == 'zset' and call('ZRANGE', key, 0, -1, 'WITHSCORES') or
    type == 'hash' and call('HGETALL', key) or {}
  for i = 1, #holds, 2 do
    local value, ends, left = holds[i], holds[i + 1], nil
    if type == 'hash' and string.sub(value, 1, 2) == 'h:' then
      value, left = string.sub(value, 3), call('PTTL', key)
    elseif type == 'hash' then
      ends, value = string.match(ends, '^(%d+):(.*)$')
    end
    ends = tonumber(ends or '') or 0
    if ends > now and mark_of(value) == ARGV[1] then
      return value, left or ends - now
    end
  end
end

local value, left = find()
if not value then
  return {0, call('PTTL', key), ''}
end
local slot = string.match(value, '^[^ ]*(#%d+)') or ''
-- include give_back
-- include forget
-- include wake
local type = call('TYPE', key).ok
if type == 'string' or type == 'hash' and call('HEXISTS', key, 'h:' .. value) == 1 then
  call('DEL', key)
else
  give_back(key)
end
forget(key, KEYS[2], KEYS[3])
wake(key, KEYS[2], KEYS[3])
return {1, left, string.sub(value, 1, 161)}
