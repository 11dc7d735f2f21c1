/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/question.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "ui/errors.h"
#include "ui/exit.h"
#include "ui/message.h"

#define ANSWER_MAX 64

int question_confirm(const char *question)
{
    char answer[ANSWER_MAX];
    fprintf(errors_stream(), "%s [y/N] ", question);
    fflush(errors_stream());
    if (fgets(answer, sizeof answer, stdin)) {
        answer[strcspn(answer, "\n")] = '\0';
        if (strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0)
            return 0;
    } else {
        fputc('\n', errors_stream());
    }
    return message_fail(EXIT_DECLINED, "nothing was changed");
}
