-- broken_key() is there for a while after a holder of this fingerprint was evicted (break.lua),
-- in the slot of the lock's key.
local function broken_key(key, fingerprint)
  return (string.match(key, '^redlock%.{%l+}') or '') .. 'redlock.broken:' .. fingerprint
end
