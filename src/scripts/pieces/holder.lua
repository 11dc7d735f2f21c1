-- holder_of() is the value of a holder of a key, cut, since another program's key may have megabytes;
-- '' if there is none. Of several it is the one that holds for longest.
local function holder_of(key)
  local value = redis.pcall('GETRANGE', key, '0', '160')
  if not value.err then
    return value
  end
  local kind = call('TYPE', key).ok
  if kind == 'zset' then
    return string.sub(call('ZREVRANGE', key, '0', '0')[1] or '', 1, 161)
  elseif kind ~= 'hash' or call('HLEN', key) >= 2048 then
    return ''
  end
  local fields, latest = call('HGETALL', key), 0
  value = ''
  for i = 1, #fields, 2 do
    local ends, holder = string.match(fields[i + 1], '^(%d+):?(.*)$')
    if string.sub(fields[i], 1, 2) == 'h:' then
      holder = string.sub(fields[i], 3)
    elseif string.sub(fields[i], 1, 2) ~= 's:' then
      ends = nil
    end
    if ends and tonumber(ends) > latest then
      value, latest = string.sub(holder, 1, 161), tonumber(ends)
    end
  end
  return value
end
