/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command lines of every subcommand, read and checked but never carried out, and the writer of
 * JSON. The input: one byte of choices, then the words of the command line with NUL between
 * them. What is printed is one harmless message, or with --json one line of JSON.
 */
#include <string.h>

#include "base/json.h"
#include "capture.h"
#include "commands/run.h"
#include "config/sources.h"
#include "fuzz.h"
#include "json_check.h"
#include "settings/command.h"
#include "ui/exit.h"
#include "ui/message.h"

#define WORDS_MAX 32
#define WORD_BYTES_MAX 2048
#define DATA_BYTES_MAX 0x100000 /* of a subcommand */

enum { CHOICE_COMMAND = 0x0f, CHOICE_JSON = 0x10, CHOICE_WRITER = 0x20 };

/* The linker sends the settings' search for a file here: one that names a node. */
int __wrap_rl_config_read_file(struct rl_config *c, char looked[RL_LOOKED_MAX]);
int __wrap_rl_config_read_file(struct rl_config *c, char looked[RL_LOOKED_MAX])
{
    (void)looked;
    FUZZ_CHECK(!rl_config_set(c, RL_SETTING_NODES, "127.0.0.1"));
    return 0;
}

/*
 * Subcommands other than `run` take their options where they act: this stands in for them, and
 * for the data in which their tables store.
 */
static struct {
    max_align_t stored[DATA_BYTES_MAX / sizeof(max_align_t)];
    int steps;
} walked;

static int take(void *data, struct args *a, int id, const char *value)
{
    FUZZ_CHECK(data == &walked && (id == ARGS_WORD || id == ARGS_DASHES || id >= OPTION_OWN));
    FUZZ_CHECK(++walked.steps <= WORDS_MAX + WORD_BYTES_MAX && a->at <= a->argc);
    return id == ARGS_WORD ? command_check_name(value) : 0;
}

static int walk(const struct command *command, int argc, char **argv)
{
    struct settings settings;
    int status;
    walked.steps = 0;
    for (const struct cli_option *o = command->options; o && o->id; o++)
        FUZZ_CHECK(o->offset + sizeof(int64_t) <= sizeof walked.stored);
    status = args_read(command, &settings, argc, argv, take, &walked);
    settings_free(&settings);
    return status;
}

static int read_run(int argc, char **argv)
{
    struct run r = {.reaper_fd = -1};
    int status = run_read(&r, &command_run, argc, argv);

    if (status == 0) {
        FUZZ_CHECK(r.command && r.command[0] && r.terms.name_count > 0 &&
                   r.terms.name_count <= REDLOCK_NAMES_MAX);
        for (size_t i = 0; i < r.terms.name_count; i++)
            FUZZ_CHECK(r.terms.name[i][0] && strlen(r.terms.name[i]) <= REDLOCK_NAME_MAX);
        FUZZ_CHECK(r.busy_status >= 0 && r.busy_status <= 255 && r.min_hold_ms >= 0);
        FUZZ_CHECK(r.supervision.grace_ms >= 0 &&
                   r.supervision.grace_ms <= r.settings.ttl_ms / 2);
        FUZZ_CHECK(r.settings.config.node_count > 0 &&
                   r.settings.config.node_count <= RL_CONFIG_NODES_MAX);
        FUZZ_CHECK(r.settings.config.quorum_count > 0 ||
                   r.settings.config.node_count <= REDLOCK_NODES_MAX);
        FUZZ_CHECK(r.settings.ttl_ms >= REDLOCK_TTL_MIN_MS);
    }
    settings_free(&r.settings);
    return status;
}

static void read_command_line(uint8_t choice, int argc, char **argv)
{
    static const struct command *const commands[] = {
        &command_run,    &command_lock,   &command_extend, &command_unlock,
        &command_status, &command_doctor, &command_init,   &command_nodes,
        &command_dev,    &command_top,    &command_bench,
    };
    size_t index = (choice & CHOICE_COMMAND) % (sizeof commands / sizeof commands[0]);
    const struct command *command = commands[index];
    struct capture printed;
    int status;

    /* As main() does: --json is looked for before the command line is read. */
    message_setup(command->name, choice & CHOICE_JSON);
    capture_begin(&printed);
    status = index == 0 ? read_run(argc, argv) : walk(command, argc, argv);
    capture_end(&printed);
    if (status == ARGS_HELPED)
        status = 0;
    FUZZ_CHECK(status == 0 || status == EXIT_USAGE || status == EXIT_CONFIG);
    FUZZ_CHECK(text_is_harmless(printed.err));
    if (status != 0 && printed.out_size > 0)
        FUZZ_CHECK(json_is_line(printed.out));
    if (status != 0)
        FUZZ_CHECK(printed.out_size > 0 || printed.err_size > 0);
    capture_free(&printed);
}

/* Every word is a command to the writer and a text to be written. */
static void write_json(int count, char **words)
{
    struct capture printed;
    struct rl_json j;

    capture_begin(&printed);

    j = (struct rl_json){.out = stdout};

    rl_json_object(&j, NULL);
    rl_json_array(&j, "words");
    for (int i = 0; i < count; i++) {
        const char *text = words[i];

        rl_json_object(&j, NULL);
        rl_json_string(&j, "text", text[0] == '0' ? NULL : text);
        rl_json_integer(&j, "n", (int64_t)(strlen(text) * 0x9e3779b97f4a7c15u));
        rl_json_known(&j, "known", (int8_t)text[0]);
        if ((text[0] & 3) == 3) {
            rl_json_array(&j, "array");
            rl_json_string(&j, NULL, text);
            rl_json_bool(&j, NULL, text[0] & 4);
            rl_json_end_array(&j);
        }
        rl_json_end_object(&j);
    }
    rl_json_end_array(&j);
    rl_json_finish(&j);
    capture_end(&printed);
    FUZZ_CHECK(json_is_line(printed.out) && printed.err_size == 0);
    capture_free(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    uint8_t choice = fuzz_byte(&input);
    char text[WORD_BYTES_MAX + 1];
    char *words[WORDS_MAX + 2] = {(char[]){"redlock"}};
    int count = 1;

    size = input.left < WORD_BYTES_MAX ? input.left : WORD_BYTES_MAX;
    if (size > 0)
        memcpy(text, input.at, size);
    text[size] = '\0';
    for (size_t at = 0; at < size && count < WORDS_MAX; at += strlen(text + at) + 1)
        words[count++] = text + at;
    words[count] = NULL;
    if (choice & CHOICE_WRITER)
        write_json(count - 1, words + 1);
    else
        read_command_line(choice, count, words);
    return 0;
}
