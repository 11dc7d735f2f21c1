# SPDX-License-Identifier: BSD-2-Clause
# The dead stay in the queue.
replace(queue [[call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)]] [[{}]])
replace(place [[call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', '0', '64')]] [[{}]])
