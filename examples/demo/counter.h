/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared counter: a number in a text file, read and written plainly. No file locking, no
 * append, no rename: exactly the kind of resource that needs a lock around it.
 */
#ifndef DEMO_COUNTER_H
#define DEMO_COUNTER_H

/* Each returns 0, or -1 with errno set. */
int counter_read(const char *path, unsigned *value);
int counter_write(const char *path, unsigned value);

#endif
