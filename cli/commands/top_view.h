/* SPDX-License-Identifier: BSD-2-Clause */
/* What `redlock top` draws of one look at the nodes. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "commands/sample.h"
#include "ui/screen.h"

void top_view_draw(struct screen *screen, const struct sample *sample);

/* The same as JSON. */
void top_view_json(const struct sample *s);

/* A table whose rows are lines, each in the colour of its first cell. */
void top_view_table(struct screen *screen, struct table *table);

#endif
