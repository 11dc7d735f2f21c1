/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors that are not ours alone: what fork() and failures do to them. */
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

CASE(a_failed_open_closes_nothing, "A failed open does not close descriptor 0 of the program.")
{
    const char *urls[] = {"redis://127.0.0.1:6379", "rdis://typo"};
    redlock_options o = REDLOCK_OPTIONS(.nodes = urls, .node_count = 2);
    redlock *r;
    CHECK(fcntl(0, F_GETFD) >= 0);
    CHECK_ERR(REDLOCK_INVAL, redlock_open(&o, &r));
    CHECK(fcntl(0, F_GETFD) >= 0);
}

static int64_t cpu_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / RL_NS_PER_MS;
}

CASE_ON(a_copy_in_a_child_is_no_busy_loop,
        "A lost connection that a child still has open does not wake the loop.",
        .flags = REDLOCK_THREAD)
{
    pid_t child = fork();
    int64_t before_ms;
    CHECK(child >= 0);
    if (child == 0) {
        for (;;)
            pause();
    }
    server_kill(&c->node[0]);
    before_ms = cpu_ms();
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    CHECK_BETWEEN(0, 400, cpu_ms() - before_ms);
    CHECK_INT(0, kill(child, SIGKILL));
    CHECK_INT(child, waitpid(child, NULL, 0));
    CHECK_OK(client_try(r, "x", 5000));
}

CASE_ON(a_child_that_closes_leaves_the_parent_alone,
        "A forked child that closes the client leaves the parent's connections working.",
        .flags = REDLOCK_THREAD)
{
    redlock_lock *lock = client_lock(r, "x", 5000);
    pid_t child = fork();
    int status;
    CHECK(child >= 0);
    if (child == 0) {
        redlock_lock_free(lock);
        client_close(r);
        _exit(0);
    }
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK_INT(0, status);
    CHECK_OK(redlock_extend(lock, 5000));
}
