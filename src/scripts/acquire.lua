-- Acquire a plain mutex with a fencing token, or with the node's marker, in one step (G2).
-- KEYS[1] lock  KEYS[2] fence counter  KEYS[3] marker
-- ARGV[1] value  ARGV[2] ttl in ms  ARGV[3] life of an idle counter in ms, 0 for no token
-- ARGV[4] 1 to be told who the node is at this moment  ARGV[5] incarnation of the node, "?" behind it
-- or alone: not sure
-- -> {1, token, marker id, marker max_ttl, identity} granted,
--    {0, remaining ms, marker id, marker max_ttl, identity} held,
--    {-2, max_ttl} the ttl is beyond what this node allows
local marker = redis.call('HMGET', KEYS[3], 'id', 'max_ttl')
local id, max_ttl = marker[1] or '', tonumber(marker[2] or '0')
if max_ttl > 0 and tonumber(ARGV[2]) > max_ttl then
  return {-2, max_ttl}
end
local identity = ''
if ARGV[4] == '1' then
  identity = (string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '') .. ':' ..
    (string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or '')
end
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return {0, redis.call('PTTL', KEYS[1]), id, max_ttl, identity}
end
local token = 0
if ARGV[3] ~= '0' then
  local last, from = string.match(redis.call('GET', KEYS[2]) or '', '^(%d+):(.*)$')
  local sure = string.match(ARGV[5], '^[^?]*')
  token = (last or -1) + 1
  -- A counter that expired, was lost, began in quarantine or came back with an old snapshot
  -- starts at the clock: later than all it ever gave.
  if from ~= sure or sure == '' then
    local time = redis.call('TIME')
    token = math.max(token, time[1] * 1000000 + time[2])
    from = sure == '' and from or ARGV[5]
    -- Without its marker the node is in quarantine, whatever who asks believes (G2).
    if ARGV[4] == '1' and id ~= identity and from == sure then
      from = sure .. '?'
    end
  end
  redis.call('SET', KEYS[2], string.format('%.0f:%s', token, from), 'PX', ARGV[3])
end
return {1, token, id, max_ttl, identity}
