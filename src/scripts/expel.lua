-- Take the marker of this incarnation away: its clock was set (G6).
-- KEYS[1] marker  ARGV[1] identity  -> 1 taken away, 0 it was not there
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
