/* SPDX-License-Identifier: BSD-2-Clause */
#include "fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* The executable of the same build, or else whatever PATH finds. */
static void find_command(char *out, size_t size)
{
    static const char *const places[] = {"/../../redlock", "/redlock"};
    char self[2048];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        snprintf(out, size, "%.*s%s", (int)(slash - self), self, places[i]);
        if (access(out, X_OK) == 0)
            return;
    }
    snprintf(out, size, "redlock");
}

int fleet_find(struct fleet *fleet)
{
    memset(fleet, 0, sizeof *fleet);
    if (!getenv("REDLOCK_DEV")) {
        fputs("redlock-demo: run it inside a local quorum: redlock dev -c 5 -- redlock-demo\n",
              stderr);
        return -1;
    }
    if (fleet_watch(fleet) != 0)
        return -1;
    redlock_node_info info = REDLOCK_NODE_INFO();
    while (fleet->count < REDLOCK_NODES_MAX &&
           redlock_node(fleet->client, fleet->count, &info) == REDLOCK_OK) {
        const char *colon = strrchr(info.address, ':');
        snprintf(fleet->label[fleet->count++], sizeof fleet->label[0], "%.15s",
                 colon ? colon : "");
    }
    fleet_unwatch(fleet);
    if (fleet->count < 3) {
        fputs("redlock-demo: one server will be killed, so it takes three or more\n", stderr);
        return -1;
    }
    find_command(fleet->command, sizeof fleet->command);
    return 0;
}

int fleet_watch(struct fleet *fleet)
{
    redlock_options options =
        REDLOCK_OPTIONS(.flags = REDLOCK_THREAD, .client_name = "redlock-demo");
    int error = redlock_open(&options, &fleet->client);
    if (error != REDLOCK_OK)
        fprintf(stderr, "redlock-demo: %s: %s\n", redlock_strerror(error), redlock_detail());
    return error == REDLOCK_OK ? 0 : -1;
}

void fleet_unwatch(struct fleet *fleet)
{
    redlock_close(fleet->client);
    fleet->client = NULL;
}

size_t fleet_look(struct fleet *fleet)
{
    size_t up = 0;
    for (size_t i = 0; i < fleet->count; i++) {
        redlock_node_info info = REDLOCK_NODE_INFO();
        if (fleet->client && redlock_node(fleet->client, i, &info) == REDLOCK_OK) {
            fleet->up[i] = info.state == REDLOCK_NODE_UP;
            fleet->quarantined[i] = fleet->up[i] && info.quarantined;
            fleet->quarantine_ms[i] = info.quarantine_ms;
        }
        up += fleet->up[i];
    }
    return up;
}

pid_t fleet_command(const struct fleet *fleet, const char *verb, size_t number)
{
    char digits[8];
    snprintf(digits, sizeof digits, "%zu", number);
    /* Nothing may be written into the picture: with --json, remarks are left out. */
    char *const words[] = {(char *)"redlock", (char *)"dev", (char *)verb, digits,
                           (char *)"--json",  NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = -1;

    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawnp(&pid, fleet->command, &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    errno = error;
    return error == 0 ? pid : -1;
}
