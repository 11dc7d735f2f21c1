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

void source_close(struct source *s, const struct settings *settings)
{
    client_close(settings, s->client);
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
    redlock_answer *answer = NULL;
    if (!s->client)
        return service_look(&s->service, name, info, report, s->detail);
    int error = keep_detail(s, redlock_query(s->client, name, &answer));
    if (error == REDLOCK_OK)
        *info = *answer->info;
    return client_report(report, error, answer);
}

int source_break(struct source *s, const char *name, const char *fingerprint,
                 redlock_report *report)
{
    redlock_answer *answer = NULL;
    if (!s->client)
        return service_break(&s->service, name, fingerprint, report, s->detail);
    int error = keep_detail(s, redlock_break(s->client, name, fingerprint, &answer));
    return client_report(report, error, answer);
}
