-- The identity of the node, and the one that its marker names, in one step (G2). It goes behind
-- acquires, on their connection: both are true of the memory that granted them.
-- KEYS[1] marker
-- -> {marker id, marker max_ttl, identity, set of nodes}
local function field_of(section, name)
  local info = redis.call('INFO', section)
  -- Where it stands is found without a pattern, which would cost as much as the rest.
  local _, at = string.find(info, name, 1, true)
  return at and string.match(info, '^%x+', at + 1) or ''
end
-- include term
local marker = redis.call('HMGET', KEYS[1], 'id', 'max_ttl', 'set')
return {marker[1] or '', tonumber(marker[2] or '') or 0,
  field_of('server', 'run_id:') .. ':' .. field_of('replication', 'master_replid:') ..
    term_of(KEYS[1]), marker[3] or ''}
