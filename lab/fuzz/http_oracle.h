/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What another parser (Node's former http-parser, as Debian has it) makes of the first request
 * in some bytes. A file of its own, since both parsers call a struct http_parser.
 */
#ifndef REDLOCK_HTTP_ORACLE_H
#define REDLOCK_HTTP_ORACLE_H

#include <stddef.h>

#define ORACLE_TEXT_MAX 17000

enum oracle_progress { ORACLE_MORE, ORACLE_DONE, ORACLE_REFUSED };

struct oracle {
    enum oracle_progress progress;
    const char *method;
    unsigned fields;
    size_t target_size;
    size_t body_size;
    char target[ORACLE_TEXT_MAX];
    char body[ORACLE_TEXT_MAX];
};

void oracle_parse(const char *bytes, size_t size, struct oracle *oracle);

#endif
