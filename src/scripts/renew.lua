-- Compare-and-renew (A7) for every kind and for several names: renews all or nothing, never
-- creates, never shortens.
-- KEYS locks  ARGV[1] value  ARGV[2] ttl in ms  -> 1 renewed, 0 gone or another's
local call = redis.call
local value, ttl = ARGV[1], tonumber(ARGV[2])
-- include clock

-- The end of our hold by its own record, and a way to write a later one.
local function find(key)
  local type = call('TYPE', key).ok
  if type == 'string' then
    return call('GET', key) == value and now + call('PTTL', key), function() end
  elseif type == 'zset' then
    return call('ZSCORE', key, value), function(ends)
      call('ZADD', key, 'XX', ends, value)
    end
  elseif type ~= 'hash' then
    return nil
  end
  local ends = call('HGET', key, 'h:' .. value)
  if ends then
    return ends, function(later) call('HSET', key, 'h:' .. value, later) end
  end
  local slot = string.match(value, '^[^ ]*#(%d+)')
  local content = slot and call('HGET', key, 's:' .. slot)
  local until_ms, holder = string.match(content or '', '^(%d+):(.*)$')
  if holder ~= value then
    return nil
  end
  return until_ms, function(later)
    call('HSET', key, 's:' .. slot, later .. ':' .. value)
  end
end

local later = {}
for i = 1, #KEYS do
  local ends, write = find(KEYS[i])
  if not ends or tonumber(ends) <= now then
    return 0
  end
  later[i] = tonumber(ends) < now + ttl and write
end
for i = 1, #KEYS do
  -- Always, and first: a node without memory refuses ZADD and HSET, even where they only replace
  -- a number, unless the script has written something already.
  call('PEXPIRE', KEYS[i], math.max(call('PTTL', KEYS[i]), ttl))
  if later[i] then
    later[i](string.format('%.0f', now + ttl))
  end
end
return 1
