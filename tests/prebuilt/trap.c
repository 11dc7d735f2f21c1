/* SPDX-License-Identifier: BSD-2-Clause */
/* Preloaded, it stands before every other definition: whatever takes OpenSSL from the
 * process ends here. Without a C library: a cross compiler may have none. */
void *SSL_CTX_new(const void *method);
void *SSL_CTX_new(const void *method)
{
    (void)method;
    __builtin_trap();
}
