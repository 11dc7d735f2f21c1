/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading the fields of a step, and comparing what it expects with what came. */
#ifndef REDLOCK_CASES_EXPECT_H
#define REDLOCK_CASES_EXPECT_H

#include "world.h"

#include <jansson.h>

/* The field, or `otherwise` where it is absent; exits if it is of another type. */
const char *field_text(const json_t *step, const char *field, const char *otherwise);
int64_t field_int(const json_t *step, const char *field, int64_t otherwise);
bool field_flag(const json_t *step, const char *field, bool otherwise);

/* The texts of a list, up to `max`; they belong to the step. Returns how many. */
size_t field_texts(const json_t *step, const char *field, const char **out, size_t max);

/* expect, says, never_says, votes and label_in_the_way of the step; false with a reason. */
bool expect_outcome(struct world *w, const json_t *step, const struct outcome *out);

/* The same without noting a reason: for steps that look again. */
bool outcome_matches(const json_t *step, const struct outcome *out);

/* The fields of a query; `info` is what came. */
bool info_matches(const json_t *step, const redlock_info *info);

#endif
