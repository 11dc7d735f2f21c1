-- SPDX-License-Identifier: BSD-2-Clause
-- Fencing for data in Redis or Valkey: one command, if no later holder has come. In place of
-- GET orders:total and SET orders:total 7, reads that the holder will decide by as well as writes:
--
--     EVAL script 2 {orders}:fence {orders}:total TOKEN GET {orders}:total
--     EVAL script 2 {orders}:fence {orders}:total TOKEN SET {orders}:total 7
--
-- KEYS[1] keeps the largest token, and the other KEYS are those of the command: in a cluster all need the
-- same hash tag. ARGV[1] is the token (REDLOCK_FENCE, lock.fence, "fence"), the rest the command. An earlier holder
-- gets the error STALE. A script of your own begins with the nine lines below.
--
-- Never let KEYS[1] expire or be evicted (maxmemory-policy noeviction). A failover or a restart that forgets
-- the last writes forgets tokens with them: the data is as old as its fence then, and holders
-- that were refused before are believed until a later one comes.
--
-- Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above all
-- tokens before: nothing is to be done. If these clocks were set back, every holder is refused: when
-- none is at work, DEL {orders}:fence.
local token = ARGV[1]:match('^%d+$') and tonumber(ARGV[1])
if not token or token >= 2 ^ 53 then
    return redis.error_reply('ERR not a fencing token')
end
local largest = tonumber(redis.call('GET', KEYS[1]) or 0)
if token < largest then
    return redis.error_reply('STALE a later holder has come')
end
redis.call('SET', KEYS[1], ARGV[1])
return redis.call(unpack(ARGV, 2))
