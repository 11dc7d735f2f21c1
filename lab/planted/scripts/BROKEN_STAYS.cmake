# SPDX-License-Identifier: BSD-2-Clause
# Healing puts back what an operator has broken.
replace(request [[if life == 'heal' and call]] [[if false and call]])
