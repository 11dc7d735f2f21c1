-- fingerprint_of() is what a holder is found again by, without revealing its value.
local function fingerprint_of(value)
  return redis.sha1hex(string.sub(value, 1, 1024))
end
