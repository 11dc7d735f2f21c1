/* SPDX-License-Identifier: BSD-2-Clause */
/* The run as one picture: faults per node and worker, holders per name, what went wrong. */
#ifndef REDLOCK_CHAOS_TIMELINE_H
#define REDLOCK_CHAOS_TIMELINE_H

#include "checker.h"

/* Of a sorted history. False when the file cannot be written. */
bool timeline_write(const char *path, const struct history *h, const struct verdict *v,
                    const char *title);

#endif
