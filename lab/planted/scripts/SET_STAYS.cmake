# SPDX-License-Identifier: BSD-2-Clause
# Taking the admission of a node back deletes its marker, and its set with it.
replace(expel [[redis.call('HDEL', KEYS[1], 'id')]] [[redis.call('DEL', KEYS[1])]])
