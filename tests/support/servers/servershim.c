/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a server: its wall clock is the machine's plus the milliseconds in the first
 * eight bytes of the file that REDLOCK_TEST_CLOCK names. The test writes them at any time
 * (nodeclock.h). Other clocks stay what they are.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_ms;

__attribute__((constructor)) static void find_offset(void)
{
    const char *path = getenv("REDLOCK_TEST_CLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *memory = mmap(NULL, sizeof *offset_ms, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        offset_ms = memory;
    close(fd);
}

/* Straight to the kernel: the vDSO is behind the function that is being replaced. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (syscall(SYS_clock_gettime, clock, out) != 0)
        return -1;
    if (offset_ms != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ms = *offset_ms;
        int64_t ns = out->tv_nsec + ms % 1000 * 1000000;
        out->tv_sec += ms / 1000 + (ns >= 1000000000) - (ns < 0);
        out->tv_nsec = (ns + 1000000000) % 1000000000;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    (void)zone;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    *out = (struct timeval){.tv_sec = t.tv_sec, .tv_usec = t.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    if (out != NULL)
        *out = t.tv_sec;
    return t.tv_sec;
}
