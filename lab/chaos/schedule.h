/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which faults a seed stands for, and when: drawn before the run, from nothing but the seed
 * and the settings. At most a minority of the nodes is broken at any time, outages aside, and
 * a node that lost its memory counts as broken until its quarantine must have ended.
 */
#ifndef REDLOCK_CHAOS_SCHEDULE_H
#define REDLOCK_CHAOS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line per fault: name, printable word, colour in the picture. */
#define FAULTS(X)                                                                              \
    X(KILL_NODE, "node killed", "#c0392b")    /* kill -9, started again at the end */          \
    X(FREEZE_NODE, "node stopped", "#8e44ad") /* SIGSTOP, SIGCONT */                           \
    X(FLUSH, "node flushed", "#000000")       /* FLUSHALL; strict only */                      \
    X(CUT, "connections cut", "#e67e22")      /* again and again; nothing else is wrong */     \
    X(UNREACHABLE, "unreachable", "#7f5539")  /* cut as fast as connections are made */        \
    X(SLOW, "link slow", "#f1c40f")           /* `param` ms later in each direction */         \
    X(DEAF, "replies swallowed", "#d35400")   /* requests arrive, answers do not */            \
    X(CLOCK, "clock set", "#16a085")          /* by `param` ms, and back at the end */         \
    X(NET_LOSS, "packets lost", "#2980b9")    /* `param` percent, delayed and reordered */     \
    X(NET_DOWN, "link down", "#34495e")                                                        \
    X(STOP_CLIENT, "worker stopped", "#8e44ad")         /* SIGSTOP at any moment, SIGCONT */   \
    X(STOP_WRITER, "stopped before a write", "#e84393") /* between looking and writing */      \
    X(KILL_CLIENT, "worker killed", "#c0392b")          /* kill -9; replaced at the end */     \
    X(KILL_REPLICA, "replica killed", "#c0392b")   /* kill -9; `param` 1: at its next grant */ \
    X(DRAIN_REPLICA, "replica drained", "#16a085") /* SIGTERM, and started again */            \
    X(STOP_REPLICA, "replica stopped", "#8e44ad")  /* SIGSTOP, SIGCONT */                      \
    X(FAILOVER, "failover by command", "#2980b9")  /* elector `target`; `param`: how */        \
    X(KILL_MASTER, "master killed", "#c0392b")     /* kill -9, started again at the end */     \
    X(STOP_MASTER, "master stopped", "#8e44ad")    /* SIGSTOP, SIGCONT */                      \
    X(CUT_MASTER, "master cut off", "#34495e")     /* `param`: enum cut */                     \
    X(CUT_SIDE, "clients cut off", "#7f5539")      /* of side `target`; `param`: enum cut */   \
    X(MIGRATE, "slot migrated", "#16a085")         /* of the vote, to another master */        \
    X(KILL_STANDBY, "standby killed", "#c0392b")   /* not the master; started again */         \
    X(STOP_STANDBY, "standby stopped", "#8e44ad")                                              \
    X(KILL_SENTINEL, "sentinel killed", "#c0392b") /* it has its file when it comes back */    \
    X(STOP_SENTINEL, "sentinel stopped", "#8e44ad")                                            \
    X(MACHINE, "machine late", "#000000") /* never drawn: it happens by itself */              \
    X(OUTAGE_FREEZE, "outage: all stopped", "#8e44ad")                                         \
    X(OUTAGE_KILL, "outage: all killed", "#c0392b")

enum fault_kind {
#define FAULT_ENUM(name, text, colour) FAULT_##name,
    FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_COUNT
};

const char *fault_text(int kind);
const char *fault_colour(int kind);
bool fault_hits_client(int kind);
bool fault_hits_replica(int kind);
bool fault_hits_group(int kind); /* of elected masters */

/* What a cut leaves: FAULT_CUT_MASTER up to REPLICAS_ONLY, FAULT_CUT_SIDE the others. */
enum cut {
    CUT_OUT = 1,           /* what the master sends is lost */
    CUT_IN = 2,            /* what is sent to it is lost */
    CUT_WITH_SIDE = 4,     /* the clients of the first side are cut off with it */
    CUT_WITH_SENTINEL = 8, /* and one sentinel, or the replicas of other masters */
    CUT_REPLICAS_ONLY = 16,
    CUT_FROM_MASTER = 32,
    CUT_FROM_SENTINELS = 64,
    CUT_WITH_OTHER = 128, /* the master of another vote is cut off with it */
};

/* How a failover by command is requested. Sentinels know one way. */
enum failover { FAILOVER_AGREED, FAILOVER_FORCED, FAILOVER_TAKEOVER };

/* Faults of a Sentinel group, or a cluster, that belong together (failovers.c). */
enum trap {
    TRAP_ANY,
    TRAP_ISOLATED,
    TRAP_SPLIT,
    TRAP_ONE_WAY,
    TRAP_STOPPED,
    TRAP_LOST,
    TRAP_COMMAND,
    TRAP_LATE_TURN,
    TRAP_LATE_HEIR,
    TRAP_LEADER,
    TRAP_LAGGARDS,
    TRAP_TAKEOVER,
    TRAP_TWO,
    TRAP_MIGRATION,
    TRAP_COUNT
};

const char *trap_text(int trap);
bool trap_needs_network(int trap);       /* servers and clients in namespaces */
bool trap_fits(int trap, int votes);     /* of a cluster; 0: a Sentinel group */
const char *fault_target_text(int kind); /* node, worker or replica */

enum { FAULTS_MAX = 4096 };

struct fault {
    int64_t start_ms, end_ms; /* since the run began */
    int64_t whole_ms;         /* until then it keeps others from the node or worker */
    int kind;
    int target; /* node, worker or replica; -1: known when it begins */
    int param;
    int vote; /* of a cluster: whose master it hits */
};

/* What kind of world: see docs/chaos.md. */
enum regime {
    REGIME_DEFAULT,
    REGIME_STRICT,
    REGIME_BROKEN_GUARD,    /* what only a guard can bear, and no guard */
    REGIME_BROKEN_NODES,    /* half of the workers know other nodes */
    REGIME_PLANTED,         /* a rule is switched off in all workers (planted.c) */
    REGIME_BROKEN_DEADLINE, /* HTTP clients count from the answer instead of from the request */
};

enum leak { LEAK_NONE, LEAK_DESCRIPTOR, LEAK_MEMORY };

struct schedule {
    uint64_t seed;
    enum regime regime;
    bool network;   /* nodes in namespaces: links can go down */
    bool netem;     /* and lose packets */
    bool service;   /* workers ask replicas of redlockd by HTTP */
    bool mixed;     /* with service: some of them, others use the library or the command */
    enum leak leak; /* planted in the workers that use the library */
    bool elected;   /* masters are: TRAP_ANY, or nothing but this trap */
    enum trap trap;
    int votes;           /* of a cluster; 0: a Sentinel group */
    bool full_coverage;  /* of a cluster */
    int node_timeout_ms; /* of a cluster: when a master is missed, and stops if it is alone */
    int64_t skew_ms;     /* between the clocks of its servers */
    bool persistent;     /* its servers find their keys again when they are restarted */
    int64_t max_ttl_ms;  /* of all clients */
    int64_t faults_ms;   /* how long there are faults */
    size_t count;
    struct fault fault[FAULTS_MAX]; /* in the order of start_ms */
};

/* The fields up to faults_ms are set; the rest is drawn. */
void schedule_draw(struct schedule *s);
void failovers_draw(struct schedule *s); /* of elected masters; schedule_draw() calls it */

#endif
