-- Acquire a plain mutex with a fencing token.
-- KEYS[1] lock  KEYS[2] fence counter  KEYS[3] marker
-- ARGV[1] value  ARGV[2] ttl in ms  ARGV[3] life of an idle counter in ms
-- ARGV[4] 1 if a counter may begin only under the node's own marker (G2)
-- ARGV[5] incarnation of the node, "?" behind it or alone: not sure
-- -> token: granted, {0, remaining ms}: held
local call = redis.call
if not call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {0, call('PTTL', KEYS[1])}
end
local last, from = string.match(call('GET', KEYS[2]) or '', '^(%d+):(.*)$')
local token = (last or -1) + 1
local sure = ARGV[5]
if string.byte(sure, -1) == 63 then -- ?
  sure = string.sub(sure, 1, -2)
end
if from == sure and sure ~= '' then
  -- The counter in use. Nine times in ten only its last digit changes.
  if token % 10 ~= 0 then
    call('SETRANGE', KEYS[2], #last - 1, string.char(48 + token % 10))
    call('PEXPIRE', KEYS[2], ARGV[3])
    return token
  end
else
  -- A counter that expired, was lost, began in quarantine or came back with an old snapshot
  -- starts at the clock: later than all it ever gave.
  local time = call('TIME')
  token = math.max(token, time[1] * 1000000 + time[2])
  from = sure == '' and from or ARGV[5]
  -- Without its marker the node is in quarantine, whatever who asks believes (G2).
  if ARGV[4] == '1' and from == sure then
    local identity = (string.match(call('INFO', 'server'), 'run_id:(%x+)') or '') .. ':' ..
      (string.match(call('INFO', 'replication'), 'master_replid:(%x+)') or '')
    if call('HMGET', KEYS[3], 'id')[1] ~= identity then
      from = sure .. '?'
    end
  end
end
call('SET', KEYS[2], string.format('%.0f:%s', token, from), 'PX', ARGV[3])
return token
