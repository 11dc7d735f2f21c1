/* SPDX-License-Identifier: BSD-2-Clause */
/* Several quorums with threads, across fork() and to the end; and what is refused at open. */
#include "certs.h"
#include "check.h"
#include "client.h"
#include "clock.h"
#include "fleet.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = CHECK_SANITIZED ? 40 : 120, SHARED_NAMES = 4 };

struct crew {
    redlock *client;
    _Atomic int inside[SHARED_NAMES];
    _Atomic int collisions;
};

/* Names of all quorums, wanted by all threads: never two inside one. */
static void *work(void *data)
{
    struct crew *crew = data;
    for (int i = 0; i < ROUNDS; i++) {
        int which = i % SHARED_NAMES;
        char name[32];
        redlock_request q = {.size = sizeof q, .wait_ms = 20000};
        redlock_lock *lock = NULL;
        snprintf(name, sizeof name, "shared-%d", which);
        CHECK_OK(redlock_acquire(crew->client, name, 20000, &q, &lock));
        if (++crew->inside[which] != 1)
            crew->collisions++;
        crew->inside[which]--;
        client_unlock(lock);
    }
    return NULL;
}

static void exclude(uint32_t flags)
{
    struct fleet f;
    pthread_t thread[THREADS];
    static struct crew crew;
    fleet_start(&f, 2, 3);
    crew.client = fleet_open_warm(&f, flags);
    int used[2] = {0};
    for (int i = 0; i < SHARED_NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "shared-%d", i);
        used[redlock_quorum_of(crew.client, name)]++;
    }
    CHECK(used[0] > 0 && used[1] > 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(0, pthread_create(&thread[i], NULL, work, &crew));
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_NEVER(crew.collisions);
    redlock_close(crew.client);
}

CASE(threads_exclude_each_other,
     "Threads of a client with an I/O thread per quorum exclude each other.")
{
    exclude(REDLOCK_THREAD);
}

CASE(threads_without_io_thread, "Threads that drive the quorums themselves exclude each other.")
{
    exclude(0);
}

struct relay {
    redlock *client;
    const char *next; /* lives in the other quorum */
    redlock_lock *second;
    _Atomic int done, refused;
};

static void count_done(redlock_lock *lock, int error, void *data)
{
    struct relay *relay = data;
    CHECK(lock != NULL);
    CHECK_OK(error);
    relay->done++;
}

/* On the thread of one quorum: starts in the other, and may not wait for it. */
static void pass_on(redlock_lock *lock, int error, void *data)
{
    struct relay *relay = data;
    redlock_request q = {.size = sizeof q, .done = count_done, .data = relay};
    redlock_report report = {.size = sizeof report};
    CHECK(lock != NULL);
    CHECK_OK(error);
    relay->refused += redlock_ping(relay->client, &report) == REDLOCK_INVAL;
    CHECK_OK(redlock_start(relay->client, relay->next, 20000, &q, &relay->second));
}

static bool is_done(void *data)
{
    struct relay *relay = data;
    return relay->done > 0;
}

CASE(callbacks_cross_quorums,
     "A callback in one quorum's I/O thread may start a lock of another quorum.")
{
    struct fleet f;
    static struct relay relay;
    fleet_start(&f, 2, 3);
    relay.client = fleet_open_warm(&f, REDLOCK_THREAD);
    relay.next = fleet_name(&f, 1, 0);
    redlock_request q = {.size = sizeof q, .done = pass_on, .data = &relay};
    redlock_lock *first = NULL;
    CHECK_OK(redlock_start(relay.client, fleet_name(&f, 0, 0), 20000, &q, &first));
    CHECK(wait_until(is_done, &relay, 10000));
    CHECK_INT(1, relay.refused);
    CHECK_ERR(REDLOCK_INVAL, redlock_fd(relay.client));
    CHECK_ERR(REDLOCK_INVAL, redlock_process(relay.client, 0));
    client_unlock(first);
    client_unlock(relay.second);
    redlock_close(relay.client);
}

static void on_closed(redlock_lock *lock, int error, void *data)
{
    _Atomic int *canceled = data;
    CHECK(lock != NULL);
    CHECK_INT(REDLOCK_CANCELED, error);
    ++*canceled;
}

static void close_with_handles(uint32_t flags)
{
    struct fleet f;
    redlock_lock *held[2], *waiting[2];
    _Atomic int canceled = 0;
    fleet_start(&f, 2, 3);
    redlock *r = fleet_open_warm(&f, flags);
    for (size_t i = 0; i < 2; i++) {
        const char *name = fleet_name(&f, i, 0);
        redlock_request q = {
            .size = sizeof q, .wait_ms = 60000, .done = on_closed, .data = &canceled};
        held[i] = client_lock(r, name, 20000);
        CHECK_OK(redlock_start(r, name, 20000, &q, &waiting[i]));
    }
    redlock_close(r);
    CHECK_INT(2, canceled);
    for (size_t i = 0; i < 2; i++) {
        CHECK(cluster_await_empty(&f.cluster[i], 5000));
        CHECK_INT(0, redlock_remaining_ms(held[i]));
        CHECK_ERR(REDLOCK_INVAL, redlock_release(held[i]));
        redlock_lock_free(held[i]);
        redlock_lock_free(waiting[i]);
    }
}

/* ---- each frees the other's ---------------------------------------------------------------- */

struct pair {
    redlock_lock *_Atomic lock[2];
    pthread_barrier_t meeting;
    _Atomic int returned;
};

static struct pair pair;

/* In both callbacks at once: neither may wait for the other to return. */
static void free_the_other(redlock_lock *lock, int error, void *data)
{
    (void)lock;
    (void)error;
    pthread_barrier_wait(&pair.meeting);
    redlock_lock_free(pair.lock[1 - (int)(intptr_t)data]);
    pair.returned++;
}

CASE(callbacks_free_each_other,
     "Callbacks of two quorums may free each other's handles at once.")
{
    struct fleet f;
    fleet_start(&f, 2, 1);
    redlock *client = fleet_open_warm(&f, REDLOCK_THREAD);
    pthread_barrier_init(&pair.meeting, NULL, 3);
    for (int q = 0; q < 2; q++) {
        redlock_request r = {
            .size = sizeof r, .done = free_the_other, .data = (void *)(intptr_t)q};
        redlock_lock *lock;
        char name[32];
        for (int i = 0;; i++) {
            snprintf(name, sizeof name, "pair-%d", i);
            if (redlock_quorum_of(client, name) == q)
                break;
        }
        CHECK_OK(redlock_start(client, name, 10000, &r, &lock));
        pair.lock[q] = lock;
    }
    pthread_barrier_wait(&pair.meeting);
    int64_t end_ms = now_ms() + 5000;
    while (pair.returned < 2 && now_ms() < end_ms)
        sleep_ms(1);
    CHECK_INT(2, pair.returned);
    redlock_close(client);
}

CASE(close_gives_all_up,
     "Closing releases the locks of every quorum; handles can be freed later.")
{
    close_with_handles(0);
}

CASE(close_gives_all_up_threaded,
     "Closing a client with I/O threads releases the locks of every quorum.")
{
    close_with_handles(REDLOCK_THREAD);
}

static void fork_with(uint32_t flags)
{
    struct fleet f;
    fleet_start(&f, 2, 3);
    redlock *r = fleet_open_warm(&f, flags);
    redlock_lock *lock[2] = {client_lock(r, fleet_name(&f, 0, 0), 20000),
                             client_lock(r, fleet_name(&f, 1, 0), 20000)};
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        redlock_report report = {.size = sizeof report};
        redlock_node_info node = {.size = sizeof node};
        redlock_lock *out = NULL;
        bool fine = redlock_acquire(r, "y", 1000, NULL, &out) == REDLOCK_FORKED &&
                    redlock_adopt(r, "y", "value", &out) == REDLOCK_FORKED &&
                    redlock_process(r, 0) == REDLOCK_FORKED &&
                    redlock_fd(r) == REDLOCK_FORKED &&
                    redlock_ping(r, &report) == REDLOCK_FORKED &&
                    redlock_node(r, 0, &node) == REDLOCK_FORKED &&
                    redlock_quorum_of(r, "y") == REDLOCK_FORKED &&
                    redlock_extend(lock[1], 1000) == REDLOCK_FORKED;
        redlock_lock_free(lock[0]);
        redlock_close(r);
        redlock_lock_free(lock[1]);
        redlock *own = NULL;
        redlock_options o = fleet_options(&f);
        fine = fine && redlock_open(&o, &own) == REDLOCK_OK &&
               redlock_acquire(own, fleet_name(&f, 0, 0), 1000, NULL, &out) == REDLOCK_BUSY &&
               redlock_acquire(own, fleet_name(&f, 1, 1), 1000, NULL, &out) == REDLOCK_OK;
        redlock_lock_free(out);
        redlock_close(own);
        _exit(fine ? 0 : 1);
    }
    int status = 0;
    CHECK_INT(child, waitpid(child, &status, 0));
    CHECK_INT(0, status);
    for (size_t i = 0; i < 2; i++) {
        char key[64];
        snprintf(key, sizeof key, "redlock:%s", redlock_name(lock[i]));
        fleet_check_only(&f, i, key, 3);
        CHECK_OK(redlock_extend(lock[i], 20000));
        client_unlock(lock[i]);
    }
    redlock_close(r);
}

CASE(forked_child, "A forked child gets FORKED in every quorum, and the parent's locks stay.")
{
    fork_with(0);
}

CASE(forked_child_of_threads,
     "A forked child of a client with I/O threads gets FORKED in every quorum.")
{
    fork_with(REDLOCK_THREAD);
}

/* ---- clients that disagree ---- */

static void on_warning(const char *address, const char *text, void *data)
{
    (void)address;
    if (strstr(text, "another set of nodes"))
        ++*(_Atomic int *)data;
}

/* How many nodes does a client with these options warn of? */
static int warnings(redlock_options o)
{
    _Atomic int count = 0;
    redlock *r = NULL;
    redlock_report report = {.size = sizeof report};
    o.warn = on_warning;
    o.warn_data = &count;
    CHECK_OK(redlock_open(&o, &r));
    CHECK_OK(redlock_ping(r, &report));
    CHECK_OK(redlock_ping(r, &report)); /* everything of the greeting was heard, and told */
    redlock_close(r);
    return count;
}

CASE(different_sets_are_noticed,
     "After redlock_admit() every node warns a client with another set of quorums.")
{
    struct fleet f;
    fleet_start(&f, 3, 3);
    redlock_options all = fleet_options(&f), plain = client_options(&f.cluster[0]);
    redlock_quorum swapped[3] = {f.quorum[0], f.quorum[1], f.quorum[2]};
    /* No client has stated a set: nothing is known. */
    CHECK_INT(0, warnings(all));
    CHECK_INT(0, warnings(plain));
    redlock *r = client_open_with(&all);
    CHECK_OK(redlock_admit(r, NULL));
    redlock_close(r);
    CHECK_INT(0, warnings(all));
    CHECK_INT(3, warnings(plain));
    redlock_options fewer = all;
    fewer.quorum_count = 2;
    CHECK_INT(6, warnings(fewer));
    swapped[0].name = f.quorum[1].name;
    swapped[1].name = f.quorum[0].name;
    redlock_options renamed = all;
    renamed.quorums = swapped;
    CHECK_INT(6, warnings(renamed)); /* the same set, but the third alone is where it was */
    redlock_quorum other_way[3] = {f.quorum[2], f.quorum[1], f.quorum[0]};
    renamed.quorums = other_way;
    CHECK_INT(0, warnings(renamed));

    /* The operator's word changes it: two from now on. */
    r = client_open_with(&fewer);
    CHECK_OK(redlock_admit(r, NULL));
    redlock_close(r);
    CHECK_INT(0, warnings(fewer));
    CHECK_INT(6, warnings(all)); /* the third was not asked, and knows of three still */
}

static void refuse_votes(redlock_options o, const char *name, uint32_t flags)
{
    o.flags = flags;
    redlock *r = client_open_with(&o);
    for (size_t i = 0; redlock_member(r, i); i++)
        client_warm(redlock_member(r, i));
    if (flags & REDLOCK_NO_GUARD) {
        CHECK_OK(client_try(r, name, 20000));
    } else {
        CHECK_REFUSED(REDLOCK_GUARDED, client_try(r, name, 20000));
        CHECK_HAS("another quorum, or to another set of quorums", redlock_detail());
        CHECK_HAS("redlock doctor", redlock_detail());
    }
    redlock_close(r);
}

CASE(different_sets_do_not_count,
     "A client with another set of quorums counts no node, unless its guard is off.")
{
    static const uint32_t modes[] = {0, REDLOCK_STRICT, REDLOCK_NO_GUARD};
    struct fleet f;
    fleet_start(&f, 3, 3);
    redlock_options all = fleet_options(&f), plain = client_options(&f.cluster[0]);
    redlock_options fewer = all;
    fewer.quorum_count = 2;
    redlock *r = fleet_open_warm(&f, 0);
    CHECK_OK(redlock_admit(r, NULL));
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        refuse_votes(plain, "x", modes[i]);
        refuse_votes(fewer, fleet_name(&f, 0, 0), modes[i]);
    }
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(client_try(r, fleet_name(&f, i, 0), 20000));
    redlock_close(r);
}

/* ---- what is refused ---- */

static void refuse(const redlock_options *o, const char *why)
{
    redlock *r = NULL;
    CHECK_ERR(REDLOCK_INVAL, redlock_open(o, &r));
    CHECK_HAS(why, redlock_detail());
    CHECK(r == NULL);
}

CASE(refused_at_open, "Every wrong set of quorums is refused with a sentence of its own.")
{
    static const char *const one[] = {"127.0.0.1:1", "127.0.0.1:2"};
    static const char *const two[] = {"127.0.0.1:3", "127.0.0.1:2"};
    static const char *const bad[] = {"ftp://x"};
    char longest[REDLOCK_QUORUM_MAX + 2];
    redlock_quorum q[REDLOCK_QUORUMS_MAX + 1] = {{"a", one, 2}, {"b", two, 1}};
    redlock_options o = {.size = sizeof o, .quorums = q, .quorum_count = 2};
    o.nodes = one;
    o.node_count = 1;
    refuse(&o, "nodes and quorums are both given");
    o.nodes = NULL;
    o.node_count = 0;
    o.quorums = NULL;
    refuse(&o, "quorums is NULL");
    o.quorums = q;
    o.quorum_count = REDLOCK_QUORUMS_MAX + 1;
    refuse(&o, "65 quorums; at most 64");
    o.quorum_count = 2;
    q[1].name = NULL;
    refuse(&o, "quorum 2 has no name");
    q[1].name = "East";
    refuse(&o, "a-z, 0-9");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    q[1].name = longest;
    refuse(&o, "longer than 32");
    q[1].name = "a";
    refuse(&o, "two quorums are called 'a'");
    q[1].name = "b";
    q[1].node_count = 0;
    refuse(&o, "quorum 'b' has no nodes");
    q[1].node_count = REDLOCK_NODES_MAX + 1;
    refuse(&o, "quorum 'b' has 16 nodes");
    q[1].node_count = 2;
    refuse(&o, "127.0.0.1:2 is in the quorums 'a' and 'b'");
    q[1] = (redlock_quorum){"b", bad, 1};
    refuse(&o, "quorum 'b': node 1");
    o.flags = REDLOCK_THREAD;
    refuse(&o, "quorum 'b': node 1");
}

CASE(tls_in_one_of_them,
     "TLS files serve the quorums that use TLS, and are refused when none does.")
{
    static const char *const plain[] = {"127.0.0.1:1"};
    static const char *const secure[] = {"rediss://127.0.0.1:2"};
    static const char *const other[] = {"127.0.0.1:3"};
    redlock_quorum q[2] = {{"a", plain, 1}, {"b", secure, 1}};
    redlock *r = NULL;
    certs_make();
    redlock_options o = {
        .size = sizeof o, .quorums = q, .quorum_count = 2, .tls_ca_file = certs_path("ca.crt")};
    CHECK_OK(redlock_open(&o, &r));
    redlock_close(r);
    q[1].nodes = other;
    refuse(&o, "no node has a rediss:// or valkeys:// URL");
}

CASE(one_named_quorum,
     "A client of one named quorum is an ordinary client that knows the name.")
{
    struct fleet f;
    fleet_start(&f, 1, 3);
    redlock *r = fleet_open(&f, 0), *plain = client_open(&f.cluster[0], 0);
    redlock_node_info info = {.size = sizeof info};
    CHECK_OK(redlock_node(r, 2, &info));
    CHECK_STR("a", info.quorum_name);
    CHECK_OK(redlock_node(plain, 2, &info));
    CHECK_STR("", info.quorum_name);
    CHECK(redlock_member(r, 0) == r);
    CHECK(redlock_member(r, 1) == NULL);
    CHECK_INT(0, redlock_quorum_of(r, "x"));
    CHECK_ERR(REDLOCK_INVAL, redlock_quorum_of(r, ""));
    redlock_lock *lock = client_lock(r, "x", 20000);
    CHECK_ERR(REDLOCK_BUSY, client_try(plain, "x", 20000));
    client_unlock(lock);
    redlock_close(plain);
    redlock_close(r);
}
