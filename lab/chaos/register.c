/* SPDX-License-Identifier: BSD-2-Clause */
#include "register.h"

#include "names.h"
#include "record.h"

#include "helper.h"

#include <pthread.h>
#include <sys/socket.h>

struct content {
    int64_t value;
    int64_t largest; /* token */
};

struct registers {
    struct content fenced[REGISTERS], plain[REGISTERS];
    int history;
};

bool register_send(int fd, const struct register_request *request, struct register_reply *reply)
{
    return send(fd, request, sizeof *request, MSG_NOSIGNAL) == (ssize_t)sizeof *request &&
           recv(fd, reply, sizeof *reply, 0) == (ssize_t)sizeof *reply;
}

static void note_write(struct registers *r, const struct register_request *request, int what)
{
    record_append(r->history, (struct record){.what = (uint8_t)what,
                                              .worker = request->worker,
                                              .life = request->life,
                                              .hold = request->hold,
                                              .names = 1u << request->name,
                                              .token = request->token,
                                              .based_on = request->based_on,
                                              .value = request->based_on + 1});
}

static struct register_reply serve(struct registers *r, const struct register_request *request)
{
    struct content *c = request->fenced ? &r->fenced[request->name] : &r->plain[request->name];
    if (request->fenced && request->token < c->largest) {
        if (request->write)
            note_write(r, request, RECORD_REFUSED);
        return (struct register_reply){false, c->value};
    }
    if (request->fenced)
        c->largest = request->token;
    if (request->write) {
        c->value = request->based_on + 1;
        note_write(r, request, request->fenced ? RECORD_FENCED : RECORD_PLAIN);
    }
    return (struct register_reply){true, c->value};
}

/* All requests of one caller; those of all callers take turns. */
static void serve_caller(struct helper_connection *caller)
{
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    struct register_request request;
    while (recv(caller->fd, &request, sizeof request, 0) == (ssize_t)sizeof request &&
           request.name < REGISTERS) {
        struct register_reply reply;
        pthread_mutex_lock(&turn);
        reply = serve(caller->argument, &request);
        pthread_mutex_unlock(&turn);
        if (send(caller->fd, &reply, sizeof reply, MSG_NOSIGNAL) != (ssize_t)sizeof reply)
            return;
    }
}

void register_serve(void *data)
{
    const struct register_place *place = data;
    struct registers r = {.history = place->history};
    helper_name("registers");
    helper_accept_loop(place->listener, serve_caller, &r);
}
