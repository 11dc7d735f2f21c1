-- A place in the queue of a plain mutex, and the lock itself for the head of the queue.
-- KEYS[1] lock  KEYS[2] queue  KEYS[3] liveness  KEYS[4] fence counter, if a token is wanted
-- ARGV[1] value  ARGV[2] ttl in ms  ARGV[3] waiter  ARGV[4] ticket, 0 for none yet
-- ARGV[5] life of a waiter in ms  ARGV[6], ARGV[7] with KEYS[4]: ARGV[3], ARGV[4] of acquire.lua
-- -> token, or 1 without one: granted
--    {0, remaining ms, next ticket or 0, place in the queue, ms that the waiter ahead may live,
--        holder}
local call = redis.call
local queue, alive, waiter, ticket, life = KEYS[2], KEYS[3], ARGV[3], ARGV[4], ARGV[5]
local queued = ticket ~= '0'

local function grant()
  if not call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) and
    redis.pcall('GET', KEYS[1]) ~= ARGV[1] then -- nor is it the same attempt again
    return false
  end
  -- The place goes with the grant: while the lock is ours no other waiter is served here, and a
  -- rollback puts us back.
  if queued then
    call('ZREM', queue, waiter)
    call('ZREM', alive, waiter)
  end
  return true
end

-- Most requests come from the head of the queue and find the lock free, or enter the queue.
-- (Numbers as text: Lua would have to convert them.)
local is_first = call('ZRANGE', queue, '0', '0')[1] == (queued and waiter or nil)
if not (is_first and grant()) then
  -- include place
  if is_first or rank > 0 or not grant() then
    -- include holder
    return {0, call('PTTL', KEYS[1]), next_ticket, rank + 1, ahead_ms, holder_of(KEYS[1])}
  end
end
if not KEYS[4] then
  return 1
end
local fence, sure, doubt, marker = KEYS[4], ARGV[6], ARGV[7] or '', nil
-- include counter
