-- The key lives as long as its longest hold.
if call('PTTL', KEYS[1]) < ttl then
  call('PEXPIRE', KEYS[1], ttl)
end
