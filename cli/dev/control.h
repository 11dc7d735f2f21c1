/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How another process controls a running `redlock dev`: a socket in its directory, one
 * request per connection. The request is a line `VERB [NAME]`. The answer is a line per
 * server, `NAME PORT PID STATE ROLE [QUORUM]`, then `fresh` if it was started by this, and then
 * `ok`; or instead `error STATUS TEXT`.
 */
#ifndef CLI_DEV_CONTROL_H
#define CLI_DEV_CONTROL_H

#include <stddef.h>

#define DEV_CONTROL_NAME "control"
#define DEV_LINE_MAX 256
#define DEV_ANSWER_MAX 4096

/* The listening socket in the directory behind the descriptor; -1 with errno. */
int dev_control_listen(int directory_fd);

/* Accepts a connection and reads its request. Returns the connection or -1. */
int dev_control_accept(int listen_fd, char request[DEV_LINE_MAX]);

/* Sends the answer and closes the connection. */
void dev_control_answer(int fd, const char *answer);

/* Calls the `redlock dev` in `directory`. Returns 0 with its whole answer, or errno. */
int dev_control_request(const char *directory, const char *request,
                        char answer[DEV_ANSWER_MAX]);

#endif
