-- Acquire a plain mutex with a fencing token.
-- KEYS[1] lock  KEYS[2] fence counter
-- KEYS[3] marker, if a counter may begin only under the node's own (G2)
-- ARGV[1] value  ARGV[2] ttl in ms  ARGV[3] incarnation of the node, '' if unknown
-- ARGV[4] "?" if the node may not vote yet, or that is not known
-- -> token: granted, {0, remaining ms, holder}: held
local call = redis.call
if not call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  -- include holder
  return {0, call('PTTL', KEYS[1]), holder_of(KEYS[1])}
end
local fence, sure, doubt, marker = KEYS[2], ARGV[3], ARGV[4] or '', KEYS[3]
-- include counter
