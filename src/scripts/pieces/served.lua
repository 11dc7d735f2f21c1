-- Behind a grant that excludes everyone else. It takes the place in the queue with it: while the
-- lock is ours no other waiter is served here, and a rollback puts us back.
if waiter ~= '' and ticket ~= '0' then
  for i = 4, #KEYS, 4 do
    call('ZREM', KEYS[i - 1], waiter)
    call('ZREM', KEYS[i], waiter)
  end
end
