/* SPDX-License-Identifier: BSD-2-Clause */
/* What a service reports of locks, as the library would report it of the nodes. */
#ifndef CLI_SERVICE_LOOK_H
#define CLI_SERVICE_LOOK_H

#include <redlock.h>

#include "service/call.h"

/* As redlock_query(); in `detail` the words for an error. The value of a holder is not shown:
 * its fingerprint stands in its place. */
int service_look(const struct service *s, const char *name, redlock_info *info,
                 redlock_report *report, char detail[SERVICE_DETAIL_MAX]);

/* As redlock_list(), in the order of bytes. */
typedef void service_name_fn(const char *name, void *data);
int service_list(const struct service *s, service_name_fn *each, void *data,
                 char detail[SERVICE_DETAIL_MAX]);

/* As redlock_break(); only the holder's label and remaining_ms are in the report. */
int service_break(const struct service *s, const char *name, const char *fingerprint,
                  redlock_report *report, char detail[SERVICE_DETAIL_MAX]);

/* The tenure of each Sentinel group of the lock (redlock_node_info); 0: no server has one. */
struct service_tenures {
    uint32_t count;
    uint64_t tenure[REDLOCK_NODES_MAX];
};
int service_look_tenures(const struct service *s, const char *name, struct service_tenures *out,
                         char detail[SERVICE_DETAIL_MAX]);

/* The nodes of an answer that has them. */
void service_read_nodes(struct rl_json_value body, redlock_report *report);

#endif
