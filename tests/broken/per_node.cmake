# SPDX-License-Identifier: BSD-2-Clause
# Every node admits k holders, whoever they are, instead of one to each of k slots.
replace(take "'^s:(%d+)$'" "'^s:(.+)$'")
replace(take "taken = at[want] or tonumber(want) > tonumber(group)" "local count = 0
  for _ in pairs(at) do
    count = count + 1
  end
  taken = count >= tonumber(group)")
replace(take "for i = 1, tonumber(group) - 1 do" "for i = 1, 0 do")
replace(take "'s:' .. want, expiry" "'s:' .. value, expiry")
