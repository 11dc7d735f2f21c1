/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "drive/drive.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint32_t *marker;     /* in a page that is zero after fork; NULL: no such page */
static _Atomic uint32_t stamp_count; /* inherited by children, so their stamps are new */

static void set_up(void)
{
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page =
        mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED)
        return;
    if (madvise(page, page_size, MADV_WIPEONFORK) == 0)
        marker = page;
    else
        munmap(page, page_size);
}

uint32_t rl_process_stamp(void)
{
    uint32_t stamp;
    uint32_t fresh;

    pthread_once(&once, set_up);
    if (!marker)
        return (uint32_t)getpid();
    stamp = atomic_load_explicit(marker, memory_order_relaxed);
    if (stamp)
        return stamp;
    fresh = atomic_fetch_add(&stamp_count, 1) + 1;
    if (atomic_compare_exchange_strong(marker, &stamp, fresh))
        return fresh;
    return stamp;
}
