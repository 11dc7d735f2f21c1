-- Ends the script with the next token of one name. Needs: fence, the key of its counter; sure, the
-- incarnation of the node, '' if unknown; doubt, "?" if the node may not vote yet or that is not
-- known, else ''; marker, its key if a counter may begin only under the node's own (G2), or nil.
--
-- A counter is a hash of one field, named after the incarnation that began it, "?" behind it if
-- in doubt. So one command counts, and shows whether there was anything to count on: without it
-- the number is small, and counters begin at the clock, in microseconds.
-- A number that is not whole, or whose next is not below 2^52, was planted or damaged: as if it
-- were not there (docs/guards.md, "Fencing").
local token = 0
if sure ~= '' then
  token = tonumber(redis.pcall('HINCRBY', fence, sure, '1')) or 0
  if token > 1e12 and token < 4503599627370496 then
    -- To put its expiry off every time would cost a fifth of all this. If it expires in the midst
    -- of use, the clock that it begins from anew has gone a day further than when this was last
    -- done, and the counter fifteen microseconds. (Numbers as text: Lua would print them.)
    if token % 16 == 0 then
      call('PEXPIRE', fence, '86400000')
    end
    return token
  end
end
-- A counter that expired, was lost, began in quarantine or came back with an old snapshot
-- starts at the clock: later than all it ever gave.
local fields, time, tag = call('HGETALL', fence), call('TIME'), nil
token = time[1] * 1000000 + time[2]
for i = 1, #fields, 2 do
  local next = (tonumber(fields[i + 1]) or 0) + 1
  tag = fields[i]
  if next % 1 == 0 and next < 4503599627370496 then
    token = math.max(token, next)
  end
end
if sure ~= '' or not tag then
  tag = sure .. doubt
end
-- Without its marker the node is in quarantine, whatever the client believes (G2). If it is not
-- even the node that the client takes it for, no client that knows it trusts this counter.
if marker and tag == sure then
  local id = call('HMGET', marker, 'id')[1] or ''
  local epoch = string.match(id, '^ (%d+)@', 82) or '' -- of an elected vote
  if string.sub(id, 1, 8) .. string.sub(id, 42, 49) .. epoch ~= sure then
    tag = sure .. '?'
  end
end
if fields[1] ~= tag or #fields > 2 then
  call('DEL', fence)
end
call('HSET', fence, tag, string.format('%.0f', token))
call('PEXPIRE', fence, '86400000')
return token
