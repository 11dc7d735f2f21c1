-- A place to ask for: after everybody who waits here, and after everybody who ever did.
-- KEYS  for each name: lock, queue  -> {ticket, remaining ms of the lock}
local call = redis.call
local time = call('TIME')
local ticket, left = time[1] * 1000000 + time[2], -2
for i = 1, #KEYS, 2 do
  local last = call('ZREVRANGE', KEYS[i + 1], 0, 0, 'WITHSCORES')
  if last[2] and tonumber(last[2]) >= ticket then
    ticket = tonumber(last[2]) + 1
  end
  left = math.max(left, call('PTTL', KEYS[i]))
end
return {ticket, left}
