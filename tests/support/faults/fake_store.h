/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of a fake server. Callers hold a lock of their own. */
#ifndef REDLOCK_TESTS_FAKE_STORE_H
#define REDLOCK_TESTS_FAKE_STORE_H

#include <stdint.h>

struct fake_key {
    char key[640]; /* empty: free slot */
    char value[128];
    int64_t end_ns; /* 0: no expiry */
};

/* NULL when it does not exist (any more). */
struct fake_key *fake_store_find(const char *key);
void fake_store_set(const char *key, const char *value, int64_t ttl_ms);
void fake_store_delete(struct fake_key *k);
int fake_store_size(void);

#endif
