/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of an audit, kept until they can be told without the mutex. */
#ifndef RL_CLIENT_CHECK_LIST_H
#define RL_CLIENT_CHECK_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "redlock.h"

struct rl_check_list {
    struct rl_kept_check *check;
    size_t count;
    size_t room;
    bool out_of_memory; /* one is missing */
};

/* Copies it, but for the name of the check and of the quorum, which outlive the list. */
void rl_check_list_add(struct rl_check_list *list, const redlock_check *check);
void rl_check_list_tell(const struct rl_check_list *list, redlock_check_fn *each, void *data);
void rl_check_list_free(struct rl_check_list *list);

#endif
