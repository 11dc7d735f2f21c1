/* SPDX-License-Identifier: BSD-2-Clause */
#include "system/process.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAME_MAX_BYTES 16 /* of a thread, with terminator */

static struct {
    char *begin;
    size_t size; /* of all arguments, which lie one behind the other */
} room;

void process_begin(int argc, char **argv)
{
    int fd;
    char *end = argv[0];
    room.begin = argv[0];
    for (int i = 0; i < argc && argv[i] == end; i++)
        end += strlen(argv[i]) + 1;
    room.size = (size_t)(end - room.begin);
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

void process_set_title(const char *title)
{
    char name[NAME_MAX_BYTES] = "";
    size_t length;
    strncat(name, title, sizeof name - 1);
    prctl(PR_SET_NAME, name);
    if (room.size == 0)
        return;
    length = strlen(title) < room.size ? strlen(title) : room.size - 1;
    memset(room.begin, 0, room.size);
    memcpy(room.begin, title, length);
}
