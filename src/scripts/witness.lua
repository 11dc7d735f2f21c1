-- Who the node is, and whom its marker names, in one step (G2). It goes behind acquires, on their
-- connection: what it says is true of the memory that they were granted by.
-- KEYS[1] marker
-- -> {marker id, marker max_ttl, identity}
local marker = redis.call('HMGET', KEYS[1], 'id', 'max_ttl')
return {marker[1] or '', tonumber(marker[2] or '0'),
  (string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or '') .. ':' ..
  (string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)') or '')}
