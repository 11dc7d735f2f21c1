/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_LOOKUP_H
#define CLI_LOOKUP_H

/* In a static program, names of hosts, users and groups are looked up by what the C library has
 * inside: files and DNS. /etc/nsswitch.conf of the machine may name modules, which are shared
 * libraries for the machine's own C library; a static program that loads one made for another
 * version can crash. Before the first thread. */
void lookup_without_modules(void);

#endif
