/* SPDX-License-Identifier: BSD-2-Clause */
#include "group.h"

#include "check.h"
#include "clock.h"
#include "nodeclock.h"

#include <redlock.h>
#include <stdio.h>
#include <string.h>

enum { ADMIT_TIMEOUT_MS = 2000 };

const char *group_host(const struct group *g, int member)
{
    return g->network->ready ? g->network->address[member] : "127.0.0.1";
}

bool group_can_answer(const struct group *g, int member)
{
    return g->member[member].pid != 0 && !g->stopped[member];
}

void group_id(int member, char out[41])
{
    snprintf(out, 41, "%040x", 0xabc000 + member);
}

static bool is_elector(const struct group *g, int member)
{
    return g->kind->electors >> member & 1;
}

void group_terms(const struct group *g, struct group_term out[GROUP_VOTES_MAX])
{
    struct group_term said[GROUP_MEMBERS][GROUP_VOTES_MAX];
    int electors = 0;
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        for (int vote = 0; vote < GROUP_VOTES_MAX; vote++)
            said[i][vote] = (struct group_term){-1, 0};
        electors += is_elector(g, i);
        if (is_elector(g, i) && group_can_answer(g, i))
            g->kind->read_terms(g, i, said[i]);
    }
    for (int vote = 0; vote < GROUP_VOTES_MAX; vote++) {
        out[vote] = (struct group_term){-1, 0};
        for (int i = 0; i < GROUP_MEMBERS; i++) {
            int count = 0;
            for (int k = 0; k < GROUP_MEMBERS; k++)
                count += said[i][vote].server == said[k][vote].server &&
                         said[i][vote].epoch == said[k][vote].epoch;
            if (said[i][vote].server >= 0 && count > electors / 2)
                out[vote] = said[i][vote];
        }
    }
}

struct group_term group_term(const struct group *g, int vote)
{
    struct group_term terms[GROUP_VOTES_MAX];
    group_terms(g, terms);
    return terms[vote];
}

bool group_failover(const struct group *g, int elector, int master, enum failover how)
{
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        int member = (elector + i) % GROUP_MEMBERS;
        if (is_elector(g, member) && group_can_answer(g, member) &&
            g->kind->fail_over(g, member, master, how))
            return true;
    }
    return false;
}

static void enter(const struct group *g, int place)
{
    if (g->network->ready)
        network_enter(g->network, place);
}

static void leave(const struct group *g)
{
    if (g->network->ready)
        network_leave(g->network);
}

void group_launch(struct group *g, int member)
{
    enter(g, member);
    server_launch(&g->member[member]);
    leave(g);
    server_ready(&g->member[member]);
}

void group_kill(struct group *g, int member)
{
    server_kill(&g->member[member]);
    g->stopped[member] = false;
}

void group_freeze(struct group *g, int member)
{
    server_freeze(&g->member[member]);
    g->stopped[member] = true;
}

void group_thaw(struct group *g, int member)
{
    server_thaw(&g->member[member]);
    g->stopped[member] = false;
}

void group_enter_side(const struct group *g, int side)
{
    enter(g, GROUP_MEMBERS + side);
}

void group_leave_side(const struct group *g)
{
    leave(g);
}

static void write_url(struct group *g)
{
    size_t used = 0;
    for (int i = 0; i < GROUP_MEMBERS; i++)
        if (is_elector(g, i))
            used += (size_t)snprintf(g->url + used, sizeof g->url - used, "%s%s%s:%d",
                                     used == 0 ? g->kind->scheme : "", used == 0 ? "://" : "+",
                                     group_host(g, i), g->member[i].port.number);
    if (g->form.votes > 0)
        snprintf(g->url + used, sizeof g->url - used, "/%d", g->form.votes);
    else
        snprintf(g->url + used, sizeof g->url - used, "%s", g->kind->tail);
}

static void configure(struct group *g, int i)
{
    struct server *s = &g->member[i];
    FILE *out;
    snprintf(g->config[i], sizeof g->config[i], "%s/member%d.conf", check_dir(), i);
    out = fopen(g->config[i], "we");
    CHECK(out != NULL);
    g->kind->describe(g, i, out);
    CHECK_INT(0, fclose(out));
    s->config = g->config[i];
}

void group_start(struct group *g, struct network *network, struct group_form form)
{
    static const char *extra[GROUP_MEMBERS][8];
    *g = (struct group){.kind = form.votes > 0 ? &group_of_nodes : &group_of_sentinels,
                        .form = form,
                        .votes = form.votes > 0 ? form.votes : 1,
                        .network = network};
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        size_t count = 0;
        if (network->ready) {
            extra[i][count++] = "--bind";
            extra[i][count++] = network->address[i];
            extra[i][count++] = "--protected-mode";
            extra[i][count++] = "no";
        }
        if (i >= g->kind->servers)
            extra[i][count++] = "--sentinel";
        extra[i][count] = NULL;
        server_init(&g->member[i], extra[i], NULL);
        if (form.votes > 0)
            g->bus[i] = port_reserve();
    }
    for (int i = 1; i <= 2 && form.skew_ms != 0; i++) {
        nodeclock_attach(&g->member[i]);
        *g->member[i].clock_ms = i == 1 ? form.skew_ms : -form.skew_ms;
    }
    write_url(g);
    for (int i = 0; i < GROUP_MEMBERS; i++) {
        configure(g, i);
        group_launch(g, i);
    }
    if (!wait_until(g->kind->is_ready, g))
        FAIL("the servers have not found each other");
}

void group_stop(struct group *g)
{
    for (int i = 0; i < GROUP_MEMBERS; i++)
        server_kill(&g->member[i]);
}

bool group_has_set(const struct group *g, int vote, int server)
{
    static const char *const keys[] = {"redlock.{um}redlock.admit", "redlock.{sm}redlock.admit",
                                       "redlock.{pm}redlock.admit"};
    const char *key = g->form.votes == 0   ? "redlock.admit"
                      : g->form.votes == 1 ? keys[1]
                                           : keys[vote];
    return !group_can_answer(g, server) ||
           strcmp("(nil)", server_cmd(&g->member[server], "HGET", key, "set", NULL)) != 0;
}

int group_admit(const struct group *g, int64_t max_ttl_ms)
{
    const char *urls[] = {g->url};
    redlock_options o =
        REDLOCK_OPTIONS(.nodes = urls, .node_count = 1, .node_timeout_ms = ADMIT_TIMEOUT_MS,
                        .max_ttl_ms = (uint32_t)max_ttl_ms);
    redlock *client = NULL;
    int error;
    CHECK_OK(redlock_open(&o, &client));
    error = redlock_admit(client, NULL);
    redlock_close(client);
    return error;
}
