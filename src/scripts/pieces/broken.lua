-- broken_key() is there for a while after a holder of this mark was evicted (break.lua), in the slot of
-- the lock's key.
local function broken_key(key, mark)
  return (string.match(key, '^redlock%.{%l+}') or '') .. 'redlock.broken:' .. mark
end
