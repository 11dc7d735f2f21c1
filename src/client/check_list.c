/* SPDX-License-Identifier: BSD-2-Clause */
#include "client/check_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/detail.h"

#define FIRST_ROOM 32

static bool make_room(struct rl_check_list *list)
{
    size_t room = list->room ? 2 * list->room : FIRST_ROOM;
    redlock_check *more;

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
    redlock_check *kept;
    char *texts; /* one behind the other; the address is the first */

    if (!make_room(list) ||
        asprintf(&texts, "%s%c%s%c%s%c%s", check->address, '\0', check->text, '\0',
                 check->remedy, '\0', check->quorum) < 0) {
        list->out_of_memory = true;
        return;
    }
    kept = &list->check[list->count++];
    *kept = *check;
    kept->address = texts;
    kept->text = strchr(kept->address, '\0') + 1;
    kept->remedy = strchr(kept->text, '\0') + 1;
    kept->quorum = strchr(kept->remedy, '\0') + 1;
}

void rl_check_list_answer(const struct rl_check_list *list, struct rl_question *q)
{
    if (list->out_of_memory) {
        q->error = rl_detail(REDLOCK_NOMEM, "out of memory");
        return;
    }
    q->answer.checks = list->check;
    q->answer.check_count = list->count;
}

void rl_check_list_free(struct rl_check_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free((char *)list->check[i].address);
    free(list->check);
}
