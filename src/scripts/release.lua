-- Compare-and-delete (A6): the key goes only while it still carries our value.
-- KEYS[1] lock  ARGV[1] value  -> 1 deleted, 0 gone or another's
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
