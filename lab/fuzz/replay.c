/* SPDX-License-Identifier: BSD-2-Clause */
/* replay PATH...: runs each file, and each file of each directory, through the fuzz target. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX (1 << 20)
#define PATH_MAX_BYTES 4096

static unsigned runs;

static void stop(const char *path, const char *why)
{
    fprintf(stderr, "replay: %s: %s\n", path, why);
    exit(1);
}

static void run_file(const char *path)
{
    static uint8_t bytes[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    size_t size;
    uint8_t *copy;

    if (!file)
        stop(path, strerror(errno));
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (size == sizeof bytes)
        stop(path, "too large for a kept input");
    /* Before the run: if it crashes, the last name is the input that did it. */
    dprintf(STDOUT_FILENO, "%s\n", path);

    copy = fuzz_copy(bytes, size);

    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    runs++;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_directory(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_input, alphasort);

    if (count < 0)
        stop(path, strerror(errno));
    for (int i = 0; i < count; i++) {
        char file[PATH_MAX_BYTES];

        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        run_file(file);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;

        if (stat(argv[i], &info) != 0)
            stop(argv[i], strerror(errno));
        if (S_ISDIR(info.st_mode))
            run_directory(argv[i]);
        else
            run_file(argv[i]);
    }
    if (runs == 0)
        stop("no input", "nothing was run");
    dprintf(STDOUT_FILENO, "%u inputs\n", runs);
    return 0;
}
