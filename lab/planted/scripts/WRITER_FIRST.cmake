# SPDX-License-Identifier: BSD-2-Clause
# Readers do not care for a writer that waits.
replace(take_shared [[writers = writers or string.sub(other, 1, 1) ~= 'r']] [[writers = false]])
