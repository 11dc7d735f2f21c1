/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture.h"

#include "fuzz.h"

static FILE *real_out;
static FILE *real_err;

/* The linker sends the command's own stream for standard error here: it writes
 * to a descriptor. */
FILE *__wrap_errors_stream(void);
FILE *__wrap_errors_stream(void)
{
    return stderr;
}

void capture_begin(struct capture *capture)
{
    real_out = stdout;
    real_err = stderr;
    /* The GNU library lets both be replaced; nothing is written to a file that way. */
    stdout = open_memstream(&capture->out, &capture->out_size);
    stderr = open_memstream(&capture->err, &capture->err_size);
    if (!stdout || !stderr)
        abort();
}

void capture_end(struct capture *capture)
{
    (void)capture;
    fclose(stdout);
    fclose(stderr);
    stdout = real_out;
    stderr = real_err;
}

void capture_free(struct capture *capture)
{
    free(capture->out);
    free(capture->err);
}
