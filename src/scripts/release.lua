-- Compare-and-delete (A6): the key goes only while it still carries our value. The first waiter
-- in the queue is woken; of readers, all that are first. A waiter without a subscriber may be
-- dead: then the next one is woken as well.
-- KEYS[1] lock  KEYS[2] queue  KEYS[3] liveness
-- ARGV[1] value, '' to wake only  ARGV[2] 1 if others waited
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
-- Where others waited most likely they still do, and the queue is not looked at first.
local head = (ARGV[2] == '1' or call('EXISTS', KEYS[2]) == 1) and call('ZRANGE', KEYS[2], '0', '0')[1]
if not head then
  if ARGV[2] == '1' then
    call('DEL', KEYS[3])
  end
  return 1
end
-- include publish
local function wake(waiter)
  -- A user that may not publish leaves it to the waiter's timer.
  local receivers = publish(KEYS[1], waiter, string.match(waiter, '^[^ ]+'))
  return receivers ~= 0 and string.sub(waiter, 1, 1) ~= 'r'
end
if not wake(head) then
  local others = call('ZRANGE', KEYS[2], '1', '15')
  for i = 1, #others do
    if wake(others[i]) then break end
  end
end
return 2
