/* SPDX-License-Identifier: BSD-2-Clause */
#include "dev/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 8
#define REQUEST_WAIT_MS 1000
#define ANSWER_WAIT_MS 30000 /* starting a server may take ten seconds, and others may queue */

/*
 * Socket paths are short and directories need not be: the path leads through a descriptor of
 * the directory.
 */
static struct sockaddr_un address_in(int directory_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" DEV_CONTROL_NAME,
             directory_fd);
    return address;
}

int dev_control_listen(int directory_fd)
{
    struct sockaddr_un address = address_in(directory_fd);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ready = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
                 listen(fd, BACKLOG) == 0;
    int error = errno;
    if (!ready && fd >= 0)
        close(fd);
    errno = error;
    return ready ? fd : -1;
}

/* Reads until the other side ends or `size` - 1 bytes are there; `line`: until a line is. */
static ssize_t read_text(int fd, char *text, size_t size, int wait_ms, bool line)
{
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    size_t used = 0;
    while (used + 1 < size) {
        int ready = poll(&watched, 1, wait_ms);
        ssize_t got;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0) {
            errno = ready == 0 ? ETIMEDOUT : errno;
            return -1;
        }
        got = recv(fd, text + used, size - 1 - used, 0);
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += (size_t)got;
        if (line && memchr(text, '\n', used))
            break;
    }
    text[used] = '\0';
    return (ssize_t)used;
}

/* Sockets of this size take a whole request or answer at once. */
static bool send_text(int fd, const char *text)
{
    size_t length = strlen(text);
    return send(fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

int dev_control_accept(int listen_fd, char request[DEV_LINE_MAX])
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    if (read_text(fd, request, DEV_LINE_MAX, REQUEST_WAIT_MS, true) < 0) {
        close(fd);
        return -1;
    }
    request[strcspn(request, "\n")] = '\0';
    return fd;
}

void dev_control_answer(int fd, const char *answer)
{
    send_text(fd, answer);
    close(fd);
}

int dev_control_request(const char *directory, const char *request, char answer[DEV_ANSWER_MAX])
{
    char line[DEV_LINE_MAX];
    int fd = -1, directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sockaddr_un address = address_in(directory_fd);
    bool done;
    int error;
    if (directory_fd >= 0)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(line, sizeof line, "%s\n", request);
    done = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
           send_text(fd, line) &&
           read_text(fd, answer, DEV_ANSWER_MAX, ANSWER_WAIT_MS, false) >= 0;
    error = done ? 0 : errno;
    if (fd >= 0)
        close(fd);
    if (directory_fd >= 0)
        close(directory_fd);
    return error;
}
