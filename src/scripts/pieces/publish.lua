-- publish() sends a waiter the text; how many clients listen here. In a cluster PUBLISH goes to every
-- server: there the channel has the tag of the key, and the message stays in its shard.
local function publish(key, waiter, text)
  local tag = string.match(key, '^redlock%.{%l+}') or ''
  local channel = tag .. 'redlock.wake:' .. string.sub(waiter, 2, 17)
  local receivers = redis.pcall(tag ~= '' and 'SPUBLISH' or 'PUBLISH', channel, text)
  if tag ~= '' and type(receivers) == 'table' then
    receivers = redis.pcall('PUBLISH', channel, text) -- before Redis 7.0
  end
  return receivers
end
