-- Behind request. One token, larger than every earlier one of each name; 0 if none is wanted.
-- A counter that expired, was lost, began in quarantine or came back with an old snapshot starts
-- at the clock. How it is stored: counter.lua.
local function draw_token()
  local token, sure, tags, old = 0, string.match(ARGV[8], '^[^?]*'), {}, {}
  -- Of an elected vote the marker names the term as well, and the counter its epoch.
  local epoch = string.match(id, '^ (%d+)@', 82) or ''
  local is_admitted = string.sub(id, 1, 81) == string.sub(identity, 1, 81)
    and epoch == string.sub(sure, 17)
  if ARGV[6] == '0' then
    return token
  end
  for i = 2, #KEYS, 4 do
    local counter = call('HGETALL', KEYS[i])
    local from, last = counter[1], tonumber(counter[2] or '') or -1
    if last % 1 ~= 0 or last + 1 >= limit then
      last = -1
    end
    local known = from == sure and sure ~= '' and last > 1e12
    token = math.max(token, last + 1, known and 0 or now_us)
    tags[i], old[i] = (known or sure == '') and from or ARGV[8], from
    -- Without its marker the node is in quarantine, whatever the client believes (G2).
    if ARGV[7] == '1' and not is_admitted and not known and tags[i] == sure then
      tags[i] = sure .. '?'
    end
  end
  for i = 2, #KEYS, 4 do
    if old[i] and old[i] ~= tags[i] then
      call('DEL', KEYS[i])
    end
    call('HSET', KEYS[i], tags[i], decimal(token))
    call('PEXPIRE', KEYS[i], ARGV[6])
  end
  return token
end
