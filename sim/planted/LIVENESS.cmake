# SPDX-License-Identifier: BSD-2-Clause
# The dead stay in the queue.
replace(take [[call('ZRANGEBYSCORE', alive, '-inf', now, 'LIMIT', 0, 64)]] [[{}]])
