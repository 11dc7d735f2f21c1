/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a lock needs fencing, and how it works. Two holders write to one register (storage.c):
 *
 *     A  acquires the lock, looks at the clock: still its own. Then it is stopped, as by a
 *        long garbage collection, a page fault or a suspended machine.
 *     B  waits, gets the lock when A's has expired, and writes.
 *     A  wakes up in the middle of what it was about to do, and writes too.
 *
 *     redlock dev -c 3 -- ./fencing
 *
 * No lock service can prevent the last step. But A's token is smaller than B's, and the
 * storage refuses it. Status 0 only if A learnt that the lock was lost, A's late write was
 * refused, and B's was accepted.
 */
#include <inttypes.h>
#include <redlock.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_NAME "example:fencing"
#define TTL_MS 1000
#define WAIT_MS 20000
#define STORAGE_PROGRAM "example_storage"

/* "what: the error and its explanation" on stderr. */
static void complain(const char *what, int error)
{
    fprintf(stderr, "%s: %s: %s\n", what, redlock_strerror(error), redlock_detail());
}

static char storage_path[512]; /* the program beside this one */
static char register_path[512];

__attribute__((format(printf, 2, 3))) static void narrate(const char *holder,
                                                          const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    printf("%s  ", holder);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout); /* before other processes print */
}

/* Sends a write to the storage. Its exit status: 0 written, 1 refused; -1: it could
 * not be asked. */
static int store(const char *holder, int64_t token, const char *text)
{
    char token_text[24];
    int status = -1;
    pid_t pid;

    snprintf(token_text, sizeof token_text, "%" PRId64, token);
    printf("%s  writes; the storage says ", holder);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        execl(storage_path, STORAGE_PROGRAM, register_path, "write", token_text, text,
              (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* Everything up to the lock, the same for both. Ends the process if that fails. */
static redlock_lock *acquire(const char *holder, redlock **client)
{
    redlock_options options = REDLOCK_OPTIONS(.flags = REDLOCK_THREAD);
    redlock_request request =
        REDLOCK_REQUEST(.flags = REDLOCK_FENCED | REDLOCK_RENEW, .wait_ms = WAIT_MS);
    redlock_lock *lock;
    int error = redlock_open(&options, client);

    if (error == REDLOCK_OK)
        error = redlock_acquire(*client, LOCK_NAME, TTL_MS, &request, &lock);
    if (error != REDLOCK_OK) {
        complain("acquire", error);
        exit(1);
    }
    narrate(holder, "holds the lock; its token is %" PRId64, redlock_fence(lock));
    return lock;
}

static int holder_a(void)
{
    redlock *client;
    redlock_lock *lock = acquire("A", &client);
    bool ok = store("A", redlock_fence(lock), "A, in time") == 0;
    bool knows;
    bool refused;

    narrate("A", "has %lld ms left, so it may write once more ...",
            (long long)redlock_remaining_ms(lock));
    raise(SIGSTOP); /* between looking and acting: the worst moment there is */

    knows = redlock_state(lock) == REDLOCK_STATE_LOST;
    narrate("A", "wakes up; the library says the lock is %s", knows ? "lost" : "still held");
    narrate("A", "does not care and goes on where it was");
    refused = store("A", redlock_fence(lock), "A, too late") == 1;

    redlock_lock_free(lock);
    redlock_close(client);
    return ok && knows && refused ? 0 : 1;
}

static int holder_b(void)
{
    redlock *client;
    redlock_lock *lock = acquire("B", &client);
    bool ok = store("B", redlock_fence(lock), "B") == 0;

    redlock_release(lock);
    redlock_lock_free(lock);
    redlock_close(client);
    return ok ? 0 : 1;
}

/* Each holder is a process of its own and opens its own client. */
static pid_t start(int (*holder)(void))
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        exit(holder());
    if (pid < 0)
        perror("fork");
    return pid;
}

static bool succeeded(pid_t pid)
{
    int status;

    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int tell_the_story(void)
{
    int status;
    pid_t a = start(holder_a);
    pid_t b;
    bool a_ok;
    bool b_ok;

    if (a < 0 || waitpid(a, &status, WUNTRACED) != a || !WIFSTOPPED(status))
        return 1;
    narrate(" ", "(A is stopped; B requests the lock and waits until A's has expired)");
    b = start(holder_b);
    b_ok = b > 0 && succeeded(b);
    narrate(" ", "(A is continued)");
    kill(a, SIGCONT);
    a_ok = succeeded(a);
    if (a_ok && b_ok)
        narrate(" ", "The late write was refused: the register is B's.");
    else
        narrate(" ", "This did not go as it should.");
    return a_ok && b_ok ? 0 : 1;
}

int main(void)
{
    char directory[] = "/tmp/redlock-fencing-XXXXXX";
    ssize_t size = readlink("/proc/self/exe", storage_path, sizeof storage_path - 64);
    int status;

    if (size < 0 || !mkdtemp(directory)) {
        perror("fencing");
        return 1;
    }
    storage_path[size] = '\0';
    strcpy(strrchr(storage_path, '/') + 1, STORAGE_PROGRAM);
    snprintf(register_path, sizeof register_path, "%s/register", directory);
    status = tell_the_story();
    unlink(register_path);
    rmdir(directory);
    return status;
}
