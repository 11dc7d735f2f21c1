/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network: connections are two FIFO streams of bytes, cut and delayed at random. Nothing is
 * reordered within a stream; between connections everything may be. A blocked link keeps what
 * was sent (as TCP does) until it opens again, unless the connection is given up meanwhile:
 * then what is under way may still arrive, long after its sender has turned to other things.
 */
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "lab/fake/bytes.h"
#include "lab/fake/server.h"

struct sim_client;
struct sim_node;
struct sim_world;

enum sim_direction { SIM_UP, SIM_DOWN }; /* to the node, to the client */

struct sim_link {
    int64_t delay_ns;      /* one way, without jitter */
    bool blocked[2];       /* by direction */
    int64_t slow_until_ns; /* true time */
    int64_t slow_by_ns;
};

struct sim_segment {
    struct sim_segment *next;
    int64_t at_ns;
    bool end; /* the sender has closed; no data */
    size_t size;
    char data[];
};

struct sim_pipe {
    struct sim_segment *first;
    struct sim_segment *last;
    int64_t last_ns; /* when the last segment that was sent arrives: FIFO */
    uint64_t stamp;
};

/*
 * One TCP connection, as both ends see it. Lives until the end of the run: segments may be
 * under way long after both have forgotten it.
 */
struct sim_conn {
    struct sim_conn *next; /* of all, the newest first */
    struct sim_client *client;
    struct sim_node *node;
    uint32_t number;
    bool client_open;                /* the client has not closed it */
    bool node_open;                  /* accepted, and the node has not closed it */
    bool connected;                  /* the client knows that it was accepted */
    bool refused;                    /* the client is to learn of it */
    bool ended;                      /* the client is to learn of it, after the input */
    bool node_ended;                 /* the node has seen the client's end, but is hung */
    char channel[FAKE_MESSAGE_SIZE]; /* subscribed to; empty: none */
    struct sim_pipe pipe[2];
    uint64_t told_size; /* bytes that the node has answered ... */
    uint64_t read_size; /* ... and that the client has read */
    uint64_t missed_at; /* behind so many of them the node said that this value is missing */
    char missed[96];    /* empty: none */
    struct fake_bytes client_input; /* arrived, not read by the process yet */
    struct fake_bytes node_input;
};

struct sim_conn *sim_net_connect(struct sim_world *world, struct sim_client *client,
                                 struct sim_node *node);
void sim_net_send(struct sim_world *world, struct sim_conn *conn, enum sim_direction direction,
                  const char *bytes, size_t size);
/* One side closes: the other learns of it behind the data. */
void sim_net_client_closes(struct sim_world *world, struct sim_conn *conn);
void sim_net_node_closes(struct sim_world *world, struct sim_conn *conn);
/* What is under way in this direction is lost. */
void sim_net_lose(struct sim_conn *conn, enum sim_direction direction);

struct sim_link *sim_net_link(struct sim_world *world, const struct sim_client *client,
                              const struct sim_node *node);
void sim_net_block(struct sim_world *world, struct sim_client *client, struct sim_node *node,
                   enum sim_direction direction, bool blocked);
void sim_net_free(struct sim_world *world);

#endif
