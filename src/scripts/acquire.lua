-- Acquire a plain mutex with a fencing token.
-- KEYS[1] lock  KEYS[2] fence counter
-- KEYS[3] marker, if a counter may begin only under the node's own (G2)
-- ARGV[1] value  ARGV[2] ttl in ms  ARGV[3] incarnation of the node, '' if unknown
-- ARGV[4] "?" if the node may not vote yet, or nobody knows
-- -> token: granted, {0, remaining ms}: held
--
-- A counter is a hash of one field, named after the incarnation that began it, "?" behind it if
-- in doubt. So one command counts, and says whether there was anything to count on: who counts
-- from nothing gets small numbers, and counters begin at the clock, in microseconds.
-- A number that is not whole, or whose next is not below 2^52, was planted or damaged: as if it
-- were not there (docs/design.md, "Fencing").
local call = redis.call
if not call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {0, call('PTTL', KEYS[1])}
end
local sure, token = ARGV[3], 0
if sure ~= '' then
  token = tonumber(redis.pcall('HINCRBY', KEYS[2], sure, '1')) or 0
  if token > 1e12 and token < 4503599627370496 then
    -- To put the end of its life off every time would cost a fifth of all this. If it ends in the
    -- midst of use, the clock that it begins from anew has gone a day further than when this was
    -- last done, and the counter fifteen microseconds. (Numbers as text: Lua would print them.)
    if token % 16 == 0 then
      call('PEXPIRE', KEYS[2], '86400000')
    end
    return token
  end
end
-- A counter that expired, was lost, began in quarantine or came back with an old snapshot
-- starts at the clock: later than all it ever gave.
local fields, time, tag = call('HGETALL', KEYS[2]), call('TIME'), nil
token = time[1] * 1000000 + time[2]
for i = 1, #fields, 2 do
  local next = (tonumber(fields[i + 1]) or 0) + 1
  tag = fields[i]
  if next % 1 == 0 and next < 4503599627370496 then
    token = math.max(token, next)
  end
end
if sure ~= '' or not tag then
  tag = sure .. (ARGV[4] or '')
end
-- Without its marker the node is in quarantine, whatever who asks believes (G2). If it is not
-- even the node that who asks takes it for, nobody who knows it trusts a counter of this name.
if KEYS[3] and tag == sure then
  local id = call('HMGET', KEYS[3], 'id')[1] or ''
  if string.sub(id, 1, 8) .. string.sub(id, 42, 49) ~= sure then
    tag = sure .. '?'
  end
end
if fields[1] ~= tag or #fields > 2 then
  call('DEL', KEYS[2])
end
call('HSET', KEYS[2], tag, string.format('%.0f', token))
call('PEXPIRE', KEYS[2], '86400000')
return token
