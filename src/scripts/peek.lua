-- What is in the way of a client that was refused: changes nothing.
-- KEYS[1] lock  KEYS[2] queue  -> {remaining ms, holder, waiters}
local call = redis.call
-- include holder
return {call('PTTL', KEYS[1]), holder_of(KEYS[1]), call('ZCARD', KEYS[2])}
