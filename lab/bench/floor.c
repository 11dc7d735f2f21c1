/* SPDX-License-Identifier: BSD-2-Clause */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "floor_link.h"

#define BACKLOG_MAX (LINK_PENDING_MAX / 2) /* of a node, with which no new cycle is started */
#define STALL_MS 5000 /* silence of all nodes after which a run is given up */

struct cycle {
    struct name name;
    char value[WORDS_VALUE_LENGTH];
    uint32_t step; /* counts acquires and releases: odd while acquiring, even while releasing */
    uint32_t granted;
    uint32_t answered;
    bool parked; /* waits until the slowest node has caught up */
    int64_t started_ns;
};

struct floor {
    struct link *node[REDLOCK_NODES_MAX];
    bool wants_write[REDLOCK_NODES_MAX];
    size_t node_count;
    uint32_t quorum;
    int epoll_fd;
    struct words acquire;
    struct words release;
    uint64_t random;

    struct cycle *cycles; /* of the current run */
    unsigned in_flight;
    unsigned parked;
    unsigned idle; /* cycles not restarted because the window is over */
    struct window *window;
    bool failed;
};

static int watch_node(struct floor *floor, size_t node, int how, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = (uint32_t)node};
    return epoll_ctl(floor->epoll_fd, how, floor->node[node]->fd, &event);
}

struct floor *floor_open(const struct servers *servers, enum floor_release release)
{
    struct floor *floor = calloc(1, sizeof *floor);
    if (!floor)
        return NULL;
    floor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    floor->quorum = (uint32_t)servers->quorum;
    floor->random = (uint64_t)now_ns() | 1;
    for (; floor->node_count < servers->count; floor->node_count++) {
        floor->node[floor->node_count] = link_open(servers->url[floor->node_count]);
        if (!floor->node[floor->node_count])
            goto failed;
    }
    words_acquire(&floor->acquire);
    if (!words_release(&floor->release, release, floor->node, floor->node_count))
        goto failed;
    for (size_t i = 0; i < floor->node_count; i++)
        if (fcntl(floor->node[i]->fd, F_SETFL, O_NONBLOCK) != 0 ||
            watch_node(floor, i, EPOLL_CTL_ADD, EPOLLIN) != 0)
            goto failed;
    return floor;

failed:
    floor_close(floor);
    return NULL;
}

void floor_close(struct floor *floor)
{
    if (!floor)
        return;
    for (size_t i = 0; i < floor->node_count; i++)
        link_free(floor->node[i]);
    if (floor->epoll_fd >= 0)
        close(floor->epoll_fd);
    free(floor);
}

static void give_up(struct floor *floor, const char *why)
{
    if (!floor->failed)
        fprintf(stderr, "redlock-bench: the floor gives up: %s\n", why);
    floor->failed = true;
}

static void send_to_all(struct floor *floor, const struct cycle *cycle, struct words *words)
{
    struct ticket ticket = {.cycle = (uint32_t)(cycle - floor->cycles), .step = cycle->step};
    words_fill(words, &cycle->name, cycle->value);
    for (size_t i = 0; i < floor->node_count; i++) {
        struct link *link = floor->node[i];
        bool fits = link_put(link, words->text, words->size) && link_expect(link, ticket);
        for (unsigned k = 1; k < words->replies && fits; k++)
            fits = link_expect(link, (struct ticket){.step = 0});
        if (!fits) {
            give_up(floor, "a node has fallen too far behind");
            return;
        }
    }
}

/*
 * What the slowest node owes. Majorities do not wait for it, so on a machine with fewer cores
 * than nodes it can fall behind without limit.
 */
static uint32_t backlog(const struct floor *floor)
{
    uint32_t most = 0;
    for (size_t i = 0; i < floor->node_count; i++) {
        uint32_t owed = link_owed(floor->node[i]);
        most = owed > most ? owed : most;
    }
    return most;
}

/* Xorshift: unique enough for a benchmark, and free. */
static void fresh_value(struct floor *floor, char value[WORDS_VALUE_LENGTH])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;
    for (int i = 0; i < WORDS_VALUE_LENGTH; i++, bits >>= 4) {
        if (i % 16 == 0) {
            floor->random ^= floor->random << 13;
            floor->random ^= floor->random >> 7;
            floor->random ^= floor->random << 17;
            bits = floor->random;
        }
        value[i] = digits[bits & 15];
    }
}

static void start_acquire(struct floor *floor, struct cycle *cycle)
{
    if (window_state(floor->window) == WINDOW_OVER) {
        floor->idle++;
        return;
    }
    if (backlog(floor) >= BACKLOG_MAX) {
        cycle->parked = true;
        floor->parked++;
        return;
    }
    name_next(&cycle->name);
    fresh_value(floor, cycle->value);
    cycle->granted = cycle->answered = 0;
    cycle->started_ns = now_ns();
    send_to_all(floor, cycle, &floor->acquire);
}

static void next_cycle(struct floor *floor, struct cycle *cycle)
{
    cycle->step++; /* from here on, replies to the last release are late ones */
    start_acquire(floor, cycle);
}

static void won(struct floor *floor, struct cycle *cycle, bool acquiring)
{
    struct sample *sample = floor->window->sample;
    bool counts = window_counts(floor->window);
    int64_t took_ns = now_ns() - cycle->started_ns;
    if (acquiring) {
        if (counts)
            latency_add(&sample->acquire, took_ns);
        cycle->step++;
        cycle->granted = cycle->answered = 0;
        send_to_all(floor, cycle, &floor->release);
        return;
    }
    if (counts) {
        sample->cycles++;
        latency_add(&sample->cycle, took_ns);
    }
    next_cycle(floor, cycle);
}

static void take_reply(void *data, struct ticket ticket, const char *line)
{
    struct floor *floor = data;
    struct cycle *cycle = &floor->cycles[ticket.cycle];
    bool acquiring;
    if (cycle->step != ticket.step || floor->failed)
        return;
    acquiring = cycle->step % 2 == 1;
    cycle->answered++;
    cycle->granted += acquiring ? line[0] == '+' : line[0] == ':' && line[1] == '1';
    if (cycle->granted == floor->quorum)
        won(floor, cycle, acquiring);
    else if (cycle->answered == floor->node_count)
        give_up(floor, "a majority refused; does another client use these names?");
}

static void restart_parked(struct floor *floor)
{
    floor->parked = 0;
    for (unsigned i = 0; i < floor->in_flight; i++) {
        if (floor->cycles[i].parked) {
            floor->cycles[i].parked = false;
            start_acquire(floor, &floor->cycles[i]);
        }
    }
}

static void flush_node(struct floor *floor, size_t node)
{
    bool wants_write;
    if (!link_flush(floor->node[node]))
        give_up(floor, "a node closed the connection");
    wants_write = floor->node[node]->filled > 0;
    if (wants_write != floor->wants_write[node]) {
        floor->wants_write[node] = wants_write;
        watch_node(floor, node, EPOLL_CTL_MOD, wants_write ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

static void turn(struct floor *floor)
{
    struct epoll_event events[REDLOCK_NODES_MAX];
    int count;
    for (size_t i = 0; i < floor->node_count; i++)
        if (floor->node[i]->filled)
            flush_node(floor, i);
    count = epoll_wait(floor->epoll_fd, events, REDLOCK_NODES_MAX, STALL_MS);
    if (count == 0 || (count < 0 && errno != EINTR))
        give_up(floor, "no node answers");
    for (int i = 0; i < count && !floor->failed; i++)
        if (events[i].events & ~(uint32_t)EPOLLOUT &&
            !link_receive(floor->node[events[i].data.u32], take_reply, floor))
            give_up(floor, "a node closed the connection or talks nonsense");
}

int floor_run(struct floor *floor, unsigned in_flight, struct window *window)
{
    floor->cycles = calloc(in_flight, sizeof *floor->cycles);
    if (!floor->cycles)
        return -1;
    floor->in_flight = in_flight;
    floor->idle = 0;
    floor->parked = 0;
    floor->window = window;
    for (unsigned i = 0; i < in_flight; i++) {
        name_first(&floor->cycles[i].name, i, 0);
        next_cycle(floor, &floor->cycles[i]);
    }
    while (!floor->failed && (floor->idle < in_flight || backlog(floor) > 0)) {
        turn(floor);
        window_tick(window);
        if (floor->parked > 0)
            restart_parked(floor);
    }
    window_close(window);
    free(floor->cycles);
    floor->cycles = NULL;
    return floor->failed ? -1 : 0;
}
