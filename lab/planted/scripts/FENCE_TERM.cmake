# SPDX-License-Identifier: BSD-2-Clause
# A counter belongs to an incarnation whatever its term: one that wins back goes on counting.
replace(counter [[local token = 0
if sure]] [[local token = 0
sure = string.sub(sure, 1, 16)
if sure]])
replace(counter [[.. epoch ~= sure then]] [[~= sure then]])
replace(counters [[string.match(ARGV[8], '^[^?]*'), {}, {}]]
    [[string.sub(string.match(ARGV[8], '^[^?]*'), 1, 16), {}, {}]])
replace(counters [[and epoch == string.sub(sure, 17)]] [[]])
replace(counters [[and from or ARGV[8], from]]
    [[and from or sure .. string.match(ARGV[8], '%??$'), from]])
