/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and their resolution. This program brings its own getaddrinfo(), so that names can be
 * slow or have several addresses:
 *     slow.test  answers after SLOW_MS, and not while answers are held back
 *     two.test   has an address without a listener, then the right one
 */
#include "fixture.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SLOW_MS = CHECK_SANITIZED ? 2500 : 1000 };

static atomic_bool held_back;
static atomic_int lookups, most_lookups; /* of slow.test: under way now, and at most */

typedef int getaddrinfo_fn(const char *, const char *, const struct addrinfo *,
                           struct addrinfo **);

static int real_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                            struct addrinfo **out)
{
    getaddrinfo_fn *real;
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(node, service, hints, out);
}

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    bool asked_for_a_name = hints == NULL || (hints->ai_flags & AI_NUMERICHOST) == 0;
    struct addrinfo *first = NULL, *second = NULL;
    if (node == NULL || strstr(node, ".test") == NULL || !asked_for_a_name)
        return real_getaddrinfo(node, service, hints, out);
    if (strcmp(node, "slow.test") == 0) {
        int now = ++lookups;
        if (now > most_lookups)
            most_lookups = now;
        sleep_ms(SLOW_MS);
        while (held_back)
            sleep_ms(1);
        lookups--;
        return real_getaddrinfo("127.0.0.1", service, hints, out);
    }
    if (real_getaddrinfo("127.0.0.66", service, hints, &first) != 0 ||
        real_getaddrinfo("127.0.0.1", service, hints, &second) != 0)
        return EAI_FAIL;
    first->ai_next = second;
    *out = first;
    return 0;
}

static void name_first(struct cluster *c, const char *name)
{
    snprintf(c->url[0], sizeof c->url[0], "redis://%s:%d", name, c->node[0].port.number);
}

CASE_NODES(slow_name_delays_nothing,
           "A name that is slow to resolve delays neither an acquire nor the close.")
{
    /* Of nodes without a set, none counts before all have said so: initialised
     * ones decide alone. */
    redlock *init = client_open(c, 0);
    CHECK_OK(redlock_admit(init, NULL));
    client_close(init);
    name_first(c, "slow.test");
    held_back = true;
    for (uint32_t thread = 0; thread <= REDLOCK_THREAD; thread++) {
        r = client_open(c, thread);
        for (int i = 0; i < 5; i++)
            client_unlock(client_lock(r, "x", 20000));
        client_close(r);
    }
    held_back = false;
    sleep_ms(SLOW_MS + 50); /* the lookups end on their own, and free what they used */
}

CASE_NODES(slow_name_joins_later, "The node behind a slow name votes once it is resolved.")
{
    name_first(c, "slow.test");
    r = client_open_warm(c, REDLOCK_THREAD);
    client_lock_on(r, c, 3, "x", 20000);
}

CASE_NODES(slow_name_is_looked_up_once,
           "A lookup that outlasts its attempt serves the next one, which starts no other.",
           .nodes = 1)
{
    redlock_options o;
    name_first(c, "slow.test");
    o = client_options(c);
    o.flags |= REDLOCK_THREAD;
    o.connect_timeout_ms = SLOW_MS / 10;
    most_lookups = 0;
    CHECK_OK(redlock_open(&o, &r));
    CLIENT_LOCK(r, "x", 20000, .wait_ms = GIVE_UP_MS);
    CHECK_BETWEEN(1, 2, most_lookups); /* the second: for the subscriber connection */
}

CASE_NODES(slow_name_is_waited_for,
           "A fresh client whose only node has a slow name gets its lock.", .nodes = 1)
{
    name_first(c, "slow.test");
    r = client_open(c, 0);
    client_unlock(client_lock(r, "x", 20000));
}

CASE_NODES(second_address_is_tried,
           "When the first address of a name refuses, the next is tried.", .nodes = 1)
{
    name_first(c, "two.test");
    r = client_open(c, 0);
    client_unlock(client_lock(r, "x", 20000));
    server_restart_admitted(&c->node[0]); /* this is about addresses */
    CLIENT_LOCK(r, "x", 20000, .wait_ms = GIVE_UP_MS);
}
