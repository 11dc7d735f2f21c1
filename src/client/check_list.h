/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of an audit, with their texts. */
#ifndef RL_CLIENT_CHECK_LIST_H
#define RL_CLIENT_CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "drive/question.h"

struct rl_check_list {
    redlock_check *check;
    size_t count;
    size_t room;
    bool out_of_memory; /* one is missing */
};

/* Copies it, but for the name of the check, which is a constant. */
void rl_check_list_add(struct rl_check_list *list, const redlock_check *check);
/* They are the answer to a question, whose outcome this decides. */
void rl_check_list_answer(const struct rl_check_list *list, struct rl_question *q);
void rl_check_list_free(struct rl_check_list *list);

#endif
