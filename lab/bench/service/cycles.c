/* SPDX-License-Identifier: BSD-2-Clause */
#include "cycles.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The text of a member of a JSON object without blanks; false: there is none. */
static bool member(const char *body, const char *key, char *out, size_t size)
{
    char needle[32];
    const char *at;

    snprintf(needle, sizeof needle, "\"%s\":\"", key);
    at = strstr(body, needle);
    if (!at)
        return false;
    at += strlen(needle);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

#define GRANT 0

static size_t write_redlockd(struct http_client *caller, unsigned step, char *out, size_t size)
{
    static const char body[] = "{\"ttl_ms\":30000,\"label\":\"bench\"}";
    int count;

    if (step == 0)
        count = snprintf(out, size,
                         "PUT /v1/locks/bench/%u HTTP/1.1\r\nHost: localhost\r\n"
                         "User-Agent: bench\r\nAccept: */*\r\n"
                         "Lease-Id: lease-%010u-%010u-%012llu\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                         caller->index, (unsigned)getpid(), caller->serial,
                         (unsigned long long)caller->number, sizeof body - 1, body);
    else
        count = snprintf(out, size,
                         "DELETE /v1/locks/bench/%u HTTP/1.1\r\nHost: localhost\r\n"
                         "User-Agent: bench\r\nAccept: */*\r\n"
                         "Lease-Id: lease-%010u-%010u-%012llu\r\nGrant: %s\r\n\r\n",
                         caller->index, (unsigned)getpid(), caller->serial,
                         (unsigned long long)caller->number, caller->words[GRANT]);
    return (size_t)count;
}

static void take_redlockd(struct http_client *caller, unsigned step, int status,
                          const char *body)
{
    if (step == 0 && (status != 201 || !member(body, "grant", caller->words[GRANT],
                                               sizeof caller->words[GRANT])))
        errx(1, "PUT: %d %s", status, body);
    /* 201: the layer that answers everything alike. */
    if (step == 1 && status != 204 && status != 201)
        errx(1, "DELETE: %d %s", status, body);
}

const struct cycle cycle_redlockd = {"redlockd", 2, 0, write_redlockd, take_redlockd};

size_t cycles_write_wait(unsigned number, char *out, size_t size)
{
    static unsigned runs;

    if (number == 0)
        runs++;
    return (size_t)snprintf(out, size,
                            "PUT /v1/locks/" CYCLES_HELD " HTTP/1.1\r\nHost: localhost\r\n"
                            "Lease-Id: lease-of-a-waiter-%010u-%u-%u\r\n"
                            "Content-Type: application/json\r\nContent-Length: 17\r\n\r\n"
                            "{\"wait_ms\":50000}",
                            (unsigned)getpid(), runs, number);
}

enum { LEASE, KEY };

static size_t post(char *out, size_t size, const char *path, const char *body)
{
    return (size_t)snprintf(out, size,
                            "POST %s HTTP/1.1\r\nHost: localhost\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            path, strlen(body), body);
}

/* Names are base64 there: BENC and two digits of the caller stand for themselves. */
static size_t write_etcd(struct http_client *caller, unsigned step, char *out, size_t size)
{
    char body[1024];

    if (step == 0)
        return post(out, size, "/v3/lease/grant", "{\"TTL\":30}");
    if (step == 1)
        snprintf(body, sizeof body, "{\"name\":\"BENC%04u\",\"lease\":\"%s\"}", caller->index,
                 caller->words[LEASE]);
    else
        snprintf(body, sizeof body, "{\"key\":\"%s\"}", caller->words[KEY]);
    return post(out, size, step == 1 ? "/v3/lock/lock" : "/v3/lock/unlock", body);
}

static void take_etcd(struct http_client *caller, unsigned step, int status, const char *body)
{
    bool good = status == 200;

    if (step == 0)
        good = good && member(body, "ID", caller->words[LEASE], sizeof caller->words[LEASE]);
    if (step == 1)
        good = good && member(body, "key", caller->words[KEY], sizeof caller->words[KEY]);
    if (!good)
        errx(1, "etcd: %d %s", status, body);
}

const struct cycle cycle_etcd = {"etcd", 3, 0, write_etcd, take_etcd};

static size_t write_kept(struct http_client *caller, unsigned step, char *out, size_t size)
{
    return write_etcd(caller, step + 1, out, size);
}

static void take_kept(struct http_client *caller, unsigned step, int status, const char *body)
{
    take_etcd(caller, step + 1, status, body);
}

const struct cycle cycle_etcd_kept = {"etcd with kept leases", 2, 0, write_kept, take_kept};
