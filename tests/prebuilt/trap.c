/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded, it stands before every other definition: whatever takes OpenSSL from the
 * process ends here. */
#include <stdlib.h>

void *SSL_CTX_new(const void *method);
void *SSL_CTX_new(const void *method)
{
    (void)method;
    abort();
}
