/* SPDX-License-Identifier: BSD-2-Clause */
/* How each fault is done and undone. */
#include "record.h"
#include "rig.h"

#include "check.h"
#include "clock.h"
#include "helper.h"
#include "nodeclock.h"

#include <signal.h>

static void freeze(struct rig *r, int node)
{
    server_freeze(&r->cluster.node[node]);
    r->frozen[node] = true;
}

static void thaw(struct rig *r, int node)
{
    server_thaw(&r->cluster.node[node]);
    r->frozen[node] = false;
}

static void cut(struct rig *r, int node)
{
    if (rig_is_networked(r, node))
        server_cmd(&r->cluster.node[node], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes",
                   NULL);
    else
        proxy_cut(&r->proxy[node]);
}

static void begin_node(struct rig *r, const struct fault *f)
{
    struct server *s = &r->cluster.node[f->target];
    struct proxy_switches *link = r->proxy[f->target].switches;
    switch (f->kind) {
    case FAULT_KILL_NODE:
    case FAULT_OUTAGE_KILL:
        server_kill(s);
        break;
    case FAULT_FREEZE_NODE:
    case FAULT_OUTAGE_FREEZE:
        freeze(r, f->target);
        break;
    case FAULT_FLUSH:
        server_cmd(s, "FLUSHALL", NULL);
        break;
    case FAULT_CUT:
    case FAULT_UNREACHABLE:
        cut(r, f->target);
        break;
    case FAULT_SLOW:
        link->up_delay_ms = f->param;
        link->down_delay_ms = f->param;
        break;
    case FAULT_DEAF:
        link->swallow = 1;
        break;
    case FAULT_CLOCK:
        nodeclock_step(s, f->param);
        break;
    case FAULT_NET_LOSS:
        network_loss(&r->network, f->target, f->param);
        break;
    case FAULT_NET_DOWN:
        network_down(&r->network, f->target);
        break;
    }
}

static void end_node(struct rig *r, const struct fault *f)
{
    struct proxy_switches *link = r->proxy[f->target].switches;
    switch (f->kind) {
    case FAULT_KILL_NODE:
    case FAULT_OUTAGE_KILL:
        rig_launch(r, f->target);
        server_ready(&r->cluster.node[f->target]);
        break;
    case FAULT_FREEZE_NODE:
    case FAULT_OUTAGE_FREEZE:
        thaw(r, f->target);
        break;
    case FAULT_CUT:
        cut(r, f->target);
        break;
    case FAULT_SLOW:
        link->up_delay_ms = 0;
        link->down_delay_ms = 0;
        break;
    case FAULT_DEAF:
        /* What was swallowed never comes: the connection is of no more use. */
        link->swallow = 0;
        cut(r, f->target);
        break;
    case FAULT_CLOCK:
        nodeclock_step(&r->cluster.node[f->target], -f->param);
        break;
    case FAULT_NET_LOSS:
    case FAULT_NET_DOWN:
        network_heal(&r->network, f->target);
        break;
    }
}

static void begin_client(struct rig *r, const struct fault *f)
{
    struct worker *w = &r->worker[f->target];
    if (w->pid == 0)
        return;
    if (f->kind == FAULT_STOP_CLIENT)
        kill(w->pid, SIGSTOP);
    else if (f->kind == FAULT_STOP_WRITER)
        r->board->stop_writer[f->target] = 1;
    else {
        kill(w->pid, SIGKILL);
        rig_reap_worker(r, f->target);
    }
}

static void end_client(struct rig *r, const struct fault *f)
{
    struct worker *w = &r->worker[f->target];
    r->board->stop_writer[f->target] = 0;
    if (f->kind == FAULT_KILL_CLIENT)
        rig_start_worker(r, f->target);
    else if (w->pid != 0)
        kill(w->pid, SIGCONT);
}

static void begin_replica(struct rig *r, const struct fault *f)
{
    struct replicas *s = &r->replicas;
    if (s->pid[f->target] == 0)
        return;
    if (f->kind == FAULT_DRAIN_REPLICA)
        replica_drain(s, f->target);
    else if (f->kind == FAULT_STOP_REPLICA)
        kill(s->pid[f->target], SIGSTOP);
    else if (f->param == 1)
        s->balancer.switches->kill_at_grant[f->target] = 1;
    else
        replica_kill(s, f->target);
}

static void end_replica(struct rig *r, const struct fault *f)
{
    struct replicas *s = &r->replicas;
    if (f->kind == FAULT_STOP_REPLICA) {
        kill(s->pid[f->target], SIGCONT);
        return;
    }
    /* One that granted nothing in the meantime is killed now. */
    if (s->pid[f->target] != 0 && f->kind == FAULT_DRAIN_REPLICA)
        replica_await_end(s, f->target);
    else if (s->pid[f->target] != 0)
        replica_kill(s, f->target);
    replica_launch(s, f->target);
}

static void note_at(struct rig *r, const struct fault *f, size_t number, int what, int target,
                    int64_t at_ns)
{
    record_append(r->history, (struct record){.what = (uint8_t)what,
                                              .at_ns = at_ns,
                                              .hold = (uint32_t)number,
                                              .kind = (uint8_t)f->kind,
                                              .worker = (uint16_t)target,
                                              .value = f->param});
}

static void note(struct rig *r, const struct fault *f, size_t number, int what)
{
    note_at(r, f, number, what, f->target, 0);
}

/* Its target is known once it has begun. */
static void begin_of_group(struct rig *r, const struct fault *f, size_t number)
{
    int64_t at_ns = now_ns();
    int member = overthrow_begin(r, f, number);
    if (member >= 0)
        note_at(r, f, number, RECORD_FAULT, member, at_ns);
}

static void end_of_group(struct rig *r, const struct fault *f, size_t number)
{
    int member = overthrow_end(r, f, number);
    if (member >= 0)
        note_at(r, f, number, RECORD_HEALED, member, 0);
}

void fault_go_on(struct rig *r, const struct fault *f)
{
    if (f->kind == FAULT_UNREACHABLE)
        r->proxy[f->target].switches->cut++;
}

/* The record brackets the fault: before it begins, after it has ended. */
void fault_begin(struct rig *r, const struct fault *f, size_t number)
{
    if (fault_hits_group(f->kind)) {
        begin_of_group(r, f, number);
        return;
    }
    note(r, f, number, RECORD_FAULT);
    if (fault_hits_client(f->kind))
        begin_client(r, f);
    else if (fault_hits_replica(f->kind))
        begin_replica(r, f);
    else
        begin_node(r, f);
}

void fault_end(struct rig *r, const struct fault *f, size_t number)
{
    if (fault_hits_group(f->kind)) {
        end_of_group(r, f, number);
        return;
    }
    if (fault_hits_client(f->kind))
        end_client(r, f);
    else if (fault_hits_replica(f->kind))
        end_replica(r, f);
    else
        end_node(r, f);
    note(r, f, number, RECORD_HEALED);
}
