-- KEYS  for each name: lock, fence counter, queue, liveness; then the marker
-- ARGV  1 value  2 ttl in ms  3 waiter, '' to ignore the queue  4 ticket, 0 for none yet
--       5 life of a waiter in ms, 'repair' for a hold that is proven already
--       6 life of an idle counter in ms, 0 for no token
--       7 1 for the identity of the node at this moment (G2)
--       8 incarnation of the node, "?" behind it or alone: in doubt
-- -> {1, token, marker id, marker max_ttl, identity, set, token of the owner's first hold or 0}
--    {0, remaining ms, marker id, marker max_ttl, identity, set, next ticket or 0, place in the
--        queue, ms that the waiter ahead may live, holder, up to four free slots}
--    {-2, max_ttl} the ttl is beyond what this node allows
local call = redis.call
local value, ttl, waiter, ticket, life = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
-- Counters and tickets are microseconds of a clock. What is not below 2^52 was planted or damaged.
local limit = 4503599627370496

local function decimal(number)
  return string.format('%.0f', number)
end

local id, max_ttl, identity, set = '', 0, '', ''
if ARGV[6] ~= '0' or ARGV[7] == '1' then
  local marker = call('HMGET', KEYS[#KEYS], 'id', 'max_ttl', 'set')
  id, max_ttl, set = marker[1] or '', tonumber(marker[2] or '') or 0, marker[3] or ''
  if max_ttl > 0 and ttl > max_ttl then
    return {-2, max_ttl}
  end
end
if ARGV[7] == '1' then
  identity = (string.match(call('INFO', 'server'), 'run_id:(%x+)') or '') .. ':' ..
    (string.match(call('INFO', 'replication'), 'master_replid:(%x+)') or '') ..
    term_of(KEYS[1])
end
local time = call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
-- What an operator has evicted is not put back by a renewal that had begun before (break.lua, A8).
if life == 'repair' and call('EXISTS', broken_key(KEYS[1], redis.sha1hex(value))) == 1 then
  return {0, -2, id, max_ttl, identity, set, 0, 0, 0, ''}
end
