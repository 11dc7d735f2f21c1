-- Since when is this server what it is, by its own clock (docs/elected.md, E7)? The first client that
-- meets it so notes the time, as field `stamp` of the marker; once that is old enough, the server is
-- admitted. A stamp that is lost is set again, later; one that a failover brings back names another
-- term or incarnation, and is replaced.
-- KEYS[1] marker  ARGV[1] what a marker has to name  ARGV[2] the guard time in ms
-- -> how much of that is left in ms; 0: it is admitted
local call, key, name = redis.call, KEYS[1], ARGV[1]
local marker, time = call('HMGET', key, 'id', 'stamp'), call('TIME')
if marker[1] == name then
  return 0
end
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local since, of = string.match(marker[2] or '', '^(%d+) (.*)$')
local age = of == name and now - since or -1
if age < 0 then
  call('HSET', key, 'stamp', string.format('%.0f', now) .. ' ' .. name)
  return tonumber(ARGV[2])
elseif age < tonumber(ARGV[2]) then
  return tonumber(ARGV[2]) - age
end
call('HSET', key, 'id', name)
call('HDEL', key, 'stamp')
return 0
