/* SPDX-License-Identifier: BSD-2-Clause */
/* Passwords do not stay in buffers: the memory of this process is searched
 * for AUTH commands. */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The servers get its hash, so that this process encodes it in the library only. */
#define PASSWORD "correct-horse-battery-staple"
#define PASSWORD_HASH "#87cbebfeebc05f7c54ac9336c4b4bbec831227a641951a4bde7edd56020f8590"

/* The password behind the end of a line: as it is in an AUTH command, and nowhere else. */
static int count_in(const char *bytes, size_t size)
{
    static const char password[] = PASSWORD;
    const char *end = bytes + size;
    int count = 0;
    for (const char *at = bytes; at < end; at++) {
        at = memmem(at, (size_t)(end - at), password, sizeof password - 1);
        if (at == NULL)
            break;
        count += at >= bytes + 2 && at[-2] == '\r' && at[-1] == '\n';
    }
    return count;
}

/* How often an AUTH command is anywhere in the writable memory of this process. */
static int count_logins(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int memory = open("/proc/self/mem", O_RDONLY);
    char line[512];
    int count = 0;
    CHECK(maps != NULL && memory >= 0);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char rights[5], *copy;
        ssize_t got;
        if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 || rights[1] != 'w')
            continue;
        /* Mapped, so that the copy is not in a region that is still to be read. */
        copy =
            mmap(NULL, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(copy != MAP_FAILED);
        got = pread(memory, copy, to - from, (off_t)from);
        count += got > 0 ? count_in(copy, (size_t)got) : 0;
        munmap(copy, to - from);
    }
    close(memory);
    fclose(maps);
    return count;
}

/* Requests that wait behind the login make its buffer grow. */
static void start_many(redlock *r, redlock_lock **locks, int count)
{
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "x%d", i);
        CHECK_OK(redlock_start_acquire(r, name, 10000, NULL, &locks[i]));
    }
}

CASE_NODES(password_not_kept_in_buffers,
           "No AUTH command stays in memory once it was sent or dropped.")
{
    enum { MANY = 400 };
    redlock_lock *locks[MANY];
    redlock_request q = REDLOCK_REQUEST(.wait_ms = 1000);
    if (CHECK_SANITIZED)
        check_skip("a sanitizer's memory is too large to be searched");
    for (size_t i = 0; i < 3; i++)
        CHECK_STR("OK", server_cmd(&c->node[i], "ACL", "SETUSER", "locker", "on", PASSWORD_HASH,
                                   "~*", "&*", "+@all", NULL));
    CHECK_INT(0, count_logins());
    r = CLIENT_OPEN(c, .username = "locker", .password = PASSWORD);
    start_many(r, locks, MANY);
    CHECK(count_logins() >= 3); /* they wait to be sent: the search finds what is there */
    client_warm(r);
    CHECK_INT(0, count_logins());
    /* Subscriber connections, and connections that fail before anything is sent. */
    cluster_set(c, 0, 3, "redlock:held", "another", 60000);
    CHECK_ERR(REDLOCK_TIMEOUT, client_try_as(r, "held", 10000, q));
    cluster_each(c, 0, 3, server_kill);
    CHECK_ERR(REDLOCK_NOQUORUM, client_try_as(r, "y", 10000, q));
    for (int i = 0; i < MANY; i++)
        redlock_lock_free(locks[i]);
    client_close(r);
    CHECK_INT(0, count_logins());
}
