/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/check_list.h"

#include <stdio.h>
#include <stdlib.h>

#define SENTENCE_MAX 512
#define FIRST_ROOM 32

struct rl_kept_check {
    const char *name;
    const char *quorum;
    int32_t verdict;
    char address[REDLOCK_ADDRESS_MAX];
    char text[SENTENCE_MAX];
    char remedy[SENTENCE_MAX];
};

static bool make_room(struct rl_check_list *list)
{
    size_t room = list->room ? 2 * list->room : FIRST_ROOM;
    struct rl_kept_check *more;

    if (list->count < list->room)
        return true;
    more = reallocarray(list->check, room, sizeof *more);
    if (!more)
        return false;
    list->check = more;
    list->room = room;
    return true;
}

void rl_check_list_add(struct rl_check_list *list, const redlock_check *check)
{
    struct rl_kept_check *kept;

    if (!make_room(list)) {
        list->out_of_memory = true;
        return;
    }
    kept = &list->check[list->count++];
    kept->name = check->name;
    kept->quorum = check->quorum;
    kept->verdict = check->verdict;
    snprintf(kept->address, sizeof kept->address, "%s", check->address);
    snprintf(kept->text, sizeof kept->text, "%s", check->text);
    snprintf(kept->remedy, sizeof kept->remedy, "%s", check->remedy);
}

void rl_check_list_tell(const struct rl_check_list *list, redlock_check_fn *each, void *data)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct rl_kept_check *kept = &list->check[i];

        each(
            &(redlock_check){
                .size = sizeof(redlock_check),
                .address = kept->address,
                .name = kept->name,
                .verdict = kept->verdict,
                .text = kept->text,
                .remedy = kept->remedy,
                .quorum = kept->quorum,
            },
            data);
    }
}

void rl_check_list_free(struct rl_check_list *list)
{
    free(list->check);
}
