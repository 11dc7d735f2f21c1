/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A storage that cannot be fooled by late writers: one register in one file, which remembers
 * the largest fencing token that ever wrote it and refuses smaller ones.
 *
 *     storage FILE write TOKEN TEXT    status 0: written; 1: refused, the token is too old
 *     storage FILE read                prints the token and the text of the last writer
 *
 * This is all that a resource has to do to be safe from holders of a lock that were paused,
 * swapped out or cut off for longer than their lock lived: compare two numbers, and keep the
 * larger one with the data, as durably as the data. It knows nothing about locks or servers.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TEXT_MAX 100

enum { WRITTEN = 0, REFUSED = 1, USAGE = 64, BROKEN = 74 };

struct record {
    int64_t token; /* of the last write; 0: not written yet */
    char text[TEXT_MAX];
};

static int load(int fd, struct record *record)
{
    char line[TEXT_MAX + 32] = "";

    *record = (struct record){.token = 0};
    if (pread(fd, line, sizeof line - 1, 0) < 0)
        return -1;
    /* An empty file is a register that was not written yet. */
    if (line[0] && sscanf(line, "%" SCNd64 " %99[^\n]", &record->token, record->text) < 1)
        return -1;
    return 0;
}

/* Token and text in one write, on the disk before the writer learns that it is accepted. */
static int save(int fd, const struct record *record)
{
    char line[TEXT_MAX + 32];
    int size = snprintf(line, sizeof line, "%" PRId64 " %s\n", record->token, record->text);

    if (ftruncate(fd, size) != 0 || pwrite(fd, line, (size_t)size, 0) != size)
        return -1;
    return fsync(fd);
}

static int write_register(int fd, int64_t token, const char *text)
{
    struct record record;

    if (load(fd, &record) != 0)
        return BROKEN;
    /* The whole of fencing. An equal token is the same holder writing once more. */
    if (token < record.token) {
        printf("refused: token %" PRId64 " is older than %" PRId64 ", which wrote \"%s\"\n",
               token, record.token, record.text);
        return REFUSED;
    }
    record.token = token;
    snprintf(record.text, sizeof record.text, "%s", text);
    if (save(fd, &record) != 0)
        return BROKEN;
    printf("accepted: \"%s\" with token %" PRId64 "\n", record.text, token);
    return WRITTEN;
}

static int read_register(int fd)
{
    struct record record;

    if (load(fd, &record) != 0)
        return BROKEN;
    printf("%" PRId64 " %s\n", record.token, record.text);
    return 0;
}

int main(int argc, char **argv)
{
    int64_t token = argc == 5 ? strtoll(argv[3], NULL, 10) : 0;
    int status;
    int fd;

    if (!(argc == 3 && strcmp(argv[2], "read") == 0) &&
        !(argc == 5 && strcmp(argv[2], "write") == 0 && token > 0)) {
        fprintf(stderr, "usage: storage FILE write TOKEN TEXT | storage FILE read\n");
        return USAGE;
    }
    /* Comparing and writing must not be interleaved with another writer's. */
    fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        perror(argv[1]);
        return BROKEN;
    }
    status = argc == 5 ? write_register(fd, token, argv[4]) : read_register(fd);
    if (status == BROKEN)
        fprintf(stderr, "%s: not a register, or the disk failed\n", argv[1]);
    close(fd);
    return status;
}
