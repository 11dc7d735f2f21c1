/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the daemon is set to, from its command line and from its file. The file has the syntax of the
 * command's: lines of `key = value`, where a key is a long option without its dashes; a # at the start of
 * a line or after a blank begins a comment. What the command line says about a key, the file does not
 * change.
 */
#ifndef REDLOCKD_SETTINGS_H
#define REDLOCKD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SETTINGS_LISTENERS_MAX 16
#define SETTINGS_RULES_MAX 64
#define SETTINGS_TEXT_MAX 256
#define SETTINGS_WHY_MAX 512

/* One address: unix:/path, ADDRESS:PORT, or tls:ADDRESS:PORT. */
struct settings_listener {
    char address[SETTINGS_TEXT_MAX]; /* without tls: */
    bool tls;
};

struct settings {
    struct settings_listener listeners[SETTINGS_LISTENERS_MAX];
    unsigned listener_count;
    char tls_cert[SETTINGS_TEXT_MAX]; /* empty: none; also below */
    char tls_key[SETTINGS_TEXT_MAX];
    char tls_client_ca[SETTINGS_TEXT_MAX];
    char config[SETTINGS_TEXT_MAX];
    char quorum_config
        [SETTINGS_TEXT_MAX];        /* the library's file; empty: as the command finds it */
    char tokens[SETTINGS_TEXT_MAX]; /* file of digests; empty: none */
    char allow[SETTINGS_RULES_MAX][SETTINGS_TEXT_MAX];
    unsigned allow_count;
    unsigned drift_ppm;   /* how much slower than ours the clock of a client may be */
    unsigned connections; /* 0: the default of the HTTP layer */
    int64_t drain_ns;     /* how long TERM lets requests finish */
    bool insecure;        /* plain TCP beyond loopback */
    bool check;           /* look at the settings and end */
    bool dev;             /* with servers of its own: life/dev.h */
    uint32_t given;       /* a bit per key that the command line has set */
};

/*
 * Reads the command line and then, if --config names one, the file. 0; 1 if the process should end with
 * status 0 now (--help and --version have been printed); -1 with a sentence in why.
 */
int settings_read(struct settings *settings, int argc, char **argv, char *why, size_t why_size);

/* A text as a file has it, for --config and for tests. 0, or -1 with line and sentence in why. */
int settings_read_text(struct settings *settings, const char *text, char *why, size_t why_size);

#endif
