/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON writer of the command (ui/json.h), here under other names: five of its functions are
 * called as functions of jansson are, and a program that has both would give jansson the wrong
 * ones. The file is compiled once more for the daemon with this header in front. A source
 * includes this or http/json.h.
 */
#ifndef REDLOCKD_HTTP_WRITER_H
#define REDLOCKD_HTTP_WRITER_H

#define json_object writer_object
#define json_array writer_array
#define json_string writer_string
#define json_integer writer_integer
#define json_real writer_real

#include "ui/json.h"

#endif
