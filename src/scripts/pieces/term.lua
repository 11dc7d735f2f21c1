-- term_of() is what the server is in its cluster, " EPOCH@ID"; '' where the keys are of no vote of one
-- (docs/elected.md, E5).
local function term_of(key)
  if not string.find(key, '^redlock%.{') then
    return ''
  end
  -- As in the witness, its place is found without a pattern.
  local info = redis.call('CLUSTER', 'INFO')
  local _, at = string.find(info, 'my_epoch:', 1, true)
  return ' ' .. string.match(info, '^%d+', at + 1) .. '@' .. redis.call('CLUSTER', 'MYID')
end
