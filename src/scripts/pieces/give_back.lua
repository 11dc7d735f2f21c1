-- give_back() deletes the hold that has the value, of any kind. Needs: now; value.

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
    -- An expired slot is not ours any more, even if other holders keep the key alive.
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
