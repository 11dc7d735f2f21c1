# SPDX-License-Identifier: BSD-2-Clause
# Repair puts back what an operator has broken.
replace(request [[if life == 'repair' and call]] [[if false and call]])
