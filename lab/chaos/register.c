/* SPDX-License-Identifier: BSD-2-Clause */
#include "register.h"

#include "names.h"
#include "record.h"

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

bool register_ask(int fd, const struct register_request *ask, struct register_reply *reply)
{
    return send(fd, ask, sizeof *ask, MSG_NOSIGNAL) == (ssize_t)sizeof *ask &&
           recv(fd, reply, sizeof *reply, 0) == (ssize_t)sizeof *reply;
}

static void note_write(struct registers *r, const struct register_request *ask, int what)
{
    record_append(r->history, (struct record){.what = (uint8_t)what,
                                              .worker = ask->worker,
                                              .life = ask->life,
                                              .hold = ask->hold,
                                              .names = 1u << ask->name,
                                              .token = ask->token,
                                              .based_on = ask->based_on,
                                              .value = ask->based_on + 1});
}

static struct register_reply serve(struct registers *r, const struct register_request *ask)
{
    struct content *c = ask->fenced ? &r->fenced[ask->name] : &r->plain[ask->name];
    if (ask->fenced && ask->token < c->largest) {
        if (ask->write)
            note_write(r, ask, RECORD_REFUSED);
        return (struct register_reply){false, c->value};
    }
    if (ask->fenced)
        c->largest = ask->token;
    if (ask->write) {
        c->value = ask->based_on + 1;
        note_write(r, ask, ask->fenced ? RECORD_FENCED : RECORD_PLAIN);
    }
    return (struct register_reply){true, c->value};
}

static void hear(struct registers *r, struct pollfd *caller)
{
    struct register_request ask;
    ssize_t n = recv(caller->fd, &ask, sizeof ask, 0);
    if (n == (ssize_t)sizeof ask && ask.name < REGISTERS) {
        struct register_reply reply = serve(r, &ask);
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
    callers[0] = (struct pollfd){.fd = place->listener, .events = POLLIN};
    for (int i = 1; i < CALLERS_MAX; i++)
        callers[i] = (struct pollfd){.fd = -1};
    while (poll(callers, CALLERS_MAX, -1) > 0) {
        for (int i = 1; i < CALLERS_MAX; i++)
            if (callers[i].fd >= 0 && callers[i].revents != 0)
                hear(&r, &callers[i]);
        if (callers[0].revents != 0)
            admit(place->listener, callers);
    }
}
