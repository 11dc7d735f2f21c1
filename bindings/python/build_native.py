# SPDX-License-Identifier: BSD-2-Clause
"""The extension module redlock_native._native: cffi in API mode over redlock.h and shim.h.

The declarations below are checked by the C compiler against the headers: "..." stands for what it
finds there. `python3 build_native.py OUT.c` writes the C source alone, for a build by CMake.
"""
import sys

from cffi import FFI

MODULE = "redlock_native._native"
PREAMBLE = '#include "shim.h"'

DECLARATIONS = """
    typedef struct redlock redlock;
    typedef struct redlock_lock redlock_lock;
    typedef uint64_t redlock_job;
    typedef struct { const char *name; const char *const *nodes; size_t node_count; ...; }
        redlock_quorum;
    typedef struct { size_t size; uint32_t flags; const char *const *nodes; size_t node_count;
        const char *config_file; uint32_t node_timeout_ms; uint32_t connect_timeout_ms;
        uint32_t max_ttl_ms; uint32_t drift_ppm; uint32_t retry_min_ms; uint32_t retry_max_ms;
        const char *prefix; const char *username; const char *password;
        const char *password_file; const char *client_name; const char *tls_ca_file;
        const char *tls_cert_file; const char *tls_key_file; const char *tls_server_name;
        const char *trace_file; const redlock_quorum *quorums; size_t quorum_count; ...; }
        redlock_options;
    typedef struct { size_t size; uint32_t flags; int32_t kind; int64_t wait_ms; void *data;
        const char *label; uint32_t slots; uint32_t max_extensions; int64_t max_hold_ms;
        const char *owner; const char *const *more_names; size_t more_name_count;
        const char *idempotency_key; int64_t fence; ...; } redlock_request;
    typedef struct { char value[...]; char label[...]; char fingerprint[...]; int64_t held_ms;
        int32_t held_at_least; int32_t votes; int64_t remaining_ms; ...; } redlock_holder;
    typedef struct { char name[...]; char label[...]; int64_t waited_ms; ...; } redlock_waiter;
    typedef struct { char address[...]; int32_t vote; int32_t reason; int32_t rtt_us;
        int64_t key_remaining_ms; char value[...]; char text[...]; ...; } redlock_node_report;
    typedef struct { uint32_t node_count; uint32_t quorum; uint32_t quorum_index;
        char quorum_name[...]; redlock_holder holder; uint32_t waiter_count;
        redlock_node_report node[...]; ...; } redlock_report;
    typedef struct { int32_t held; int32_t kind; redlock_holder holder; int64_t fence;
        int32_t disagree; uint32_t slots; char owner[...]; uint32_t holder_count;
        uint32_t holders_shown; redlock_holder holders[...]; uint32_t waiter_count;
        uint32_t waiters_shown; redlock_waiter waiters[...]; ...; } redlock_info;
    typedef struct { const char *address; const char *name; int32_t verdict; int32_t reason;
        const char *text; const char *remedy; const char *quorum; ...; } redlock_check;
    typedef struct { const redlock_info *info; const redlock_report *report;
        const char *const *names; size_t name_count; const redlock_check *checks;
        size_t check_count; ...; } redlock_answer;
    typedef struct { int32_t type; int32_t error; const char *detail; void *data; int32_t place;
        uint32_t dropped; const char *address; const redlock_answer *answer; ...; }
        redlock_event;
    typedef struct { size_t size; char address[...]; int32_t state; int32_t reason;
        char text[...]; int32_t tls; int32_t native; int32_t rtt_us; uint32_t connects;
        uint32_t pending; char version[...]; int32_t quarantined; int32_t misplaced;
        int64_t quarantine_ms; int64_t clock_offset_us; int64_t clock_error_us;
        int64_t answered_ms; uint32_t quorum_index; char quorum_name[...]; ...; }
        redlock_node_info;
    typedef struct { uint64_t count; uint64_t sum_us; uint64_t bucket[...]; ...; }
        redlock_histogram;
    typedef struct { size_t size; uint64_t acquired; uint64_t refused_busy;
        uint64_t refused_timeout; uint64_t refused_noquorum; uint64_t refused_guarded;
        uint64_t refused_canceled; uint64_t refused_other; uint64_t late; uint64_t adopted;
        uint64_t renewed; uint64_t renewals_failed; uint64_t released; uint64_t releases_failed;
        uint64_t left; uint64_t lost_expired; uint64_t lost_missing; uint64_t lost_doubt;
        uint64_t waiting; uint64_t held; redlock_histogram wait; redlock_histogram hold; ...; }
        redlock_counters;

    #define REDLOCK_THREAD ...
    #define REDLOCK_NO_NATIVE ...
    #define REDLOCK_STRICT ...
    #define REDLOCK_NO_GUARD ...
    #define REDLOCK_RENEW ...
    #define REDLOCK_FENCED ...
    #define REDLOCK_BOUND ...
    #define REDLOCK_FAIR ...
    #define REDLOCK_KEEP ...
    #define REDLOCK_WAIT_FOREVER ...
    #define REDLOCK_TTL_LIMIT_MS ...
    #define REDLOCK_LABEL_MAX ...
    #define REDLOCK_EVENT_RELEASED ...
    #define REDLOCK_EVENT_LOST ...
    #define REDLOCK_EVENT_QUEUED ...
    #define REDLOCK_EVENT_ANSWERED ...
    #define REDLOCK_EVENT_WARNING ...

    const char *redlock_strerror(int error);
    const char *redlock_error_name(int error);
    const char *redlock_detail(void);
    const char *redlock_vote_text(int vote);
    const char *redlock_reason_text(int reason);
    const char *redlock_kind_text(int kind);
    uint32_t redlock_kind_traits(int kind);
    const char *redlock_version(void);

    int redlock_open(const redlock_options *options, redlock **out);
    void redlock_close(redlock *client);
    int redlock_fd(redlock *client);
    int rlpy_next(redlock *client, int64_t *succeeded, int max, int *count,
        const redlock_event **event);
    int redlock_node(redlock *client, size_t index, redlock_node_info *out);
    int redlock_stats(redlock *client, redlock_counters *out);
    int redlock_quorum_of(redlock *client, const char *name);
    redlock *redlock_member(redlock *client, size_t index);

    int redlock_start_acquire(redlock *client, const char *name, int64_t ttl_ms,
        const redlock_request *request, redlock_lock **out);
    int redlock_adopt(redlock *client, const char *name, const char *value,
        const redlock_request *request, redlock_lock **out);
    int redlock_start_extend(redlock_lock *lock, int64_t ttl_ms);
    int redlock_start_release(redlock_lock *lock);
    int64_t redlock_remaining_ms(const redlock_lock *lock);
    int64_t redlock_deadline_ns(const redlock_lock *lock);
    int redlock_state(const redlock_lock *lock);
    int64_t redlock_fence(const redlock_lock *lock);
    int redlock_position(const redlock_lock *lock);
    int redlock_slot(const redlock_lock *lock);
    int redlock_margin(const redlock_lock *lock);
    const char *redlock_value(const redlock_lock *lock);
    const redlock_report *redlock_lock_report(const redlock_lock *lock);
    void rlpy_free(redlock_lock **slot);
    void rlpy_leave(redlock_lock **slot);
    void rlpy_undo(redlock_lock **slot);

    int redlock_start_query(redlock *client, const char *name, void *data, redlock_job *job);
    int redlock_start_list(redlock *client, void *data, redlock_job *job);
    int redlock_start_break(redlock *client, const char *name, const char *fingerprint,
        void *data, redlock_job *job);
    int redlock_start_release_by_key(redlock *client, const char *name,
        const char *idempotency_key, void *data, redlock_job *job);
    int redlock_start_ping(redlock *client, void *data, redlock_job *job);
    int redlock_start_admit(redlock *client, void *data, redlock_job *job);
    int redlock_start_audit(redlock *client, int64_t ttl_ms, void *data, redlock_job *job);
    int redlock_cancel_job(redlock *client, redlock_job job);
"""


ffibuilder = FFI()
ffibuilder.cdef(DECLARATIONS)

if __name__ == "__main__":
    ffibuilder.set_source(MODULE, PREAMBLE, py_limited_api=True)
    ffibuilder.emit_c_code(sys.argv[1])
else:
    import c_library

    ffibuilder.set_source(MODULE, PREAMBLE, py_limited_api=True, **c_library.build_options())
