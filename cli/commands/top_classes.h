/* SPDX-License-Identifier: BSD-2-Clause */
/* `redlock top --by class`: what a replica of redlockd has counted of each class of locks. */
#ifndef CLI_TOP_CLASSES_H
#define CLI_TOP_CLASSES_H

#include "service/ask.h"
#include "settings/settings.h"
#include "ui/screen.h"

struct top_classes {
    struct service service;
    struct service_answer answer; /* owned; to the last question */
};

/* After settings_complete(). Returns 0 or an exit status, after saying why. */
int top_classes_open(struct top_classes *c, const struct settings *settings);
void top_classes_close(struct top_classes *c);

/* Asks anew; ends early when `cancel_fd` is readable. OK, or an enum redlock_error. */
int top_classes_take(struct top_classes *c, int cancel_fd);

void top_classes_draw(struct screen *screen, const struct top_classes *c);
void top_classes_json(const struct top_classes *c);

#endif
