/* SPDX-License-Identifier: BSD-2-Clause */
#include "commands/source.h"

#include <stdio.h>

#include "service/look.h"
#include "settings/open_client.h"

int source_open(struct source *s, struct settings *settings)
{
    return settings->service ? service_open(&s->service, settings)
                             : client_open(settings, &s->client);
}

void source_close(struct source *s)
{
    redlock_close(s->client);
    service_close(&s->service);
    s->client = NULL;
}

static int keep_detail(struct source *s, int error)
{
    if (error != REDLOCK_OK)
        snprintf(s->detail, sizeof s->detail, "%s", redlock_detail());
    return error;
}

int source_query(struct source *s, const char *name, redlock_info *info, redlock_report *report)
{
    if (!s->client)
        return service_look(&s->service, name, info, report, s->detail);
    return keep_detail(s, redlock_query(s->client, name, info, report));
}

int source_break(struct source *s, const char *name, const char *mark, redlock_report *report)
{
    if (!s->client)
        return service_break(&s->service, name, mark, report, s->detail);
    return keep_detail(s, redlock_break(s->client, name, mark, report));
}
