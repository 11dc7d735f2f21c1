/* SPDX-License-Identifier: BSD-2-Clause */
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "raw.h"
#include "rl_scripts.h"

#define VALUE_LENGTH 40               /* hex digits, as the library's */
#define COMMAND_MAX 256               /* bytes of one encoded command */
#define PENDING_MAX 65536             /* replies one node may owe; a power of two */
#define BACKLOG_MAX (PENDING_MAX / 2) /* of a node, with which no new cycle is started */
#define INPUT_MAX 131072              /* bytes read at once */
#define OUTPUT_MAX (PENDING_MAX * COMMAND_MAX)
#define STALL_MS 5000 /* silence of all nodes after which a run is given up */

/* Whose reply comes next on a connection. A reply to an older step is simply ignored. */
struct ticket {
    uint32_t cycle;
    uint32_t step;
};

struct connection {
    int fd;
    char *output; /* OUTPUT_MAX bytes; [sent, filled) waits to be written */
    size_t filled;
    size_t sent;
    char *input; /* INPUT_MAX bytes; `unread` of them are an incomplete line */
    size_t unread;
    struct ticket pending[PENDING_MAX];
    uint32_t pushed; /* tickets put in so far; the index is this modulo PENDING_MAX */
    uint32_t popped;
};

struct cycle {
    struct name name;
    char value[VALUE_LENGTH + 1];
    uint32_t step; /* counts acquires and releases: odd while acquiring, even while releasing */
    uint32_t granted;
    uint32_t answered;
    bool parked; /* waits until the slowest node has caught up */
    int64_t started_ns;
};

struct floor {
    const struct servers *servers;
    struct connection *node[REDLOCK_NODES_MAX];
    size_t node_count;
    uint32_t quorum;
    const char *release_word;
    char release_head[96];  /* the encoded command up to the key */
    char release_infix[32]; /* and what stands between key and value */
    uint64_t random;

    struct cycle *cycles; /* of the current run */
    unsigned in_flight;
    unsigned parked;
    unsigned idle; /* cycles not restarted because the window is over */
    struct window *window;
    bool failed;
};

/* The library's own text: both sides make the servers do the same work. */
static const char release_script[] = RL_SCRIPT_RELEASE;

/* ---- setting up ---- */

static void connection_free(struct connection *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    free(c->output);
    free(c->input);
    free(c);
}

static struct connection *connection_open(const char *url)
{
    struct connection *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->fd = raw_connect(url);
    c->output = malloc(OUTPUT_MAX);
    c->input = malloc(INPUT_MAX);
    if (c->fd < 0 || !c->output || !c->input) {
        connection_free(c);
        return NULL;
    }
    return c;
}

/* Whether every node answers this command with 0: nothing deleted, and no error. */
static bool all_know(struct floor *floor, const char *const *words, size_t word_count)
{
    char reply[256];
    for (size_t i = 0; i < floor->node_count; i++) {
        int type = raw_call(floor->node[i]->fd, words, word_count, reply, sizeof reply);
        if (type != ':' || strcmp(reply, "0") != 0)
            return false;
    }
    return true;
}

static int load_script(struct floor *floor, char sha[41])
{
    const char *words[] = {"SCRIPT", "LOAD", release_script};
    char reply[256];
    for (size_t i = 0; i < floor->node_count; i++) {
        int type = raw_call(floor->node[i]->fd, words, 3, reply, sizeof reply);
        if (type != '$' || strlen(reply) != 40) {
            fprintf(stderr, "redlock-bench: SCRIPT LOAD failed: %s\n", reply);
            return -1;
        }
    }
    memcpy(sha, reply, 41);
    return 0;
}

static int choose_release(struct floor *floor, bool native)
{
    static const char *const delifeq[] = {"DELIFEQ", BENCH_PREFIX "bench-probe", "no"};
    static const char *const delex[] = {"DELEX", BENCH_PREFIX "bench-probe", "IFEQ", "no"};
    char sha[41];

    if (native && all_know(floor, delifeq, 3)) {
        floor->release_word = "DELIFEQ";
        strcpy(floor->release_head, "*3\r\n$7\r\nDELIFEQ\r\n");
    } else if (native && all_know(floor, delex, 4)) {
        floor->release_word = "DELEX";
        strcpy(floor->release_head, "*4\r\n$5\r\nDELEX\r\n");
        strcpy(floor->release_infix, "$4\r\nIFEQ\r\n");
    } else {
        if (load_script(floor, sha) != 0)
            return -1;
        floor->release_word = "EVALSHA";
        snprintf(floor->release_head, sizeof floor->release_head,
                 "*5\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n", sha);
    }
    return 0;
}

struct floor *floor_open(const struct servers *servers, bool native)
{
    struct floor *floor = calloc(1, sizeof *floor);
    if (!floor)
        return NULL;
    floor->servers = servers;
    floor->quorum = (uint32_t)servers->quorum;
    floor->random = (uint64_t)now_ns() | 1;
    for (; floor->node_count < servers->count; floor->node_count++) {
        floor->node[floor->node_count] = connection_open(servers->url[floor->node_count]);
        if (!floor->node[floor->node_count])
            goto failed;
    }
    if (choose_release(floor, native) != 0)
        goto failed;
    for (size_t i = 0; i < floor->node_count; i++)
        fcntl(floor->node[i]->fd, F_SETFL, O_NONBLOCK);
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
        connection_free(floor->node[i]);
    free(floor);
}

const char *floor_release_word(const struct floor *floor)
{
    return floor->release_word;
}

/* ---- commands out ---- */

static void give_up(struct floor *floor, const char *why)
{
    if (!floor->failed)
        fprintf(stderr, "redlock-bench: the floor gives up: %s\n", why);
    floor->failed = true;
}

static void send_to_all(struct floor *floor, const struct cycle *cycle, const char *command,
                        size_t length)
{
    struct ticket ticket = {.cycle = (uint32_t)(cycle - floor->cycles), .step = cycle->step};
    for (size_t i = 0; i < floor->node_count; i++) {
        struct connection *c = floor->node[i];
        if (c->pushed - c->popped == PENDING_MAX || OUTPUT_MAX - c->filled < length) {
            give_up(floor, "a node has fallen too far behind");
            return;
        }
        memcpy(c->output + c->filled, command, length);
        c->filled += length;
        c->pending[c->pushed++ % PENDING_MAX] = ticket;
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
        uint32_t owed = floor->node[i]->pushed - floor->node[i]->popped;
        most = owed > most ? owed : most;
    }
    return most;
}

/* Xorshift: unique enough for a benchmark, and free. */
static void fresh_value(struct floor *floor, char value[VALUE_LENGTH + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint64_t bits = 0;
    for (int i = 0; i < VALUE_LENGTH; i++, bits >>= 4) {
        if (i % 16 == 0) {
            floor->random ^= floor->random << 13;
            floor->random ^= floor->random >> 7;
            floor->random ^= floor->random << 17;
            bits = floor->random;
        }
        value[i] = digits[bits & 15];
    }
    value[VALUE_LENGTH] = '\0';
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
    char command[COMMAND_MAX];
    name_next(&cycle->name);
    fresh_value(floor, cycle->value);
    cycle->granted = cycle->answered = 0;
    cycle->started_ns = now_ns();
    int length = snprintf(command, sizeof command,
                          "*6\r\n$3\r\nSET\r\n$%zu\r\n" BENCH_PREFIX "%s\r\n$%d\r\n%s\r\n"
                          "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n%d\r\n",
                          strlen(BENCH_PREFIX) + NAME_LENGTH, cycle->name.text, VALUE_LENGTH,
                          cycle->value, BENCH_TTL_MS);
    send_to_all(floor, cycle, command, (size_t)length);
}

static void next_cycle(struct floor *floor, struct cycle *cycle)
{
    cycle->step++; /* from here on, replies to the last release are late ones */
    start_acquire(floor, cycle);
}

static void start_release(struct floor *floor, struct cycle *cycle)
{
    char command[COMMAND_MAX];
    cycle->step++;
    cycle->granted = cycle->answered = 0;
    int length =
        snprintf(command, sizeof command, "%s$%zu\r\n" BENCH_PREFIX "%s\r\n%s$%d\r\n%s\r\n",
                 floor->release_head, strlen(BENCH_PREFIX) + NAME_LENGTH, cycle->name.text,
                 floor->release_infix, VALUE_LENGTH, cycle->value);
    send_to_all(floor, cycle, command, (size_t)length);
}

/* ---- replies in ---- */

static void won(struct floor *floor, struct cycle *cycle, bool acquiring)
{
    bool counts = window_state(floor->window) == WINDOW_MEASURING;
    if (acquiring) {
        if (counts)
            latency_add(&floor->window->sample->acquire, now_ns() - cycle->started_ns);
        start_release(floor, cycle);
    } else {
        floor->window->sample->cycles += counts;
        next_cycle(floor, cycle);
    }
}

static void take_reply(struct floor *floor, struct ticket ticket, const char *line)
{
    struct cycle *cycle = &floor->cycles[ticket.cycle];
    if (cycle->step != ticket.step)
        return;
    bool acquiring = cycle->step % 2 == 1;
    cycle->answered++;
    cycle->granted += acquiring ? line[0] == '+' : line[0] == ':' && line[1] == '1';
    if (cycle->granted == floor->quorum)
        won(floor, cycle, acquiring);
    else if (cycle->answered == floor->node_count)
        give_up(floor, "a majority refused; does somebody else use these names?");
}

/* Every reply in this benchmark is one line. */
static void read_replies(struct floor *floor, struct connection *c)
{
    ssize_t n = recv(c->fd, c->input + c->unread, INPUT_MAX - c->unread, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        give_up(floor, "a node closed the connection");
        return;
    }
    char *line = c->input;
    char *end = c->input + c->unread + n;
    for (char *stop; !floor->failed && (stop = memchr(line, '\n', (size_t)(end - line)));) {
        if (c->popped == c->pushed) {
            give_up(floor, "a reply nobody asked for");
            return;
        }
        take_reply(floor, c->pending[c->popped++ % PENDING_MAX], line);
        line = stop + 1;
    }
    c->unread = (size_t)(end - line);
    memmove(c->input, line, c->unread);
}

static void flush(struct floor *floor, struct connection *c)
{
    while (c->sent < c->filled) {
        ssize_t n = send(c->fd, c->output + c->sent, c->filled - c->sent, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0) {
            give_up(floor, "a node closed the connection");
            return;
        }
        c->sent += (size_t)n;
    }
    c->sent = c->filled = 0;
}

/* ---- the loop ---- */

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

static void turn(struct floor *floor)
{
    struct pollfd polls[REDLOCK_NODES_MAX];
    for (size_t i = 0; i < floor->node_count; i++) {
        struct connection *c = floor->node[i];
        if (c->filled)
            flush(floor, c);
        polls[i] = (struct pollfd){.fd = c->fd, .events = POLLIN};
        if (c->filled)
            polls[i].events |= POLLOUT;
    }
    if (poll(polls, floor->node_count, STALL_MS) == 0)
        give_up(floor, "no node answers");
    for (size_t i = 0; i < floor->node_count && !floor->failed; i++)
        if (polls[i].revents & (POLLIN | POLLHUP | POLLERR))
            read_replies(floor, floor->node[i]);
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
        name_first(&floor->cycles[i].name, i);
        next_cycle(floor, &floor->cycles[i]);
    }
    while (!floor->failed && (floor->idle < in_flight || backlog(floor) > 0)) {
        turn(floor);
        window_tick(window);
        if (floor->parked > 0)
            restart_parked(floor);
    }
    free(floor->cycles);
    floor->cycles = NULL;
    return floor->failed ? -1 : 0;
}
