/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notes every call of a program that was built with -finstrument-functions: preloaded into it,
 * in place of the hooks of libc, which do nothing. The file WALK_FILE is mapped, so that
 * another program starts and ends the recording by a byte, and reads the calls when it likes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLS_MAX (1u << 20)

/* As walk.py reads it. */
struct recording {
    uint64_t is_on;
    uint64_t count;
    uint64_t base; /* of the program */
    uint64_t entered[CALLS_MAX];
};

static struct recording *recording;
static pthread_t first_thread; /* the only one that is recorded */

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

__attribute__((constructor)) static void open_recording(void)
{
    const char *path = getenv("WALK_FILE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    void *mapped;

    if (fd < 0)
        return;
    first_thread = pthread_self();
    if (ftruncate(fd, sizeof *recording) == 0) {
        mapped = mmap(NULL, sizeof *recording, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (mapped != MAP_FAILED)
            recording = mapped;
    }
    close(fd);
}

void __cyg_profile_func_enter(void *function, void *caller)
{
    Dl_info info;

    (void)caller;
    if (!recording || !recording->is_on || recording->count == CALLS_MAX ||
        !pthread_equal(pthread_self(), first_thread))
        return;
    if (recording->base == 0 && dladdr(function, &info) != 0)
        recording->base = (uint64_t)(uintptr_t)info.dli_fbase;
    recording->entered[recording->count++] = (uint64_t)(uintptr_t)function;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}
