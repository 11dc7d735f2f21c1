# SPDX-License-Identifier: BSD-2-Clause
"""The extension module redlock._native: cffi in API mode over redlock.h and shim.h.

The declarations below are checked by the C compiler against the headers: "..." stands for what it
finds there. `python3 build_native.py OUT.c` writes the C source alone, for a build by CMake.
"""
import os
import subprocess
import sys

from cffi import FFI

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.join(HERE, "..", "..")

DECLARATIONS = """
    typedef struct { char value[...]; char label[...]; char mark[...]; int64_t held_ms;
        int32_t held_at_least; int32_t votes; int64_t ttl_ms; ...; } redlock_holder;
    typedef struct { char name[...]; char label[...]; int64_t waited_ms; ...; } redlock_waiter;
    typedef struct { char address[...]; int32_t vote; int32_t rtt_us; int64_t key_ttl_ms;
        char holder[...]; char text[...]; int32_t kind; uint32_t holder_count; uint32_t waiters;
        ...; } redlock_node_report;
    typedef struct { size_t size; uint32_t node_count; uint32_t quorum;
        redlock_node_report node[...]; uint32_t quorum_index; char quorum_name[...];
        redlock_holder holder; uint32_t waiters; ...; } redlock_report;
    typedef struct { const char *name; const char *const *nodes; size_t node_count; ...; }
        redlock_quorum;
    typedef struct { size_t size; const char *const *nodes; size_t node_count; uint32_t flags;
        uint32_t node_timeout_ms; uint32_t connect_timeout_ms; uint32_t max_ttl_ms;
        uint32_t drift_ppm; uint32_t retry_min_ms; uint32_t retry_max_ms; const char *prefix;
        const char *username; const char *password; const char *password_file;
        const char *client_name; const char *tls_ca_file; const char *tls_cert_file;
        const char *tls_key_file; const char *tls_server_name; const redlock_quorum *quorums;
        size_t quorum_count; const char *config_file; ...; } redlock_options;
    typedef struct { size_t size; int32_t kind; uint32_t flags; uint32_t max_extensions;
        int64_t max_hold_ms; uint32_t slots; const char *owner; const char *const *more_names;
        size_t more_name_count; const char *label; const char *tag; int64_t fence; ...; }
        redlock_request;
    typedef struct { size_t size; int32_t held; int32_t votes; char holder[...]; int64_t ttl_ms;
        int64_t fence; int32_t kind; int32_t disagree; uint32_t holder_count; uint32_t slots;
        char owner[...]; uint32_t waiters; char head[...]; char label[...]; int64_t held_ms;
        int32_t held_at_least; uint32_t shown_holder_count; redlock_holder shown_holder[...];
        uint32_t shown_waiter_count; redlock_waiter shown_waiter[...]; ...; } redlock_info;
    typedef struct { size_t size; char address[...]; int32_t state; int32_t tls; int32_t native;
        int32_t rtt_us; uint32_t connects; uint32_t pending; char version[...]; char text[...];
        int32_t quarantined; int64_t quarantine_ms; int64_t clock_offset_us;
        int64_t clock_error_us; uint32_t quorum_index; char quorum_name[...]; ...; }
        redlock_node_info;
    typedef struct { uint64_t count; uint64_t sum_us; uint64_t bucket[...]; ...; }
        redlock_histogram;
    typedef struct { size_t size; uint64_t acquired; uint64_t refused_busy;
        uint64_t refused_timeout; uint64_t refused_noquorum; uint64_t refused_guarded;
        uint64_t refused_canceled; uint64_t refused_other; uint64_t late; uint64_t adopted;
        uint64_t renewed; uint64_t renewals_failed; uint64_t released; uint64_t releases_failed;
        uint64_t left; uint64_t lost_expired; uint64_t lost_missing; uint64_t lost_doubt;
        uint64_t waiting; uint64_t held; redlock_histogram wait; redlock_histogram hold; ...; }
        redlock_stats;

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

    const char *redlock_strerror(int error);
    const char *redlock_error_name(int error);
    const char *redlock_detail(void);
    const char *redlock_vote_text(int vote);
    const char *redlock_kind_text(int kind);
    uint32_t redlock_kind_traits(int kind);
    const char *redlock_version(void);

    #define RLPY_DONE ...
    #define RLPY_LOST ...
    #define RLPY_JEOPARDY ...
    #define RLPY_QUEUED ...
    #define RLPY_WARNING ...
    #define RLPY_NEWS_FIELDS ...
    enum rlpy_question { RLPY_QUERY, RLPY_LIST, RLPY_BREAK, RLPY_RELEASE_TAGGED, RLPY_PING,
        RLPY_ADMIT, RLPY_AUDIT, ... };

    typedef struct rlpy_client rlpy_client;
    typedef struct rlpy_op rlpy_op;
    typedef struct { char *address; char *text; } rlpy_warning;
    typedef struct { int verdict; char *address; char *name; char *text; char *remedy;
        char *quorum; } rlpy_check;

    int rlpy_error(void);
    rlpy_client *rlpy_open(const redlock_options *options);
    void rlpy_close(rlpy_client *client);
    void rlpy_client_free(rlpy_client *client);
    int rlpy_fd(rlpy_client *client);
    int rlpy_turn(rlpy_client *client, int64_t *out, int max);
    int rlpy_take(rlpy_client *client, int64_t *out, int max);
    int rlpy_await_news(rlpy_client *client);
    void rlpy_stop_news(rlpy_client *client);
    void rlpy_warning_free(rlpy_warning *warning);
    rlpy_op *rlpy_new(rlpy_client *client, int64_t id);
    int rlpy_start(rlpy_op *op, const char *name, size_t name_length, int64_t ttl_ms,
        int64_t wait_ms, uint32_t flags, const redlock_request *terms, int tells_place);
    int rlpy_adopt(rlpy_op *op, const char *name, const char *value,
        const redlock_request *terms);
    int rlpy_ask(rlpy_op *op, int question, const char *name, const char *word, int64_t ttl_ms,
        int quorum);
    int rlpy_start_extend(rlpy_op *op, int64_t ttl_ms);
    int rlpy_start_release(rlpy_op *op);
    int rlpy_cancel(rlpy_op *op);
    int rlpy_wait(rlpy_op *op, int slice_ms);
    int rlpy_outcome(const rlpy_op *op);
    const char *rlpy_detail(const rlpy_op *op);
    const char *rlpy_lost_detail(const rlpy_op *op);
    void rlpy_free(rlpy_op *op);
    void rlpy_leave(rlpy_op *op);
    int64_t rlpy_remaining_ms(const rlpy_op *op);
    int64_t rlpy_deadline_ns(const rlpy_op *op);
    int rlpy_state(const rlpy_op *op);
    int64_t rlpy_fence(const rlpy_op *op);
    int rlpy_position(const rlpy_op *op);
    int rlpy_slot(const rlpy_op *op);
    int rlpy_margin(const rlpy_op *op);
    const char *rlpy_value(const rlpy_op *op);
    int rlpy_report(const rlpy_op *op, redlock_report *out);
    const redlock_info *rlpy_answer_info(const rlpy_op *op);
    const redlock_report *rlpy_answer_report(const rlpy_op *op);
    size_t rlpy_answer_count(const rlpy_op *op);
    const char *rlpy_answer_name(const rlpy_op *op, size_t index);
    const rlpy_check *rlpy_answer_check(const rlpy_op *op, size_t index);
    int rlpy_node(rlpy_client *client, size_t index, redlock_node_info *out);
    int rlpy_stats(rlpy_client *client, redlock_stats *out);
    int rlpy_quorum_of(rlpy_client *client, const char *name);
    int64_t rlpy_op_count(void);
"""


def pkg_config(*words):
    """What pkg-config says of an installed library; nothing where there is none."""
    try:
        asked = subprocess.run(["pkg-config", *words, "redlock"], capture_output=True, text=True,
                               check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return asked.stdout.strip()


def version():
    """The project's, from the header of the tree, or else of the library that is installed."""
    try:
        with open(os.path.join(TREE, "include", "redlock.h"), encoding="utf-8") as header:
            words = [line.split() for line in header if line.startswith("#define REDLOCK_VERSION_")]
        return ".".join(word[2] for word in words)
    except OSError:
        found = pkg_config("--modversion")
        if not found:
            sys.exit("redlock: the C library was not found: install libredlock-dev, or set "
                     "PKG_CONFIG_PATH to the directory of redlock.pc")
        return found


def locations():
    """Where header and library are: as pkg-config says."""
    flags = pkg_config("--cflags", "--libs").split()
    places = {
        "include_dirs": [f[2:] for f in flags if f.startswith("-I")],
        "library_dirs": [f[2:] for f in flags if f.startswith("-L")],
        "libraries": ["redlock"],
    }
    if not pkg_config("--modversion"):
        places["include_dirs"].append(os.path.join(TREE, "include"))
    return places


ffibuilder = FFI()
ffibuilder.cdef(DECLARATIONS)
ffibuilder.set_source(
    "redlock._native", '#include "shim.h"', sources=["shim.c", "op.c", "question.c"], py_limited_api=True,
    define_macros=[("_GNU_SOURCE", None)],
    **{**locations(), "include_dirs": [HERE, *locations()["include_dirs"]]})

if __name__ == "__main__":
    ffibuilder.emit_c_code(sys.argv[1])
