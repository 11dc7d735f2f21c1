/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay PATH...: runs each file, and each file of each directory, through the fuzz target, and
 * mutants of the files of directories: a few bytes of each are others, in every run the same.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX (1 << 20)
#define PATH_MAX_BYTES 4096
#define MUTANTS 30000 /* of all files of a directory */
#define EDITS_MAX 4

/* What runs now, for the process that is still there if it fails. */
struct running {
    char path[PATH_MAX_BYTES];
    unsigned mutant; /* 0: the file itself */
    size_t size;
    uint8_t bytes[INPUT_MAX + EDITS_MAX];
};

static struct running *running;
static unsigned runs;

static void stop(const char *path, const char *why)
{
    fprintf(stderr, "replay: %s: %s\n", path, why);
    exit(1);
}

static void run(void)
{
    uint8_t *copy = fuzz_copy(running->bytes, running->size);

    LLVMFuzzerTestOneInput(copy, running->size);
    free(copy);
    runs++;
}

/* Of xorshift, as good as any and the same everywhere. */
static size_t draw(size_t below)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 33) % below;
}

/* Replaces, inserts or removes a byte. */
static void edit(uint8_t *bytes, size_t *size)
{
    static const char likely[] = "\r\n\t $*+-:;,./@%?#=_|~&[]{}()<>'\"\\0123456789aefnrtu";
    size_t at = draw(*size + 1), how = draw(4);
    uint8_t byte = (uint8_t)(draw(4) ? likely[draw(sizeof likely - 1)] : (char)draw(256));

    if (how > 1 && at < *size) {
        bytes[at] = byte;
    } else if (how == 1 && at < *size) {
        memmove(bytes + at, bytes + at + 1, --*size - at);
    } else {
        memmove(bytes + at + 1, bytes + at, (*size)++ - at);
        bytes[at] = byte;
    }
}

static void run_file(const char *path, unsigned mutants)
{
    static uint8_t bytes[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        stop(path, strerror(errno));
    size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (size == sizeof bytes)
        stop(path, "too large for a kept input");
    snprintf(running->path, sizeof running->path, "%s", path);
    for (unsigned i = 0; i <= mutants; i++) {
        memcpy(running->bytes, bytes, size);
        running->size = size;
        running->mutant = i;
        for (size_t edits = i > 0 ? 1 + draw(EDITS_MAX) : 0; edits > 0; edits--)
            edit(running->bytes, &running->size);
        run();
    }
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
        run_file(file, MUTANTS / (unsigned)count);
        free(entries[i]);
    }
    free(entries);
}

static int run_all(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;

        if (stat(argv[i], &info) != 0)
            stop(argv[i], strerror(errno));
        if (S_ISDIR(info.st_mode))
            run_directory(argv[i]);
        else
            run_file(argv[i], 0);
    }
    if (runs == 0)
        stop("no input", "nothing was run");
    dprintf(STDOUT_FILENO, "%u inputs\n", runs);
    return 0;
}

int main(int argc, char **argv)
{
    int status = 0;
    pid_t pid;

    running =
        mmap(NULL, sizeof *running, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (running == MAP_FAILED || (pid = fork()) < 0)
        stop("fork", strerror(errno));
    if (pid == 0)
        exit(run_all(argc, argv));
    if (waitpid(pid, &status, 0) == pid && status == 0)
        return 0;
    fprintf(stderr, "replay: failed with %s, mutant %u, in hex:\n", running->path,
            running->mutant);
    for (size_t i = 0; i < running->size; i++)
        fprintf(stderr, "%02x", running->bytes[i]);
    fprintf(stderr, "\n");
    return 1;
}
