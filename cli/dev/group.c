/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/group.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "system/timer.h"
#include "ui/exit.h"

#define ID_BYTES (DEV_ID_LENGTH / 2)
#define READY_LIMIT_MS 25000
#define FAILOVER_LIMIT_MS 20000 /* less than the process that requests it waits */
#define TRY_LIMIT_MS 6000       /* a replica of a cluster gives up after five seconds */

/* Members that have to find each other take seconds. These know each other beforehand. */
static int make_ids(struct dev_quorum *q)
{
    for (int i = 0; i < q->count; i++) {
        unsigned char bytes[ID_BYTES];
        if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
            return errno;
        for (int k = 0; k < ID_BYTES; k++)
            snprintf(q->server[i].id + 2 * k, 3, "%02x", bytes[k]);
    }
    return 0;
}

int dev_group_configure(struct dev_quorum *q, char *problem)
{
    int error = make_ids(q);
    if (error == 0)
        error = q->group->configure(q);
    if (error == 0)
        return 0;
    snprintf(problem, DEV_PROBLEM_MAX, "cannot write the configuration of the servers: %s",
             strerror(error));
    return EXIT_CONFIG;
}

int dev_group_await(struct dev_quorum *q, char *problem)
{
    int64_t limit_ns = timer_now_ns() + READY_LIMIT_MS * RL_NS_PER_MS;
    int ready = 0;
    for (;;) {
        while (ready < q->count && q->group->is_ready(q, &q->server[ready]))
            ready++;
        if (ready == q->count)
            return 0;
        if (timer_now_ns() > limit_ns)
            break;
        dev_quorum_wait(q, DEV_LOOK_AGAIN_MS);
        if (q->stop_signal)
            return EXIT_SIGNAL + q->stop_signal;
    }
    snprintf(problem, DEV_PROBLEM_MAX, "%s %s has not found the others of its group after %d s",
             dev_server_kind(&q->server[ready]), q->server[ready].name, READY_LIMIT_MS / 1000);
    return EXIT_UNAVAILABLE;
}

static bool has_replica(const struct dev_quorum *q, const struct dev_view *view, int master)
{
    for (int i = 0; i < q->group->servers; i++) {
        if (i != master && view->master_of[i] == master && dev_group_can_answer(&q->server[i]))
            return true;
    }
    return false;
}

/*
 * Right after another failover this is refused: that is not finished, or the replicas of the
 * new master are not known yet. So it is requested again.
 */
int dev_group_failover(struct dev_quorum *q, int *master, char *problem)
{
    const int old = *master;
    int64_t limit_ns = timer_now_ns() + FAILOVER_LIMIT_MS * RL_NS_PER_MS, begun_ns = 0;
    char words[DEV_PROBLEM_MAX / 2] = "";
    struct dev_view view;
    q->group->look(q, &view);
    if (!has_replica(q, &view, old)) {
        snprintf(problem, DEV_PROBLEM_MAX, "node %s has no replica that is up",
                 q->server[old].name);
        return EXIT_UNAVAILABLE;
    }
    while (strcmp(view.role[old], "replica") != 0 && timer_now_ns() < limit_ns) {
        bool again = begun_ns == 0 || (q->group->has_bus &&
                                       timer_now_ns() - begun_ns > TRY_LIMIT_MS * RL_NS_PER_MS);
        if (again && q->group->depose(q, &view, old, words))
            begun_ns = timer_now_ns();
        dev_quorum_wait(q, DEV_LOOK_AGAIN_MS);
        q->group->look(q, &view);
    }
    if (strcmp(view.role[old], "replica") == 0) {
        *master = view.master_of[old];
        return 0;
    }
    if (begun_ns == 0)
        snprintf(problem, DEV_PROBLEM_MAX, "%s refuse: %s", q->group->electorate, words);
    else
        snprintf(problem, DEV_PROBLEM_MAX, "no majority of %s names another master after %d s",
                 q->group->electorate, FAILOVER_LIMIT_MS / 1000);
    return EXIT_UNAVAILABLE;
}

bool dev_group_can_answer(const struct dev_server *s)
{
    return dev_server_is_up(s) && !s->hung;
}

void dev_group_url(const struct dev_quorum *q, const char *scheme, int first, const char *tail,
                   char out[DEV_NODES_MAX])
{
    size_t used = 0;
    for (int i = first; i < q->count; i++)
        used += (size_t)snprintf(out + used, DEV_NODES_MAX - used, "%s%s127.0.0.1:%d",
                                 used == 0 ? scheme : "", used == 0 ? "://" : "+",
                                 q->server[i].port.number);
    snprintf(out + used, DEV_NODES_MAX - used, "%s", tail);
}
