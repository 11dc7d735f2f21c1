-- What is there, for a client that only looks: changes nothing.
-- KEYS[1] lock  KEYS[2] fence counter  KEYS[3] queue  KEYS[4] liveness
-- -> {type, remaining ms, fence, waiters, waiters listed, owner or number of slots, holders,
--     then up to sixteen times: holder, ms it has left, its fingerprint; and for each of
--     the waiters listed, up to sixteen from the head on: its name, ms since it was queued}
--    The type of a hash has the name of the field behind it that is no hold and no token.
local call = redis.call
local key = KEYS[1]
-- include clock
-- include fingerprint
local type = call('TYPE', key).ok
local group, holders = '', {}
if type == 'string' then
  -- A key of another program may hold megabytes.
  holders[1] = {call('GETRANGE', key, 0, 1023), now + call('PTTL', key)}
elseif type == 'zset' then
  local members = call('ZRANGEBYSCORE', key, '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1024)
  for i = 1, #members, 2 do
    holders[#holders + 1] = {members[i], tonumber(members[i + 1])}
  end
elseif type == 'hash' then
  local fields = call('HLEN', key) < 2048 and call('HGETALL', key) or {}
  for i = 1, #fields, 2 do
    local name, content = fields[i], fields[i + 1]
    if string.sub(name, 1, 2) == 'h:' then
      holders[#holders + 1] = {string.sub(name, 3), tonumber(content)}
    elseif string.sub(name, 1, 2) == 's:' then
      local ends, holder = string.match(content, '^(%d+):(.*)$')
      holders[#holders + 1] = {holder or '', tonumber(ends)}
    elseif name ~= 'fence' then
      type, group = 'hash:' .. string.sub(name, 1, 32), content
    end
  end
end
if #holders == 0 and type ~= 'none' and type ~= 'zset' then
  -- Not ours, but in the way.
  type, group = string.match(type, '^[^:]+'), ''
  holders[1] = {'(' .. type .. ')', now + call('PTTL', key)}
end
local live = {}
for i = 1, #holders do
  local ends = holders[i][2] or 0
  if ends > now or ends == now - 1 then
    live[#live + 1] = holders[i]
  end
end
table.sort(live, function(a, b) return a[1] < b[1] end)
local fence = tonumber(call('HGETALL', KEYS[2])[2] or '') or 0
if fence % 1 ~= 0 or fence < 0 or fence >= 4503599627370496 then
  fence = 0 -- no counter goes on from that (acquire.lua)
end
local queue, waiters = {}, 0
local queued = call('ZRANGE', KEYS[3], 0, 63, 'WITHSCORES')
for i = 1, #queued, 2 do
  if #queue < 32 and tonumber(call('ZSCORE', KEYS[4], queued[i]) or '0') > now then
    queue[#queue + 1] = string.sub(queued[i], 1, 161)
    -- A ticket is the clock in microseconds, or one more than the last.
    local since = math.floor(tonumber(queued[i + 1]) / 1000)
    queue[#queue + 1] = since > 0 and math.max(now - since, 0) or -1
  end
end
if #queue > 0 then
  -- The largest ticket is kept there too; it is no time in milliseconds.
  waiters = call('ZCOUNT', KEYS[4], '(' .. now, now + 86400000)
end
local reply = {type, call('PTTL', key), fence, waiters, #queue / 2, group, #live}
for i = 1, math.min(#live, 16) do
  reply[#reply + 1] = string.sub(live[i][1], 1, 161)
  reply[#reply + 1] = math.min(live[i][2] - now, 4503599627370496)
  reply[#reply + 1] = fingerprint_of(live[i][1])
end
for i = 1, #queue do
  reply[#reply + 1] = queue[i]
end
return reply
