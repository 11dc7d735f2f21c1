/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include "record.h"
#include "register.h"

#include "check.h"
#include "clock.h"
#include "helper.h"
#include "nodeclock.h"
#include "unix_socket.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LAST_CALL_MS = 1000, /* before the end of the faults */
    QUIET_MS = 100000,   /* by then every worker has ended, or hangs */
    TURN_MS = 5,
    TERM_EVERY_MS = 20,
    SET_EVERY_MS = 200,
    LATE_MS = 30, /* oversleeping by so much excuses others too */
};

static char max_ttl[16];

bool rig_is_networked(const struct rig *r, int node)
{
    return r->network.ready && node < NETWORKED;
}

void rig_launch(struct rig *r, int node)
{
    if (rig_is_networked(r, node))
        network_enter(&r->network, node);
    server_launch(&r->cluster.node[node]);
    if (rig_is_networked(r, node))
        network_leave(&r->network);
}

static void start_node(struct rig *r, int i)
{
    struct server *s = &r->cluster.node[i];
    static const char *extra[NODES][8];
    if (rig_is_networked(r, i)) {
        const char *words[] = {"--bind", r->network.address[i], "--protected-mode", "no", NULL};
        memcpy(extra[i], words, sizeof words);
    }
    server_init(s, extra[i], NULL);
    s->max_ttl_ms = max_ttl;
    nodeclock_attach(s);
    rig_launch(r, i);
    server_ready(s);
    server_admit(s);
    if (rig_is_networked(r, i)) {
        network_url(&r->network, i, s->port.number, r->cluster.url[i],
                    sizeof r->cluster.url[i]);
        r->cluster.urls[i] = r->cluster.url[i];
    } else {
        proxy_start(&r->proxy[i], s->port.number);
        r->cluster.urls[i] = r->proxy[i].url;
    }
}

static void start_registers(struct rig *r)
{
    static struct register_place place;
    snprintf(r->register_path, sizeof r->register_path, "%s/registers", check_dir());
    place = (struct register_place){unix_listen(r->register_path, REGISTER_SOCKET), r->history};
    CHECK(place.listener >= 0);
    r->registers = helper_start(register_serve, &place);
    close(place.listener);
}

static void start_nodes(struct rig *r)
{
    r->cluster.count = NODES;
    for (int i = 0; i < NODES; i++)
        start_node(r, i);
}

/* One node of the workers, whatever it is made of. */
static void start_group(struct rig *r)
{
    const struct schedule *s = r->schedule;
    group_start(&r->group, &r->network,
                (struct group_form){.votes = s->votes,
                                    .persistent = s->persistent,
                                    .full_coverage = s->full_coverage,
                                    .node_timeout_ms = s->node_timeout_ms,
                                    .skew_ms = s->skew_ms});
    for (int vote = 0; vote < GROUP_VOTES_MAX; vote++)
        r->term[vote].server = -1;
    CHECK_OK(group_admit(&r->group, s->max_ttl_ms));
    r->cluster.count = 1;
    r->cluster.urls[0] = r->group.url;
}

/* The next one tries again where this one fails. */
static void init_again(void *data)
{
    const struct rig *r = data;
    (void)group_admit(&r->group, r->schedule->max_ttl_ms);
}

static bool misses_set(const struct rig *r)
{
    for (int vote = 0; vote < r->group.votes; vote++)
        if (r->term[vote].server >= 0 && !group_has_set(&r->group, vote, r->term[vote].server))
            return true;
    return false;
}

/*
 * A server that was empty when it was promoted has lost the set, too, and never votes again
 * until an operator says that nothing is held there: when all that was has ended, on every
 * vote.
 */
static void look_at_set(struct rig *r)
{
    int64_t at_ns = now_ns(), wait_ms = r->schedule->max_ttl_ms + VOUCH_MS + MARGIN_MS;
    bool missed;
    if (r->initialiser != 0 && waitpid(r->initialiser, NULL, WNOHANG) > 0)
        r->initialiser = 0;
    if (at_ns - r->set_asked_ns < SET_EVERY_MS * RL_NS_PER_MS)
        return;
    r->set_asked_ns = at_ns;
    missed = misses_set(r);
    if (missed && !r->set_missed)
        r->vote_changed_ns = at_ns;
    r->set_missed = missed;
    if (missed && r->initialiser == 0 && at_ns - r->vote_changed_ns > wait_ms * RL_NS_PER_MS) {
        record_append(r->history, (struct record){.what = RECORD_INIT,
                                                  .worker = (uint16_t)r->term[0].server,
                                                  .value = r->term[0].epoch});
        r->initialiser = helper_start(init_again, r);
    }
}

/* When a majority of the electors has turned, by our own eyes. */
static void look_at_terms(struct rig *r)
{
    struct group_term term[GROUP_VOTES_MAX];
    if (now_ns() - r->term_asked_ns < TERM_EVERY_MS * RL_NS_PER_MS)
        return;
    group_terms(&r->group, term);
    r->term_asked_ns = now_ns();
    for (int vote = 0; vote < GROUP_VOTES_MAX; vote++) {
        struct group_term *last = &r->term[vote];
        if (term[vote].server < 0 ||
            (term[vote].server == last->server && term[vote].epoch == last->epoch))
            continue;
        *last = term[vote];
        if (vote >= r->group.votes)
            continue;
        r->vote_changed_ns = now_ns();
        record_append(r->history, (struct record){.what = RECORD_TERM,
                                                  .slot = (uint8_t)vote,
                                                  .kind = r->schedule->votes > 0,
                                                  .worker = (uint16_t)last->server,
                                                  .value = last->epoch});
    }
}

void rig_start(struct rig *r, const char *history_path)
{
    snprintf(max_ttl, sizeof max_ttl, "%lld", (long long)r->schedule->max_ttl_ms);
    r->board = helper_memory(sizeof *r->board);
    r->history = open(history_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (r->history < 0)
        FAIL("cannot write %s", history_path);
    (r->schedule->elected ? start_group : start_nodes)(r);
    start_registers(r);
    if (r->schedule->service)
        replicas_start(&r->replicas, &r->cluster, r->schedule->regime == REGIME_STRICT,
                       r->schedule->seed);
    r->board->last_round = 1;
    if (r->schedule->mixed)
        standing_start(&r->standing, &r->cluster, r->replicas.balancer.replica[0]);
    r->start_ns = now_ns();
    record_append(r->history, (struct record){.what = RECORD_PHASE, .at_ns = r->start_ns});
    for (int i = 0; i < WORKERS; i++)
        rig_start_worker(r, i);
}

void rig_start_worker(struct rig *r, int index)
{
    static struct worker_job job[WORKERS];
    job[index] = (struct worker_job){r, index};
    r->worker[index].life++;
    if (r->schedule->elected)
        group_enter_side(&r->group, index * GROUP_SIDES / WORKERS);
    r->worker[index].pid = helper_start(worker_run, &job[index]);
    if (r->schedule->elected)
        group_leave_side(&r->group);
}

static void note_death(struct rig *r, int index, int status)
{
    record_append(r->history, (struct record){.what = RECORD_DIED,
                                              .worker = (uint16_t)index,
                                              .life = (uint16_t)r->worker[index].life,
                                              .error = status});
    r->worker[index].pid = 0;
}

void rig_reap_worker(struct rig *r, int index)
{
    int status = 0;
    waitpid(r->worker[index].pid, &status, 0);
    note_death(r, index, status);
}

/* Workers that ended by themselves. How many are left that are not through with the round? */
static int look_after_workers(struct rig *r)
{
    int left = 0;
    for (int i = 0; i < WORKERS; i++) {
        int status = 0;
        if (r->worker[i].pid != 0 && waitpid(r->worker[i].pid, &status, WNOHANG) > 0)
            note_death(r, i, status);
        left += r->worker[i].pid != 0 &&
                (r->board->last_round || r->board->done[i] <= r->board->round);
    }
    return left;
}

static void enter_phase(struct rig *r, int phase)
{
    record_append(r->history, (struct record){.what = RECORD_PHASE, .value = phase});
    r->board->phase = phase;
}

static int64_t elapsed_ms(const struct rig *r)
{
    return (now_ns() - r->start_ns) / RL_NS_PER_MS;
}

static void turn(struct rig *r)
{
    int64_t before_ns = now_ns();
    int64_t late_ms;
    sleep_ms(TURN_MS);
    late_ms = (now_ns() - before_ns) / RL_NS_PER_MS - TURN_MS;
    if (late_ms >= LATE_MS)
        record_append(r->history,
                      (struct record){.what = RECORD_LATE, .value = late_ms * RL_NS_PER_MS});
    r->late_ms = late_ms > r->late_ms ? late_ms : r->late_ms;
    look_after_workers(r);
    if (r->schedule->elected) {
        look_at_terms(r);
        look_at_set(r);
    }
    if (r->schedule->service)
        replicas_look(&r->replicas);
    if (r->schedule->mixed)
        standing_look(&r->standing);
}

/* Begins and ends what is due. Ends first: a target may be due again. */
static void play(struct rig *r, bool *begun, bool *ended)
{
    const struct schedule *s = r->schedule;
    int64_t now = elapsed_ms(r);
    for (size_t i = 0; i < s->count; i++)
        if (begun[i] && !ended[i] && s->fault[i].end_ms <= now) {
            fault_end(r, &s->fault[i], i);
            ended[i] = true;
        }
    for (size_t i = 0; i < s->count && s->fault[i].start_ms <= now; i++)
        if (!begun[i]) {
            fault_begin(r, &s->fault[i], i);
            begun[i] = true;
        } else if (!ended[i]) {
            fault_go_on(r, &s->fault[i]);
        }
}

/* Those that go on have ended well as far as this round is concerned. */
static void note_rests(struct rig *r)
{
    for (int i = 0; i < WORKERS; i++)
        if (r->worker[i].pid != 0 && r->board->done[i] > r->board->round)
            record_append(r->history, (struct record){.what = RECORD_DIED,
                                                      .worker = (uint16_t)i,
                                                      .life = (uint16_t)r->worker[i].life});
}

void rig_run(struct rig *r)
{
    static bool begun[FAULTS_MAX], ended[FAULTS_MAX];
    const struct schedule *s = r->schedule;
    bool called = false;
    int64_t end_ms;
    memset(begun, 0, sizeof begun);
    memset(ended, 0, sizeof ended);
    while (elapsed_ms(r) < s->faults_ms) {
        play(r, begun, ended);
        if (!called && elapsed_ms(r) >= s->faults_ms - LAST_CALL_MS) {
            enter_phase(r, PHASE_LAST_CALL);
            called = true;
        }
        turn(r);
    }
    play(r, begun, ended);
    if (r->schedule->service)
        r->replicas.balancer.switches->lossy = 0;
    enter_phase(r, PHASE_QUIET);
    end_ms = elapsed_ms(r) + QUIET_MS;
    while (look_after_workers(r) > 0 && elapsed_ms(r) < end_ms)
        turn(r);
    note_rests(r);
    enter_phase(r, PHASE_OVER);
}

void rig_next_round(struct rig *r)
{
    if (ftruncate(r->history, 0) != 0)
        FAIL("cannot empty the history");
    helper_stop(&r->registers);
    unlink(r->register_path);
    start_registers(r);
    r->board->holds = 0;
    r->replicas.balancer.switches->lossy = 1;
    r->start_ns = now_ns();
    record_append(r->history, (struct record){.what = RECORD_PHASE, .at_ns = r->start_ns});
    for (int i = 0; i < WORKERS; i++)
        record_append(r->history, (struct record){.what = RECORD_BORN,
                                                  .worker = (uint16_t)i,
                                                  .life = (uint16_t)r->worker[i].life});
    r->board->phase = PHASE_FAULTS;
    r->board->round++;
    for (int i = 0; i < WORKERS; i++)
        if (r->worker[i].pid == 0)
            rig_start_worker(r, i);
}

void rig_stop(struct rig *r)
{
    standing_stop(&r->standing);
    for (int i = 0; i < WORKERS; i++)
        helper_stop(&r->worker[i].pid);
    helper_stop(&r->registers);
    helper_stop(&r->initialiser);
    replicas_stop(&r->replicas);
    group_stop(&r->group);
    for (int i = 0; i < NODES; i++) {
        proxy_stop(&r->proxy[i]);
        server_kill(&r->cluster.node[i]);
    }
    close(r->history);
}
