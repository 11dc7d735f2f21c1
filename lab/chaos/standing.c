/* SPDX-License-Identifier: BSD-2-Clause */
#include "standing.h"

#include "command.h"

#include "check.h"
#include "helper.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 20 };

/* "@" stands for where locks are requested. */
static const char *const lines[STANDING][WORDS_MAX] = {
    {"lead", "@", "-q", "--fair", "--ttl", "2s", "--max-hold", "20s", "leader", "--", "sleep",
     "infinity", NULL},
    {"lead", "@", "-q", "--fair", "--ttl", "2s", "--max-hold", "20s", "leader", "--", "sleep",
     "infinity", NULL},
    {"watch", "@", "-q", "--delay", "1s", "orders", "leader", NULL},
    {"top", "@", "-q", "--json", "--delay", "1s", NULL},
};

struct start {
    const struct standing *standing;
    int index;
};

static void become_command(void *data)
{
    const struct start *start = data;
    const struct standing *s = start->standing;
    const char *words[WORDS_MAX + 8] = {"redlock"};
    size_t count = 1;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    for (const char *const *word = lines[start->index]; *word != NULL; word++) {
        if (word[0][0] != '@') {
            words[count++] = *word;
        } else if (start->index == 1) {
            words[count++] = "--service";
            words[count++] = s->service;
        } else {
            words[count++] = "--nodes";
            words[count++] = s->nodes;
            words[count++] = "--node-timeout";
            words[count++] = "150ms";
            words[count++] = "--max-ttl";
            words[count++] = "2s";
        }
    }
    command_forget_settings();
    execv(REDLOCK, (char *const *)words);
    _exit(127);
}

void standing_start(struct standing *s, const struct cluster *cluster, const char *replica)
{
    command_nodes(cluster, s->nodes, sizeof s->nodes);
    snprintf(s->service, sizeof s->service, "unix:%s", replica);
    for (int i = 0; i < STANDING; i++)
        s->pid[i] = helper_start(become_command, &(struct start){s, i});
}

void standing_look(struct standing *s)
{
    for (int i = 0; i < STANDING; i++) {
        int status = 0;
        if (s->pid[i] != 0 && waitpid(s->pid[i], &status, WNOHANG) > 0)
            FAIL("redlock %s ended with %#x", lines[i][0], (unsigned)status);
    }
}

void standing_stop(struct standing *s)
{
    for (int i = 0; i < STANDING; i++)
        helper_stop(&s->pid[i]);
}
