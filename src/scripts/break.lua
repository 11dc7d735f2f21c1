-- Evict the holder that has the fingerprint and no other, or what has a tag, then wake the waiter
-- that can be served. By the fingerprint, all holds of the owner of a re-entrant lock go.
-- KEYS[1] lock  KEYS[2] queue  KEYS[3] liveness
-- ARGV[1] fingerprint
-- ARGV[2] for so many ms no renewal that is under way puts back what had it (A8)
-- ARGV[3] instead of the fingerprint: tag and colon, with which every value goes that begins so
-- -> {1, ms that it had left, its value, cut}: of several the longest; {0, remaining ms of what is there, ''}
local call = redis.call
local key, tag, waiter = KEYS[1], ARGV[3], ''
local value, slot = nil, ''
local fingerprints = {not tag and ARGV[1] or nil}
-- include clock
-- include fingerprint
-- include broken

local function is_wanted(text)
  if tag then
    return string.sub(text, 1, #tag) == tag
  end
  return fingerprint_of(text) == ARGV[1]
end

-- The value of a holder, and how long it had left; nil: none is wanted.
local function find()
  local type = call('TYPE', key).ok
  if type == 'string' then
    -- Another program's key may have megabytes.
    local text = call('GETRANGE', key, 0, 1023)
    return is_wanted(text) and text or nil, call('PTTL', key)
  end
  local holds = type == 'zset' and call('ZRANGE', key, 0, -1, 'WITHSCORES') or
    type == 'hash' and call('HGETALL', key) or {}
  for i = 1, #holds, 2 do
    local text, ends, left = holds[i], holds[i + 1], nil
    if type == 'hash' and string.sub(text, 1, 2) == 'h:' then
      text, left = string.sub(text, 3), call('PTTL', key)
    elseif type == 'hash' then
      -- Of the other fields only slots are holds: an owner is any text.
      ends, text = string.match(string.sub(text, 1, 2) == 's:' and ends or '', '^(%d+):(.*)$')
    end
    ends = tonumber(ends or '') or 0
    if ends > now and is_wanted(text) then
      return text, left or ends - now
    end
  end
end

-- include give_back
-- include forget
-- include publish
-- include wake
local function evict()
  local type = call('TYPE', key).ok
  if type == 'string' then
    return call('DEL', key)
  elseif not tag and type == 'hash' and call('HEXISTS', key, 'h:' .. value) == 1 then
    local fields = call('HGETALL', key)
    for i = 1, #fields, 2 do
      if string.sub(fields[i], 1, 2) == 'h:' then
        fingerprints[#fingerprints + 1] = fingerprint_of(string.sub(fields[i], 3))
      end
    end
    return call('DEL', key)
  end
  return give_back(key)
end

-- Several attempts may have left values of one tag; a second request finds more than these sixteen
-- (REDLOCK_RELEASED_MAX).
local evicted, longest = nil, 0
for _ = 1, 16 do
  local left
  value, left = find()
  if not value or evict() == 0 then break end
  slot = string.match(value, '^[^ ]*(#%d+)') or ''
  if not evicted or left > longest then
    evicted, longest = value, left
  end
  if not tag then break end
end
-- Where there was nothing, too. Without memory, or the right to write it, nothing is repaired either.
for i = 1, #fingerprints do
  redis.pcall('SET', broken_key(key, fingerprints[i]), '', 'PX', ARGV[2])
end
if not evicted then
  return {0, call('PTTL', key), ''}
end
forget(key, KEYS[2], KEYS[3])
wake(key, KEYS[2], KEYS[3])
return {1, longest, string.sub(evicted, 1, 161)}
