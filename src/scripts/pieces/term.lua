-- term_of() is what the server is in its cluster, " EPOCH@ID"; '' where the keys are of no vote of one
-- (docs/elected.md, E5).
local function term_of(key)
  if not string.find(key, '^redlock%.{') then
    return ''
  end
  return ' ' .. string.match(redis.call('CLUSTER', 'INFO'), 'cluster_my_epoch:(%d+)') .. '@' ..
    redis.call('CLUSTER', 'MYID')
end
