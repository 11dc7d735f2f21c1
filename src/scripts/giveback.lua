-- Give back a hold of any kind, then wake the waiter that can be served.
-- KEYS    for each name: lock, queue, liveness
-- ARGV    1 value  2 our waiter, or ''
--         3 its ticket, to be put back in its place; 0 to leave the queue  4 life of a waiter in ms
-- -> 2 given back while others wait, 1 given back for every name, 0 not there or another's
local call = redis.call
local value, waiter, ticket = ARGV[1], ARGV[2], ARGV[3]
-- Of a semaphore: the one that is free now.
local slot = string.match(value, '^[^ ]*(#%d+)') or ''
-- include clock

-- include give_back
-- include forget
-- include publish
-- include wake
local given, waiting = 0, false
for i = 1, #KEYS, 3 do
  local mine = give_back(KEYS[i])
  local left = 0
  if waiter ~= '' and ticket == '0' then
    left = call('ZREM', KEYS[i + 1], waiter)
    call('ZREM', KEYS[i + 2], waiter)
  elseif waiter ~= '' and mine == 1 then
    -- The place went with the grant; no other waiter was served meanwhile.
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
