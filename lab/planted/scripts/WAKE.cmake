# SPDX-License-Identifier: BSD-2-Clause
# A release wakes no waiter.
replace(publish [['SPUBLISH' or 'PUBLISH']] [['SPUBLISH' or 'EXISTS']])
