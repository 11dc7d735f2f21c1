/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protected resource: a process of its own with two registers behind each lock. The fenced
 * one remembers the largest token it has seen, in reads too, and refuses smaller ones. The
 * plain one takes what comes. A write says which content it was based on, so that one that
 * runs over another's is known at once; the register process writes that history itself.
 */
#ifndef REDLOCK_CHAOS_REGISTER_H
#define REDLOCK_CHAOS_REGISTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Serves until it is killed: for helper_start(), with a struct register_place. */
struct register_place {
    int listener;
    int history; /* descriptor to append to */
};
void register_serve(void *place);

/* Packets: a request is there as a whole or not at all, whichever process is killed. */
#define REGISTER_SOCKET SOCK_SEQPACKET

struct register_request {
    uint16_t worker, life;
    uint32_t hold;
    uint8_t name;
    bool fenced, write;
    int64_t token;
    int64_t based_on; /* writes */
};

struct register_reply {
    bool accepted;
    int64_t value; /* the content now */
};

/* False when the register process is gone. */
bool register_send(int fd, const struct register_request *request,
                   struct register_reply *reply);

#endif
