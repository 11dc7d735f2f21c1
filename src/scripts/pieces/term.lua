-- epoch_of() is the config epoch of a master. CLUSTER INFO walks the 16384 slots for it; a line about a
-- replica has it as well, as the epoch of the master that the replica is of, which is this server: the same
-- number, from the same place. (From Redis 7.0 on; older ones have there what the replica has last sent.)
local function epoch_of(id)
  local knows, may = pcall(redis.acl_check_cmd, 'CLUSTER', 'REPLICAS', id)
  if knows and may then
    local line = redis.pcall('CLUSTER', 'REPLICAS', id)[1] or ''
    local master, epoch = string.match(line, '^%x+ %S+ %S+ (%x+) %d+ %d+ (%d+) ')
    if master == id then
      return epoch
    end
  end
  -- It has no replica, or is one. As in the attestation, its place is found without a pattern.
  local info = redis.call('CLUSTER', 'INFO')
  local _, at = string.find(info, 'my_epoch:', 1, true)
  return string.match(info, '^%d+', at + 1)
end

-- term_of() is what the server is in its cluster, " EPOCH@ID"; '' where the keys are of no vote of one
-- (docs/elected.md, E5).
local function term_of(key)
  if not string.find(key, '^redlock%.{') then
    return ''
  end
  local id = redis.call('CLUSTER', 'MYID')
  return ' ' .. epoch_of(id) .. '@' .. id
end
