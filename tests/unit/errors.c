/* SPDX-License-Identifier: BSD-2-Clause */
/* The command's standard error: writing to it waits for no reader while it is detached. */
#include "check.h"

#include "ui/errors.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 6000, PIPE_BYTES = 65536, READ_MAX = 1 << 20, WAIT_MS = 10000 };

static int saved_fd;
static int reading_fd;

/* Puts a pipe in the place of standard error. */
static void begin(int pipe_bytes)
{
    int ends[2];
    saved_fd = dup(STDERR_FILENO);
    CHECK_INT(0, pipe(ends));
    CHECK(fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes) >= pipe_bytes);
    CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    close(ends[1]);
    reading_fd = ends[0];
}

static void end(void)
{
    dup2(saved_fd, STDERR_FILENO);
    close(saved_fd);
    if (reading_fd >= 0)
        close(reading_fd);
}

/* Reads more into `text`, which has `used` bytes. Returns how many there are then. */
static size_t read_more(char text[READ_MAX], size_t used)
{
    struct pollfd watched = {.fd = reading_fd, .events = POLLIN};
    ssize_t got;
    CHECK_INT(1, poll(&watched, 1, WAIT_MS));
    got = read(reading_fd, text + used, READ_MAX - 1 - used);
    CHECK(got > 0);
    text[used + (size_t)got] = '\0';
    return used + (size_t)got;
}

static const char *read_until(const char *last)
{
    static char text[READ_MAX];
    size_t used = 0;
    text[0] = '\0';
    while (!strstr(text, last))
        used = read_more(text, used);
    return text;
}

static size_t count(const char *text, const char *word)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        found++;
    return found;
}

/* The sum of what all notes in the text say. */
static size_t dropped_by_notes(const char *text)
{
    size_t all = 0, some;
    for (const char *at = text; (at = strstr(at, "redlock: ")) != NULL; at++) {
        CHECK_INT(1, sscanf(at, "redlock: %zu lines were dropped", &some));
        all += some;
    }
    return all;
}

/* Cuts the text behind the first probe after a note; its number, or 0 while there is none. */
static size_t cut_behind_probe(char *text)
{
    size_t number = 0;
    char *note = strstr(text, "dropped");
    char *probe = note ? strstr(note, "line p") : NULL;
    char *end = probe ? strchr(probe, '\n') : NULL;

    if (!end)
        return 0;
    CHECK_INT(1, sscanf(probe, "line p%zu", &number));
    end[1] = '\0';
    return number;
}

CASE(drops_and_says_so,
     "A reader that stops loses lines, gets a line with how many, and delays nothing.")
{
    static char text[READ_MAX];
    size_t written = LINES, used = 0, seen;

    begin(PIPE_BYTES);
    CHECK_INT(0, errors_detach());
    for (int i = 0; i < LINES; i++) /* far more than both pipes take */
        fprintf(errors_stream(), "line %d of a report that nothing reads\n", i);
    /* A probe that finds the queue full again is dropped too: another one follows. */
    do {
        used = read_more(text, used);
        fprintf(errors_stream(), "line p%zu\n", ++written);
    } while ((seen = cut_behind_probe(text)) == 0);
    CHECK(dropped_by_notes(text) > 0);
    CHECK_INT(seen, count(text, "line ") + dropped_by_notes(text));
    close(reading_fd); /* the writer goes on without a reader */
    reading_fd = -1;
    errors_drain();
    end();
}

CASE(drained_in_order,
     "Draining standard error writes everything in order; later lines go out directly.")
{
    char wanted[32];
    const char *at;
    begin(PIPE_BYTES);
    CHECK_INT(0, errors_detach());
    for (int i = 0; i < 100; i++)
        fprintf(errors_stream(), "line %d\n", i);
    errors_drain();
    fprintf(errors_stream(), "directly\n");
    at = read_until("directly\n");
    for (int i = 0; i < 100; i++) {
        snprintf(wanted, sizeof wanted, "line %d\n", i);
        CHECK(strncmp(at, wanted, strlen(wanted)) == 0);
        at += strlen(wanted);
    }
    CHECK_STR("directly\n", at);
    end();
}

CASE(frames_do_not_pile_up, "A line that is drawn over and over leaves room for messages.")
{
    const char *text;
    begin(PIPE_BUF);
    CHECK_INT(0, errors_detach());
    /* More than standard error and the thread take, less than the queue. */
    for (int i = 0; i < 1000; i++)
        fprintf(errors_stream(), "line %d of twenty\n", i);
    for (int i = 0; i < 10 * PIPE_BYTES; i++)
        errors_draw("frame\r");
    fprintf(errors_stream(), "the end\n");
    text = read_until("the end\n");
    CHECK_INT(0, count(text, "frame"));
    CHECK_INT(0, count(text, "dropped"));
    errors_drain();
    end();
}
