/* SPDX-License-Identifier: BSD-2-Clause */
#include "register.h"

#include "names.h"
#include "record.h"

#include "helper.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALLERS_MAX = 64 };

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

static void serve_caller(struct registers *r, struct pollfd *caller)
{
    struct register_request request;
    ssize_t n = recv(caller->fd, &request, sizeof request, 0);
    if (n == (ssize_t)sizeof request && request.name < REGISTERS) {
        struct register_reply reply = serve(r, &request);
        if (send(caller->fd, &reply, sizeof reply, MSG_NOSIGNAL) == (ssize_t)sizeof reply)
            return;
    }
    close(caller->fd);
    caller->fd = -1;
}

static void admit(int listener, struct pollfd *callers)
{
    int fd = accept(listener, NULL, NULL);
    for (int i = 1; i < CALLERS_MAX && fd >= 0; i++)
        if (callers[i].fd < 0) {
            callers[i] = (struct pollfd){.fd = fd, .events = POLLIN};
            return;
        }
    close(fd);
}

void register_serve(void *data)
{
    const struct register_place *place = data;
    struct registers r = {.history = place->history};
    struct pollfd callers[CALLERS_MAX];
    helper_name("registers");
    callers[0] = (struct pollfd){.fd = place->listener, .events = POLLIN};
    for (int i = 1; i < CALLERS_MAX; i++)
        callers[i] = (struct pollfd){.fd = -1};
    while (poll(callers, CALLERS_MAX, -1) > 0) {
        for (int i = 1; i < CALLERS_MAX; i++)
            if (callers[i].fd >= 0 && callers[i].revents != 0)
                serve_caller(&r, &callers[i]);
        if (callers[0].revents != 0)
            admit(place->listener, callers);
    }
}
