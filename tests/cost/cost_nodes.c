/* SPDX-License-Identifier: BSD-2-Clause */
#include "cost_counts.h"

#include "check.h"
#include "resp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INFO_MAX = 16384,
    NAMES_MAX = 64,
    OWN_INFOS = 2, /* between one reading of the commands and the next */
};

/* Commands of one name, since the server started. */
struct tally {
    char name[48];
    long long calls;
};

struct node_eyes {
    struct resp *connection;
    long long bytes_in, bytes_out;
    long long last_reply; /* bytes of it that were not yet counted when it was written */
    struct tally tally[NAMES_MAX];
    int tally_count;
};

struct node_eyes *node_eyes_open(const struct server *server)
{
    struct node_eyes *eyes = calloc(1, sizeof *eyes);
    CHECK(eyes != NULL);
    eyes->connection = resp_unix(server->socket_path);
    CHECK(eyes->connection != NULL);
    return eyes;
}

static long long request_size(const char *section)
{
    char text[96];
    return snprintf(text, sizeof text, "*2\r\n$4\r\nINFO\r\n$%zu\r\n%s\r\n", strlen(section),
                    section);
}

/* The text, and how many bytes it took on the wire. */
static long long read_info(struct node_eyes *eyes, const char *section, char *out)
{
    const char *argv[] = {"INFO", section, NULL};
    char head[32];
    size_t length;
    CHECK_INT(0, resp_send(eyes->connection, argv));
    CHECK_INT(0, resp_read(eyes->connection, out, INFO_MAX));
    length = strlen(out);
    CHECK(length + 1 < INFO_MAX);
    return snprintf(head, sizeof head, "$%zu\r\n", length) + (long long)length + 2;
}

static long long field(const char *info, const char *name)
{
    const char *found = strstr(info, name);
    if (found == NULL)
        FAIL("the server does not report %s", name);
    return atoll(found + strlen(name));
}

/* Calls of this name since the last look. */
static long long advance(struct node_eyes *eyes, const char *name, long long calls)
{
    struct tally *t;
    for (int i = 0; i < eyes->tally_count; i++)
        if (strcmp(eyes->tally[i].name, name) == 0) {
            long long more = calls - eyes->tally[i].calls;
            eyes->tally[i].calls = calls;
            return more;
        }
    CHECK(eyes->tally_count < NAMES_MAX);
    t = &eyes->tally[eyes->tally_count++];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->calls = calls;
    return calls;
}

static void read_commands(struct node_eyes *eyes, const char *info, struct node_counts *out)
{
    size_t used = 0;
    for (const char *p = info; (p = strstr(p, "cmdstat_")) != NULL;) {
        char name[48];
        long long more, calls = 0;
        p += strlen("cmdstat_");
        if (sscanf(p, "%47[^:]:calls=%lld", name, &calls) != 2)
            continue;
        more = advance(eyes, name, calls);
        if (strcmp(name, "info") == 0)
            more -= OWN_INFOS;
        out->commands += more;
        if (more > 0 && used < sizeof out->text)
            used += (size_t)snprintf(out->text + used, sizeof out->text - used, "%s %lld\n",
                                     name, more);
    }
}

void node_eyes_look(struct node_eyes *eyes, struct node_counts *out)
{
    static char info[INFO_MAX];
    long long bytes_out, bytes_in, first_reply, second_reply;
    memset(out, 0, sizeof *out);
    first_reply = read_info(eyes, "commandstats", info);
    read_commands(eyes, info, out);
    second_reply = read_info(eyes, "stats", info);
    bytes_in = field(info, "total_net_input_bytes:");
    bytes_out = field(info, "total_net_output_bytes:");
    out->bytes_in =
        bytes_in - eyes->bytes_in - request_size("commandstats") - request_size("stats");
    out->bytes_out = bytes_out - eyes->bytes_out - eyes->last_reply - first_reply;
    eyes->bytes_in = bytes_in;
    eyes->bytes_out = bytes_out;
    eyes->last_reply = second_reply;
}
