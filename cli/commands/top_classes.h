/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlock top --by class`: what a replica of redlockd has counted of each class of locks. */
#ifndef CLI_TOP_CLASSES_H
#define CLI_TOP_CLASSES_H

#include "report/look.h"
#include "ui/screen.h"

/* Zero: nothing was requested yet. */
struct top_classes {
    struct service_answer answer; /* owned; to the last question */
};
void top_classes_free(struct top_classes *c);

/* Queries the service anew; ends early when a signal has come. OK, or an enum redlock_error. */
int top_classes_take(struct top_classes *c, struct look *look);

void top_classes_draw(struct screen *screen, const struct top_classes *c);
void top_classes_json(const struct top_classes *c);

#endif
