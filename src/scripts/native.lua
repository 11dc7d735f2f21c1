-- Which native commands does this server have, and may this user run? What is not allowed is not
-- run: the server would note the refusal in its ACL log. acl_check_cmd: Redis 7.0, before any of
-- these commands.
-- KEYS[1] a key that never exists  -> 1 DELIFEQ + 2 DELEX + 4 SET IFEQ
local function try(...)
  local known, allowed = pcall(redis.acl_check_cmd, ...)
  if known and allowed then
    return redis.pcall(...)
  end
end
local found = 0
if try('DELIFEQ', KEYS[1], 'x') == 0 then
  found = found + 1
end
if try('DELEX', KEYS[1], 'IFEQ', 'x') == 0 then
  found = found + 2
end
if try('SET', KEYS[1], 'x', 'IFEQ', 'x', 'PX', '1') == false then
  found = found + 4
end
return found
