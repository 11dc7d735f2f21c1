/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a server: its wall clock is the machine's plus the milliseconds in the first
 * eight bytes of the file that REDLOCK_TEST_CLOCK names. The test writes them at any time
 * (nodeclock.h). Other clocks stay what they are.
 */
#include "stepped_clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const volatile int64_t *offset_ms;

__attribute__((constructor)) static void find_offset(void)
{
    const char *path = getenv("REDLOCK_TEST_CLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory;
    if (fd < 0)
        return;
    memory = mmap(NULL, sizeof *offset_ms, PROT_READ, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED)
        offset_ms = memory;
    close(fd);
}

int64_t stepped_clock_offset_ms(void)
{
    return offset_ms ? *offset_ms : 0;
}
