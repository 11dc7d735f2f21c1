-- Give back a hold of any kind, then wake the waiter that can be served.
-- KEYS    for each name: lock, queue, liveness
-- ARGV    1 value  2 our waiter, or ''
--         3 its ticket, to be put back in its place; 0 to leave the queue  4 life of a waiter in ms
-- -> 2 given back while others wait, 1 given back for every name, 0 not there or another's
local call = redis.call
local value, waiter, ticket = ARGV[1], ARGV[2], ARGV[3]
-- Of a semaphore: the one that is free now.
local slot = string.match(value, '#%d+$') or ''
-- include clock

-- After some holds have gone, the key lives as long as the longest that is left.
local function keep_until(key, last)
  if last <= now then
    call('DEL', key)
  elseif last < 4503599627370496 then
    call('PEXPIREAT', key, string.format('%.0f', last))
  end
end

local function give_back_field(key)
  local mine, last = 0, 0
  local fields = call('HGETALL', key)
  for i = 1, #fields, 2 do
    local name, content = fields[i], fields[i + 1]
    local ends, holder
    if string.sub(name, 1, 2) == 'h:' then
      ends, holder = tonumber(content), string.sub(name, 3)
    elseif string.sub(name, 1, 2) == 's:' then
      ends, holder = string.match(content, '^(%d+):(.*)$')
      ends = tonumber(ends)
    end
    if holder == value and ends and ends > now then
      mine = call('HDEL', key, name)
    elseif ends and ends <= now then
      call('HDEL', key, name)
    elseif ends then
      last = math.max(last, ends)
    end
  end
  if mine == 1 then
    keep_until(key, last)
  end
  return mine
end

local function give_back(key)
  local type = call('TYPE', key).ok
  if type == 'string' then
    return call('GET', key) == value and call('DEL', key) or 0
  elseif type == 'hash' then
    return give_back_field(key)
  elseif type == 'zset' then
    -- What has expired was not ours any more, whoever else keeps the key alive.
    call('ZREMRANGEBYSCORE', key, '-inf', now)
    if call('ZREM', key, value) == 0 then
      return 0
    end
    local last = call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
    if last then
      keep_until(key, tonumber(last))
    end
    return 1
  end
  return 0
end

-- include forget
-- include wake
local given, waiting = 0, false
for i = 1, #KEYS, 3 do
  local mine = give_back(KEYS[i])
  local left = 0
  if waiter ~= '' and ticket == '0' then
    left = call('ZREM', KEYS[i + 1], waiter)
    call('ZREM', KEYS[i + 2], waiter)
  elseif waiter ~= '' and mine == 1 then
    -- The place went with the grant; nobody else was served meanwhile.
    call('ZADD', KEYS[i + 1], 'NX', ticket, waiter)
    call('ZADD', KEYS[i + 2], string.format('%.0f', now + ARGV[4]), waiter)
    call('PEXPIRE', KEYS[i + 1], ARGV[4])
    call('PEXPIRE', KEYS[i + 2], ARGV[4])
  end
  given = given + mine
  waiting = not forget(KEYS[i], KEYS[i + 1], KEYS[i + 2]) or waiting
  if mine + left > 0 then
    wake(KEYS[i], KEYS[i + 1], KEYS[i + 2])
  end
end
if given * 3 < #KEYS then
  return 0
end
return waiting and 2 or 1
