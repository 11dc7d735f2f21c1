-- A ticket behind those of all waiters of this name, present and past.
-- KEYS  for each name: lock, liveness, which keeps the largest ticket under 't'
-- -> {ticket, remaining ms of the lock}
local call = redis.call
local time = call('TIME')
local ticket, left = time[1] * 1000000 + time[2], -2
for i = 1, #KEYS, 2 do
  local next = tonumber(call('ZSCORE', KEYS[i + 1], 't') or 0) + 1
  -- What is not below 2^52 was planted or damaged: no clock has come so far.
  if next < 4503599627370496 then
    ticket = math.max(ticket, next)
  end
  left = math.max(left, call('PTTL', KEYS[i]))
end
return {ticket, left}
