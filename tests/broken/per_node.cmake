# SPDX-License-Identifier: BSD-2-Clause
# Every node admits k holders, whoever they are, instead of one to each of k slots.
replace(take_slots "'^s:(%d+)$'" "'^s:(.+)$'")
replace(take_slots "taken = at[want] or tonumber(want) > tonumber(slots)" "local count = 0
  for _ in pairs(at) do
    count = count + 1
  end
  taken = count >= tonumber(slots)")
replace(take_slots "for i = 1, tonumber(slots) - 1 do" "for i = 1, 0 do")
replace(take_slots "'s:' .. want, decimal(now + ttl)" "'s:' .. value, decimal(now + ttl)")
