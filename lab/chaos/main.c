/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault rig: see docs/chaos.md. Its runs are cases of the test runner, which sweeps up
 * every process and file of theirs. Settings come from the environment:
 *
 *     CHAOS_SECONDS  how long, all in all (120)
 *     CHAOS_SEED     which faults (0: drawn)
 *     CHAOS_REGIME   default or strict (drawn from the seed)
 *     CHAOS_NETWORK  0: proxies even where namespaces are possible
 *     CHAOS_TRAP     any, isolated, split, one-way, stopped, lost, command, late-turn,
 *                    late-heir, leader, laggards; of a cluster also takeover, two, migration
 *                    (any)
 *     CHAOS_MAX_TTL  of the locks on a Sentinel group or a cluster, in ms (3000)
 *     CHAOS_VOTES    of a cluster, 1 or 3 (3)
 *     CHAOS_COVERAGE 1: cluster-require-full-coverage (0)
 *     CHAOS_TIMEOUT  cluster-node-timeout in ms (1000; 16000 where nothing but a takeover
 *                    happens)
 *     CHAOS_GO       of the service: bindings/go/chaosholder, which the last worker runs for
 *                    its locks
 *     CHAOS_DIR      where history, report and picture go (thrown away)
 *     SOAK_ROUND_SECONDS  of a soak, after which its history is checked (300)
 *     SOAK_LEAK      descriptor or memory: planted, for soak.py to find
 */
#include "report.h"
#include "rig.h"
#include "run.h"
#include "soak.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    QUIET_SECONDS = 4,      /* of the run, left for the end */
    PATIENCE_SECONDS = 190, /* for a run that outlasts its time */
    UNCLAIMED_SLACK_MS = 1500,
};

static uint64_t draw_seed(void)
{
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        FAIL("getrandom failed");
    return seed;
}

static enum regime choose_regime(uint64_t seed)
{
    const char *word = getenv("CHAOS_REGIME");
    if (word == NULL || word[0] == '\0')
        return seed % 2 == 0 ? REGIME_DEFAULT : REGIME_STRICT;
    if (strcmp(word, "strict") == 0)
        return REGIME_STRICT;
    if (strcmp(word, "default") != 0)
        FAIL("CHAOS_REGIME is default or strict, not \"%s\"", word);
    return REGIME_DEFAULT;
}

static const char *describe_network(const struct network *n)
{
    static char text[200];
    if (n->ready)
        snprintf(text, sizeof text, "%d %s%s%s", n->count,
                 n->count == NETWORKED
                     ? "nodes in network namespaces, the others behind proxies"
                     : "network namespaces, cut off from each other",
                 n->why[0] != '\0' ? "; " : "", n->why);
    else
        snprintf(text, sizeof text, "proxies on loopback (no network namespaces: %s)", n->why);
    return text;
}

static const char *chosen_dir(void)
{
    const char *dir = getenv("CHAOS_DIR");
    return dir == NULL || dir[0] == '\0' ? check_dir() : dir;
}

static void open_network(struct network *network, int count)
{
    if (check_setting("CHAOS_NETWORK", 1) != 0)
        network_open(network, count);
    else
        snprintf(network->why, sizeof network->why, "not wanted");
}

const struct verdict *chaos_run(struct schedule terms, int64_t seconds)
{
    static struct rig rig;
    static struct schedule schedule;
    static struct verdict verdict;
    const char *dir = chosen_dir();
    char path[512];
    struct history history;
    static struct turns turns;
    struct report_about about;
    alarm((unsigned int)(seconds + PATIENCE_SECONDS));
    open_network(&rig.network, terms.elected ? GROUP_PLACES : NETWORKED);
    schedule = terms;
    schedule.network = rig.network.ready;
    if (!trap_fits(schedule.trap, schedule.votes))
        FAIL("there is no trap \"%s\" for this", trap_text(schedule.trap));
    if (trap_needs_network(schedule.trap) && !schedule.network)
        check_skip("no network namespaces: %s", rig.network.why);
    schedule.netem = rig.network.netem;
    schedule.faults_ms = (seconds - QUIET_SECONDS) * 1000;
    CHECK(schedule.faults_ms > 0);
    schedule_draw(&schedule);
    rig.schedule = &schedule;
    about = (struct report_about){
        .schedule = &schedule, .seconds = seconds, .network = describe_network(&rig.network)};
    printf("seed %llu: %lld s, regime %s, %zu faults; %s%s%s\n",
           (unsigned long long)schedule.seed, (long long)seconds, regime_text(schedule.regime),
           schedule.count, about.network, schedule.persistent ? "; persistent servers" : "",
           schedule.skew_ms != 0 ? "; clocks differ" : "");
    fflush(stdout);
    snprintf(path, sizeof path, "%s/history.bin", dir);
    rig_start(&rig, path);
    rig_run(&rig);
    rig_stop(&rig);
    history = history_read(path);
    CHECK(history.count > 0);
    about.late_ms = rig.late_ms;
    about.balancer = rig.replicas.balancer.switches;
    if (!schedule.elected) {
        check_history(&history, &verdict);
    } else {
        check_group(&history, schedule.max_ttl_ms, &verdict);
        turns_read(&history, &turns);
        about.turns = &turns;
    }
    report_print(stdout, &verdict, &about);
    if (!report_write(dir, &history, &verdict, &about))
        FAIL("cannot write the report to %s", dir);
    if (dir != check_dir())
        printf("report: %s/report.txt and timeline.svg\n", dir);
    history_free(&history);
    return &verdict;
}

static const struct verdict *run(enum regime regime, bool service, uint64_t seed,
                                 int64_t seconds)
{
    return chaos_run(
        (struct schedule){
            .seed = seed, .regime = regime, .service = service, .max_ttl_ms = MAX_TTL_MS},
        seconds);
}

uint64_t chaos_seed(void)
{
    long seed = check_setting("CHAOS_SEED", 0);
    return seed != 0 ? (uint64_t)seed : draw_seed();
}

CASE(chaos, "Every promise is kept while any minority of the nodes fails.")
{
    uint64_t seed = chaos_seed();
    const struct verdict *verdict =
        run(choose_regime(seed), false, seed, check_setting("CHAOS_SECONDS", 120));
    CHECK_INT(0, verdict->breach_count);
}

CASE(broken_guard,
     "With the guard off, restarted nodes give two holders, and the checker reports them.")
{
    const struct verdict *verdict =
        run(REGIME_BROKEN_GUARD, false, chaos_seed(), check_setting("CHAOS_SECONDS", 30));
    CHECK(verdict->breaches[BREACH_DOUBLE] > 0);
}

CASE(broken_nodes,
     "Clients with different lists of nodes give two holders, and the checker reports them.")
{
    const struct verdict *verdict =
        run(REGIME_BROKEN_NODES, false, chaos_seed(), check_setting("CHAOS_SECONDS", 10));
    CHECK(verdict->breaches[BREACH_DOUBLE] > 0);
}

/*
 * A late copy takes the lock for no program, for wait_ms + ttl_ms at most; a request that must
 * be repeated is one of those as well.
 */
static int64_t unclaimed_bound_ms(const struct verdict *v)
{
    return MAX_WAIT_MS + MAX_TTL_MS + UNCLAIMED_SLACK_MS +
           (int64_t)v->faults[FAULT_MACHINE] * ALLOWANCE_MS;
}

CASE(service, "HTTP clients of three replicas keep every promise behind a lossy balancer.")
{
    uint64_t seed = chaos_seed();
    const struct verdict *verdict =
        run(choose_regime(seed), true, seed, check_setting("CHAOS_SECONDS", 120));
    CHECK_INT(0, verdict->breach_count);
    CHECK_BETWEEN(0, unclaimed_bound_ms(verdict), verdict->unclaimed_max_ms);
}

/* CHAOS_TRAP: nothing but one of them, by its name. */
static enum trap chosen_trap(void)
{
    const char *word = getenv("CHAOS_TRAP");
    for (int trap = TRAP_ANY; trap < TRAP_COUNT; trap++)
        if (word == NULL || word[0] == '\0' || strcmp(word, trap_text(trap)) == 0)
            return (enum trap)trap;
    FAIL("there is no trap \"%s\"", word);
}

CASE(sentinel, "Every promise is kept on one Sentinel group, whatever its failovers do.")
{
    uint64_t seed = chaos_seed();
    const struct verdict *verdict =
        chaos_run((struct schedule){.seed = seed,
                                    .regime = REGIME_STRICT, /* by itself */
                                    .persistent = seed % 2,
                                    .skew_ms = seed / 2 % 2 ? GROUP_SKEW_MS : 0,
                                    .elected = true,
                                    .trap = chosen_trap(),
                                    .max_ttl_ms = check_setting("CHAOS_MAX_TTL", GROUP_TTL_MS)},
                  check_setting("CHAOS_SECONDS", 120));
    CHECK_INT(0, verdict->breach_count);
}

CASE(cluster, "Every promise is kept on one cluster, whatever its failovers do.")
{
    uint64_t seed = chaos_seed();
    enum trap trap = chosen_trap();
    bool slow = trap == TRAP_TAKEOVER || trap == TRAP_TWO || trap == TRAP_SPLIT;
    const struct verdict *verdict = chaos_run(
        (struct schedule){.seed = seed,
                          .regime = REGIME_STRICT, /* by itself */
                          .persistent = seed % 2,
                          .skew_ms = seed / 2 % 2 ? GROUP_SKEW_MS : 0,
                          .elected = true,
                          .votes = (int)check_setting("CHAOS_VOTES", 3),
                          .full_coverage = check_setting("CHAOS_COVERAGE", 0) != 0,
                          .node_timeout_ms = (int)check_setting(
                              "CHAOS_TIMEOUT", slow ? LONG_TIMEOUT_MS : CLUSTER_TIMEOUT_MS),
                          .trap = trap,
                          .max_ttl_ms = check_setting("CHAOS_MAX_TTL", GROUP_TTL_MS)},
        check_setting("CHAOS_SECONDS", 120));
    CHECK_INT(0, verdict->breach_count);
}

CASE(broken_deadline,
     "HTTP clients that count from the answer become two holders, and it is reported.")
{
    const struct verdict *verdict =
        run(REGIME_BROKEN_DEADLINE, true, chaos_seed(), check_setting("CHAOS_SECONDS", 30));
    CHECK(verdict->breaches[BREACH_DOUBLE] > 0);
}

static enum leak chosen_leak(void)
{
    const char *word = getenv("SOAK_LEAK");
    if (word == NULL || word[0] == '\0')
        return LEAK_NONE;
    if (strcmp(word, "descriptor") == 0)
        return LEAK_DESCRIPTOR;
    if (strcmp(word, "memory") != 0)
        FAIL("SOAK_LEAK is descriptor or memory, not \"%s\"", word);
    return LEAK_MEMORY;
}

/* A line for each figure, of all rounds together, on the terminal and in the report. */
static void report_soak(const struct soak *s, const struct report_about *about)
{
    char path[512];
    FILE *files[2] = {stdout};
    snprintf(path, sizeof path, "%s/report.txt", chosen_dir());
    files[1] = fopen(path, "we");
    if (files[1] == NULL)
        FAIL("cannot write %s", path);
    for (int i = 0; i < 2; i++) {
        report_print(files[i], &s->sum, about);
        fprintf(files[i], "  %-26s%d; %zu late ends of commands forgiven, %zu cores\n",
                "rounds", s->rounds, s->sum.late_kills, s->cores);
    }
    CHECK_INT(0, fclose(files[1]));
}

CASE(soak, "Library, HTTP and command clients keep every promise for long, and nothing grows.")
{
    static struct soak soak;
    static struct rig rig;
    static struct schedule schedule;
    struct report_about about;
    uint64_t seed = chaos_seed();
    soak.seconds = check_setting("CHAOS_SECONDS", 3600);
    alarm((unsigned int)(soak.seconds + soak.seconds / 10 + PATIENCE_SECONDS));
    open_network(&rig.network, NETWORKED);
    schedule = (struct schedule){.seed = seed,
                                 .max_ttl_ms = MAX_TTL_MS,
                                 .regime = choose_regime(seed),
                                 .network = rig.network.ready,
                                 .netem = rig.network.netem,
                                 .service = true,
                                 .mixed = true,
                                 .leak = chosen_leak()};
    rig.schedule = &schedule;
    about = (struct report_about){.schedule = &schedule,
                                  .seconds = soak.seconds,
                                  .network = describe_network(&rig.network)};
    printf("seed %llu: %lld s, regime %s; %s\n", (unsigned long long)seed,
           (long long)soak.seconds, regime_text(schedule.regime), about.network);
    fflush(stdout);
    soak_run(&rig, chosen_dir(), &soak);
    about.late_ms = rig.late_ms;
    about.balancer = rig.replicas.balancer.switches;
    report_soak(&soak, &about);
    CHECK(soak_is_good(&soak));
}
