# SPDX-License-Identifier: BSD-2-Clause
# Readers do not care for a writer that waits.
replace(take "here = here or string.sub(other, 1, 1) == 'w'" "here = false")
