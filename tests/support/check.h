/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The test runner: named cases, each in a child process of its own.
 *
 *     CASE(release_deletes_the_key, "A released lock leaves no key behind.")
 *     {
 *         CHECK_INT(0, server_int(&server, "DBSIZE", NULL));
 *     }
 *
 * A case fails at its first failed check, by crashing, by leaking (under LeakSanitizer) or
 * by exceeding its time. Whatever it started is killed with it: its process group is swept
 * and its temporary directory removed by the runner, so that nothing outlives a test.
 *
 * Usage of a test program: `prog` runs every case, `prog NAME...` runs those, `prog --list`.
 */
#ifndef REDLOCK_TESTS_CHECK_H
#define REDLOCK_TESTS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZED 1
#else
#define CHECK_SANITIZED 0
#endif

/*
 * Servers and clients come with CASE_ON() of fixture.h. The build system greps for lines that
 * begin with CASE to register each case with ctest, and so does scripts/intents.py.
 */
#define CASE(name, intent)                                                                     \
    static void name(void);                                                                    \
    __attribute__((constructor)) static void register_##name(void)                             \
    {                                                                                          \
        check_register(#name, intent, name, 1);                                                \
    }                                                                                          \
    static void name(void)

/* A case whose body is one call: for tables of cases that differ by data. */
#define CASE_OF(name, intent, call)                                                            \
    CASE(name, intent)                                                                         \
    {                                                                                          \
        call;                                                                                  \
    }                                                                                          \
    static void name(void)

/* Once for each of the flags, of clients for the most part, which its body has as `flags`. */
#define CASE_EACH(name, intent, ...)                                                           \
    static void name(uint32_t flags);                                                          \
    static void run_##name(void)                                                               \
    {                                                                                          \
        static const uint32_t each[] = {__VA_ARGS__};                                          \
        name(check_flags(each));                                                               \
    }                                                                                          \
    __attribute__((constructor)) static void register_##name(void)                             \
    {                                                                                          \
        check_register(#name, intent, run_##name,                                              \
                       (int)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)));           \
    }                                                                                          \
    static void name(uint32_t flags)

/* `runs` times, each in a process of its own; check_run() counts them from 0. */
void check_register(const char *name, const char *intent, void (*run)(void), int runs);
int check_run(void);
uint32_t check_flags(const uint32_t *each); /* those of this run */

/* Once in a file, at its top: every case of the program begins with it. */
#define CASES_BEGIN_WITH(begin)                                                                \
    __attribute__((constructor)) static void register_begin(void)                              \
    {                                                                                          \
        check_at_begin(begin);                                                                 \
    }                                                                                          \
    static void register_begin(void)
void check_at_begin(void (*begin)(void));

/* Runs when the body of the case has returned; one function for all callers. */
void check_at_end(void (*end)(void));

/* Temporary directory of the running case; no trailing slash. */
const char *check_dir(void);

/* A number from the environment: the long variants of tests (REDLOCK_SLOW_TESTS) set some. */
long check_setting(const char *name, long otherwise);

/* Ends the case as not applicable here. */
__attribute__((noreturn, format(printf, 1, 2))) void check_skip(const char *format, ...);

/* Ends the case as failed. Used by the macros and by the support code. */
__attribute__((noreturn, format(printf, 3, 4))) void check_fail(const char *file, int line,
                                                                const char *format, ...);

#define FAIL(...) check_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition))                                                                      \
            check_fail(__FILE__, __LINE__, "expected %s", #condition);                         \
    } while (0)

#define CHECK_INT(expected, actual)                                                            \
    check_int(__FILE__, __LINE__, #actual, (int64_t)(expected), (int64_t)(actual))
#define CHECK_BETWEEN(low, high, actual)                                                       \
    check_between(__FILE__, __LINE__, #actual, (int64_t)(low), (int64_t)(high),                \
                  (int64_t)(actual))
#define CHECK_STR(expected, actual) check_str(__FILE__, __LINE__, #actual, expected, actual)
#define CHECK_HAS(needle, haystack)                                                            \
    check_has(__FILE__, __LINE__, #haystack, needle, haystack, true)
#define CHECK_LACKS(needle, haystack)                                                          \
    check_has(__FILE__, __LINE__, #haystack, needle, haystack, false)

/* For calls of the library: names the errors and quotes redlock_detail(). */
#define CHECK_ERR(expected, call) check_err(__FILE__, __LINE__, #call, expected, call)
#define CHECK_OK(call) CHECK_ERR(0, call)

/*
 * What must not happen whatever the machine is doing: two holders, a token out of order, a lock
 * granted by nodes that may not vote. Such a failure is reported as "unsafe".
 */
#define CHECK_NEVER(count) check_never(__FILE__, __LINE__, #count, (int64_t)(count))
#define CHECK_REFUSED(expected, call)                                                          \
    check_never_granted(__FILE__, __LINE__, #call, expected, call)

void check_int(const char *file, int line, const char *what, int64_t expected, int64_t actual);
void check_between(const char *file, int line, const char *what, int64_t low, int64_t high,
                   int64_t actual);
void check_str(const char *file, int line, const char *what, const char *expected,
               const char *actual);
void check_has(const char *file, int line, const char *what, const char *needle,
               const char *haystack, bool wanted);
void check_err(const char *file, int line, const char *what, int expected, int actual);
void check_never(const char *file, int line, const char *what, int64_t count);
void check_never_granted(const char *file, int line, const char *what, int expected,
                         int actual);

#endif
