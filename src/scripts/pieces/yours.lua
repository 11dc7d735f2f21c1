-- yours() is the value of a hold that another request made with our tag; nil: there is none, or our
-- value has no tag. A tag is granted once, also where many may hold. The values of all attempts of one
-- request begin alike, for eight digits behind the tag. Needs: now; life; value.
local function yours(key, type)
  local tag = string.sub(value, 1, 23)
  if life == 'repair' or not string.find(tag, '^[%w_-]+:$') or #tag < 23 then
    return nil
  end
  local function is_anothers(text)
    return string.sub(text, 1, 23) == tag and string.sub(text, 24, 31) ~= string.sub(value, 24, 31)
  end
  if type == 'zset' then
    for _, text in ipairs(call('ZRANGEBYSCORE', key, '(' .. now, '+inf')) do
      if is_anothers(text) then
        return text
      end
    end
  end
  local fields = type == 'hash' and call('HGETALL', key) or {}
  for i = 1, #fields, 2 do
    local ends, text = fields[i + 1], string.sub(fields[i], 3)
    if string.sub(fields[i], 1, 2) == 's:' then
      ends, text = string.match(ends, '^(%d+):(.*)$')
    end
    if text and is_anothers(text) and (tonumber(ends) or 0) > now then
      return text
    end
  end
end
