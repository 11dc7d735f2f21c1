-- forget() limits how long the largest ticket of a queue is remembered once no waiter is left: the
-- holder may have to give the lock back and take its place again. False: waiters are left.
local function forget(key, queue, alive)
  if call('EXISTS', queue) == 1 then
    return false
  elseif call('EXISTS', key) == 0 then
    call('DEL', alive)
  else
    call('PEXPIRE', alive, 500)
  end
  return true
end
