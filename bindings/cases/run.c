/* SPDX-License-Identifier: BSD-2-Clause */
/* Plays a group of cases.json against the C library: run CASES REDLOCK GROUP [CASE]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "steps.h"

static bool play_case(const json_t *one, const char *command)
{
    struct world *w = calloc(1, sizeof *w);
    const json_t *steps = json_object_get(one, "steps");
    const char *intent = json_string_value(json_object_get(one, "intent"));
    size_t i = 0;
    bool ok;

    if (!w)
        exit(2);
    w->command = command;
    while (i < json_array_size(steps) && step_play(w, json_array_get(steps, i)))
        i++;
    ok = i == json_array_size(steps);
    printf("%s - %s\n", ok ? "ok" : "not ok", intent);
    if (!ok) {
        char *step = json_dumps(json_array_get(steps, i), JSON_COMPACT);
        printf("#   %s, step %zu: %s\n#   %s\n",
               json_string_value(json_object_get(one, "name")), i + 1, step, w->why);
        free(step);
    }
    fflush(stdout);
    world_end(w);
    free(w);
    return ok;
}

int main(int argc, char **argv)
{
    json_error_t where;
    json_t *table;
    json_t *group;
    size_t failed = 0;

    if (argc < 4) {
        fprintf(stderr, "usage: %s CASES.json PATH-OF-REDLOCK GROUP [CASE]\n", argv[0]);
        return 64;
    }
    table = json_load_file(argv[1], 0, &where);
    group = json_object_get(json_object_get(table, "groups"), argv[3]);
    if (!json_is_array(group)) {
        fprintf(stderr, "%s: no group '%s' (%s)\n", argv[1], argv[3], table ? "" : where.text);
        json_decref(table);
        return 64;
    }
    for (size_t i = 0; i < json_array_size(group); i++) {
        json_t *one = json_array_get(group, i);

        if (argc == 4 || strcmp(argv[4], json_string_value(json_object_get(one, "name"))) == 0)
            failed += !play_case(one, argv[2]);
    }
    json_decref(table);
    return failed ? 1 : 0;
}
