# SPDX-License-Identifier: BSD-2-Clause
# A stamp is known by its incarnation alone: an old master that wins back brings it along.
replace(stamp [[local age = of == name and]]
    [[local age = string.sub(of or '', 1, 81) == string.sub(name, 1, 81) and]])
