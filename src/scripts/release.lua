-- Compare-and-delete (A6): the key goes only while it still carries our value. Who is first in
-- the queue is told; of readers, all that are first. Where nobody listens, it may be dead: then
-- the next one is told as well.
-- KEYS[1] lock  KEYS[2] queue  KEYS[3] liveness
-- ARGV[1] value, '' to tell only  ARGV[2] 1 if others waited
-- -> 2 deleted while others wait, 1 deleted, 0 gone or another's
local call = redis.call
if ARGV[1] == '' then
  if call('EXISTS', KEYS[1]) == 1 then
    return 0
  end
elseif redis.pcall('GET', KEYS[1]) ~= ARGV[1] then
  return 0
else
  call('DEL', KEYS[1])
end
if call('EXISTS', KEYS[2]) == 0 then
  if ARGV[2] == '1' then
    call('DEL', KEYS[3])
  end
  return 1
end
local heads = call('ZRANGE', KEYS[2], 0, 15)
for i = 1, #heads do
  -- Who may not publish leaves it to the waiter's timer.
  local heard = redis.pcall('PUBLISH', 'redlock.wake:' .. string.sub(heads[i], 2, 17), heads[i])
  if heard ~= 0 and string.sub(heads[i], 1, 1) ~= 'r' then
    break
  end
end
return 2
