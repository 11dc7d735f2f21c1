# SPDX-License-Identifier: BSD-2-Clause
# The holds of an owner are counted, not named; they are renewed and aligned all the same.
include("${CMAKE_CURRENT_LIST_DIR}/../../tests/broken/counter.cmake")
replace(renew [[local ends = call('HGET', key, 'h:' .. value)]]
    [[if call('HEXISTS', key, 'count') == 1 then
    return now + call('PTTL', key), function() end
  end
  local ends = call('HGET', key, 'h:' .. value)]])
replace(align [[if not hashes[i] or call('HEXISTS', KEYS[i], 'h:' .. ARGV[1]) == 0 then]]
    [[if not hashes[i] then]])
