/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shortest whole program: take a lock, work, give it back.
 *
 *     redlock dev -c 3 -- ./blocking
 *
 * The nodes are those of the environment and the configuration file, as for the command.
 *
 * This file is also compiled as C++, to show that the header allows it.
 */
#include <redlock.h>
#include <stdio.h>
#include <time.h>

#define TTL_MS 10000
#define WAIT_MS 5000

/* "what: the error and its explanation" on stderr. */
static void complain(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", what, redlock_strerror(error), redlock_detail());
}

/* What every node replied: the answer to "why did that fail?" */
static void print_report(const redlock_report *report)
{
    if (report == NULL) {
        return; /* nothing was sent */
    }
    fprintf(stderr, "%u of these %u nodes are needed:\n", (unsigned)report->quorum,
            (unsigned)report->node_count);
    for (uint32_t i = 0; i < report->node_count; i++) {
        const redlock_node_report *node = &report->node[i];
        fprintf(stderr, "  %-24s %s  %s\n", node->address, redlock_vote_text(node->vote),
                node->text);
    }
}

static void work(void)
{
    struct timespec tenth_of_a_second = {0, 100000000};
    nanosleep(&tenth_of_a_second, NULL);
}

static int run(redlock *client)
{
    int error;

    /* Every field that is not set stays zero, which means its default. */
    redlock_request request = REDLOCK_REQUEST();
    redlock_lock *lock = NULL;
    request.wait_ms = WAIT_MS;

    error = redlock_acquire(client, "example:blocking", TTL_MS, &request, &lock);
    if (error != REDLOCK_OK) {
        complain("acquire", error);
        print_report(redlock_failure_report());
        return 1;
    }
    printf("holding %s for %lld ms more; nodes beyond the majority so far: %d\n",
           redlock_name(lock), (long long)redlock_remaining_ms(lock), redlock_margin(lock));

    work();

    /* Before something that cannot be undone, look whether there is still time for it. The
     * answer comes from the local clock and costs no round trip. */
    if (redlock_remaining_ms(lock) == 0) {
        fprintf(stderr, "the work took too long: the lock is gone\n");
    }

    error = redlock_release(lock);
    if (error == REDLOCK_OK) {
        printf("released\n");
    } else {
        complain("release", error);
    }
    redlock_lock_free(lock);
    return error == REDLOCK_OK ? 0 : 1;
}

int main(void)
{
    redlock *client = NULL;
    int error = redlock_open(NULL, &client);
    int status;

    if (error != REDLOCK_OK) {
        complain("open", error);
        return 1;
    }
    status = run(client);
    redlock_close(client);
    return status;
}
