-- The node's clock in milliseconds; it stands still while a script runs.
local time = call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
