/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stamp FILE TIME_MS obey|stubborn: three processes that write down every five milliseconds
 * that they are still alive, in nanoseconds of CLOCK_BOOTTIME: the command itself, a child in
 * its process group, and one that has left group and session and whose parent is gone. The
 * command writes down the signals it gets, too, and with `obey` ends with the first.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 5000000

static volatile sig_atomic_t got;

static void on_signal(int signal)
{
    got = signal;
}

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void note(int fd, const char *process, const char *what)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s %s %lld\n", process, what, now_ns());
    if (write(fd, line, (size_t)length) != length)
        _exit(1);
}

/* The daemon first leaves by the book: a session of its own, and its parent ends. */
static const char *become(void)
{
    if (fork() == 0)
        return "group";
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        return "daemon";
    }
    return "command";
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct timespec tick = {.tv_nsec = TICK_NS};
    if (argc != 4)
        return 64;
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    long long end_ns = now_ns() + atoll(argv[2]) * 1000000;
    int obeys = strcmp(argv[3], "obey") == 0;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    const char *process = become();
    while (now_ns() < end_ns) {
        note(fd, process, "alive");
        if (got && strcmp(process, "command") == 0) {
            note(fd, process, got == SIGTERM ? "TERM" : "USR1");
            if (obeys)
                return 0;
        }
        got = 0;
        nanosleep(&tick, NULL);
    }
    return 3;
}
