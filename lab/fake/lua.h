/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Lua inside the servers: the same version (5.1), with as much of what a script finds there
 * as the scripts of this project use. Numbers, nil and errors become replies, and replies
 * become values, by the rules of Redis.
 */
#ifndef FAKE_LUA_H
#define FAKE_LUA_H

#include "lab/fake/server.h"

/* A call of a script; the words point into the request. */
struct fake_lua_call {
    const char *name; /* for error messages */
    const char *text; /* compiled once: the address identifies it, and stays valid */
    const struct rl_slice *key;
    const struct rl_slice *arg;
    uint32_t key_count;
    uint32_t arg_count;
};

/* Runs it on the server and adds its reply. */
void fake_lua_run(struct fake_server *server, const struct fake_lua_call *call,
                  struct fake_bytes *out);

#define FAKE_DIGEST_SIZE 41 /* with its end */

/* What redis.sha1hex() of a script is here. */
void fake_digest(const char *text, size_t size, char out[FAKE_DIGEST_SIZE]);

#endif
