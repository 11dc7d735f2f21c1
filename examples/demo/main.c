/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * redlock-demo: why a lock, in fifteen seconds.
 *
 * Eight processes add to a number in a file, each by reading, thinking and writing. First under
 * a lock that five servers agree on, one of which is killed on the way and started again; then
 * without it. The verdict is what the file says in the end. Runs inside `redlock dev`.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "counter.h"
#include "fleet.h"
#include "view.h"
#include "worker.h"

#define TICK_MS 60                   /* between two pictures */
#define HALF_LIMIT_MS 90000          /* a half of the demo that takes longer has failed */
#define VICTIM 3                     /* the server that is killed */
#define KILL_AT (UPDATES * 3 / 10)   /* additions made when it is killed */
#define START_AT (UPDATES * 13 / 20) /* and when it is started again */

enum exit_status { EXIT_USAGE = 64, EXIT_INTERRUPTED = 128 };

/* Life of the victim. Each step is a command that runs beside the workers. */
enum victim_state { VICTIM_ALIVE, VICTIM_KILLING, VICTIM_DEAD, VICTIM_STARTING, VICTIM_BACK };

struct demo {
    struct fleet fleet;
    struct view view;
    struct board *board;
    char directory[4096];
    char counter_path[4200];
    sigset_t signals;      /* taken synchronously, by sigtimedwait() */
    sigset_t old_signals;  /* what workers get back */
    pid_t worker[WORKERS]; /* 0: ended */
    unsigned alive;
    enum victim_state victim;
    pid_t victim_command; /* 0: none is running */
    bool failed;
    int interrupted; /* the signal; 0: none */
};

static void fail(struct demo *demo, const char *what)
{
    if (!demo->failed)
        view_event(&demo->view, "failed: %s", what);
    demo->failed = true;
}

/* ---- workers ---- */

static int start_workers(struct demo *demo, bool locked)
{
    struct job job = {
        .counter_path = demo->counter_path, .board = demo->board, .locked = locked};
    pid_t parent = getpid();
    fflush(stdout);
    for (unsigned i = 0; i < WORKERS; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return -1;
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            sigprocmask(SIG_SETMASK, &demo->old_signals, NULL);
            _exit(getppid() == parent ? worker_main(&job, i) : EXIT_FAILURE);
        }
        demo->worker[i] = pid;
        demo->alive++;
    }
    return 0;
}

static void stop_workers(struct demo *demo)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        if (demo->worker[i] > 0) {
            kill(demo->worker[i], SIGKILL);
            waitpid(demo->worker[i], NULL, 0);
            demo->worker[i] = 0;
        }
    }
    demo->alive = 0;
}

static void worker_ended(struct demo *demo, unsigned number, int status)
{
    const struct board_worker *worker = &demo->board->worker[number];
    demo->worker[number] = 0;
    demo->alive--;
    if (atomic_load(&worker->state) == WORKER_FAILED)
        view_event(&demo->view, "worker %u: %s", number + 1, worker->why);
    if (status != 0)
        fail(demo, "a worker did not finish");
}

/* ---- the victim ---- */

static void victim_command(struct demo *demo, const char *verb, enum victim_state next)
{
    demo->victim_command = fleet_command(&demo->fleet, verb, VICTIM);
    if (demo->victim_command < 0) {
        demo->victim_command = 0;
        fail(demo, "the redlock command could not be run");
    }
    demo->victim = next;
}

static void victim_command_ended(struct demo *demo, int status)
{
    demo->victim_command = 0;
    if (status != 0) {
        fail(demo, demo->victim == VICTIM_KILLING ? "redlock dev kill" : "redlock dev start");
        return;
    }
    if (demo->victim == VICTIM_KILLING) {
        demo->victim = VICTIM_DEAD;
        view_event(&demo->view, "server %d killed: the other %zu still make a majority", VICTIM,
                   demo->fleet.count - 1);
    } else {
        view_event(&demo->view, "server %d started again, empty", VICTIM);
    }
}

/* A restarted node may have forgotten a lock that is held: it comes back, its vote does not. */
static void tell_quarantine(struct demo *demo)
{
    int64_t left_ms = demo->fleet.quarantine_ms[VICTIM - 1];
    if (!demo->fleet.quarantined[VICTIM - 1])
        view_event(&demo->view, "server %d votes again", VICTIM);
    else
        view_event(&demo->view, "server %d may have forgotten locks: in quarantine for %lld s",
                   VICTIM, (long long)(left_ms > 0 ? (left_ms + 999) / 1000 : 0));
}

/* The next step, when it is time for it; the workers know nothing of this. */
static void advance_victim(struct demo *demo)
{
    unsigned done = board_done(demo->board);
    if (demo->victim_command != 0 || demo->failed)
        return;
    if (demo->victim == VICTIM_ALIVE && done >= KILL_AT) {
        victim_command(demo, "kill", VICTIM_KILLING);
    } else if (demo->victim == VICTIM_DEAD && done >= START_AT) {
        victim_command(demo, "start", VICTIM_STARTING);
    } else if (demo->victim == VICTIM_STARTING && demo->fleet.up[VICTIM - 1]) {
        demo->victim = VICTIM_BACK;
        tell_quarantine(demo);
    }
}

/* ---- the loop ---- */

static void reap(struct demo *demo)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == demo->victim_command)
            victim_command_ended(demo, status);
        for (unsigned i = 0; i < WORKERS; i++)
            if (pid == demo->worker[i])
                worker_ended(demo, i, status);
    }
}

static void suspend(struct demo *demo)
{
    view_rest(&demo->view, demo->board, &demo->fleet);
    raise(SIGSTOP);
}

/* Waits for a signal or the next picture. */
static void wait_tick(struct demo *demo)
{
    struct timespec tick = {.tv_nsec = TICK_MS * 1000000};
    int signal_number = sigtimedwait(&demo->signals, NULL, &tick);
    if (signal_number == SIGWINCH)
        screen_resize(&demo->view.screen);
    else if (signal_number == SIGTSTP)
        suspend(demo);
    else if (signal_number > 0 && signal_number != SIGCHLD)
        demo->interrupted = signal_number;
}

static bool half_is_over(const struct demo *demo, bool locked)
{
    if (demo->failed || demo->interrupted)
        return true;
    return demo->alive == 0 && (!locked || demo->victim == VICTIM_BACK);
}

static void run_half(struct demo *demo, bool locked, struct outcome *outcome)
{
    memset(demo->board, 0, sizeof *demo->board);
    view_half(&demo->view, locked);
    int64_t limit_ns = view_now_ns() + HALF_LIMIT_MS * 1000000LL;
    if (counter_write(demo->counter_path, 0) != 0 || start_workers(demo, locked) != 0)
        fail(demo, strerror(errno));
    /* After the forks, so that no worker inherits a client with a thread. */
    if (locked && fleet_watch(&demo->fleet) != 0)
        fail(demo, "the servers cannot be watched");
    while (!half_is_over(demo, locked)) {
        wait_tick(demo);
        reap(demo);
        fleet_look(&demo->fleet);
        if (locked)
            advance_victim(demo);
        if (view_now_ns() > limit_ns)
            fail(demo, "it takes too long");
        view_draw(&demo->view, demo->board, &demo->fleet);
    }
    stop_workers(demo);
    fleet_unwatch(&demo->fleet);

    memset(outcome, 0, sizeof *outcome);
    if (counter_read(demo->counter_path, &outcome->counted) != 0)
        fail(demo, "the counter cannot be read");
    outcome->most_inside = atomic_load(&demo->board->most_inside);
    for (unsigned i = 0; i < WORKERS; i++) {
        unsigned done = atomic_load(&demo->board->worker[i].done);
        outcome->expected += done;
        outcome->finished += done == UPDATES_EACH;
    }
}

/* ---- beginning and end ---- */

static int prepare(struct demo *demo, bool plain)
{
    const char *base = getenv("TMPDIR");
    demo->board = mmap(NULL, sizeof *demo->board, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(demo->directory, sizeof demo->directory, "%s/redlock-demo-XXXXXX",
             base && *base ? base : "/tmp");
    if (demo->board == MAP_FAILED || !mkdtemp(demo->directory)) {
        fprintf(stderr, "redlock-demo: %s: %s\n", demo->directory, strerror(errno));
        return -1;
    }
    snprintf(demo->counter_path, sizeof demo->counter_path, "%s/counter", demo->directory);

    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGWINCH, SIGTSTP};
    sigemptyset(&demo->signals);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(&demo->signals, taken[i]);
    sigprocmask(SIG_BLOCK, &demo->signals, &demo->old_signals);
    view_open(&demo->view, plain);
    return 0;
}

static void clean_up(struct demo *demo)
{
    unlink(demo->counter_path);
    rmdir(demo->directory);
    munmap(demo->board, sizeof *demo->board);
}

/* Zero only if every worker made all its additions under the lock and the file has them all. */
static int judge(const struct demo *demo, const struct outcome *with,
                 const struct outcome *without)
{
    unsigned lost = without->expected - without->counted;
    view_verdict(&demo->view, with, demo->failed ? NULL : without);
    if (with->expected != with->counted) {
        puts("\n Not exact: the lock failed.");
        return EXIT_FAILURE;
    }
    if (demo->failed || with->finished != WORKERS) {
        puts("\n Not finished: what is there is exact, but not everything was done.");
        return EXIT_FAILURE;
    }
    printf("\n Exact: with the lock none of %u additions was lost, though a server died.\n"
           " Without it the same workers lost %u of %u.\n",
           with->expected, lost, without->expected);
    return EXIT_SUCCESS;
}

static int run(struct demo *demo)
{
    struct outcome with;
    struct outcome without = {0};
    run_half(demo, true, &with);
    if (!demo->failed && !demo->interrupted)
        run_half(demo, false, &without);
    view_end(&demo->view, demo->board, &demo->fleet);
    if (demo->interrupted) {
        puts("\n Interrupted.");
        return EXIT_INTERRUPTED + demo->interrupted;
    }
    return judge(demo, &with, &without);
}

static const char usage[] =
    "Usage: redlock dev -c 5 -- redlock-demo [--plain]\n"
    "Eight processes add to a number in a file, first under one lock while a server dies and\n"
    "comes back (without a vote: it may have forgotten locks), then without the lock. Status "
    "0\n"
    "only if the locked count is exact.\n"
    "\n"
    "  --plain   print lines, even on a terminal\n"
    "  --help    print this\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"plain", no_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {0}};
    static struct demo demo;
    bool plain = false;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        if (option != 'p')
            return EXIT_USAGE;
        plain = true;
    }
    if (optind < argc || fleet_find(&demo.fleet) != 0)
        return EXIT_USAGE;
    int status = EXIT_FAILURE;
    if (prepare(&demo, plain) == 0) {
        status = run(&demo);
        clean_up(&demo);
    }
    fleet_unwatch(&demo.fleet);
    return status;
}
