/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets in the file system, of that type; -1 when it cannot be. */
#ifndef LAB_SERVERS_UNIX_SOCKET_H
#define LAB_SERVERS_UNIX_SOCKET_H

#include <sys/socket.h>

int unix_listen(const char *path, int type);
int unix_connect(const char *path, int type);

#endif
