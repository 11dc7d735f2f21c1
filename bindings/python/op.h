/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the shim share: the client, its operations and their news. */
#ifndef RLPY_OP_H
#define RLPY_OP_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <unistd.h>

#include "shim.h"

/*
 * One client of the library and what happened to its operations.
 *
 * `gate` keeps redlock_close() and other calls apart: calls enter it shared, closing alone. A thread
 * that sleeps in rlpy_wait() is not inside a call of the library and outside the gate, so that a
 * client can be closed while threads wait. After fork() a child leaves gate and mutex alone: a
 * thread that does not exist there may have locked them.
 */
struct rlpy_client {
    redlock *library; /* NULL: closed */
    pid_t process;    /* that opened it */
    bool threaded;
    pthread_rwlock_t gate;
    pthread_mutex_t mutex; /* guards what follows, and the news of the operations */
    struct rlpy_op *first; /* those with news, in the order in which it came */
    struct rlpy_op **last;
    bool stopped;        /* rlpy_stop_news() */
    sem_t news;          /* threaded: posted when the list was empty or news are to end */
    unsigned references; /* operations, and Python itself */
};

/*
 * A lock or a question. Python owns it from its making to rlpy_free(). The library's callbacks get
 * it as `data`; none of them runs any more once redlock_lock_free() or redlock_forget() has returned.
 */
struct rlpy_op {
    struct rlpy_client *client;
    struct rlpy_op *next; /* in the list of news */
    bool is_listed;
    int64_t id;
    unsigned news;        /* enum rlpy_news, not yet taken */
    redlock_lock *handle; /* NULL: a question, or a warning */
    bool is_question;     /* redlock_forget() ends it */
    int outcome;          /* of the last operation */
    char *detail;         /* of the same; NULL: it was OK */
    int lost;
    char *lost_detail;
    int jeopardy;
    int place;
    rlpy_warning *warning;
    sem_t ended; /* threaded: posted when an operation has ended */

    redlock_info *info;
    redlock_report *report;
    char **names;
    size_t name_count;
    rlpy_check *checks;
    size_t check_count;
};

/* Sets rlpy_error(); NULL, for the caller to return. */
void *rlpy_fail(int error);

bool rlpy_is_forked(const rlpy_client *client);

/* A call of the library may be made until rlpy_exit(); in a child the library itself refuses it. */
bool rlpy_enter(const rlpy_client *client);
void rlpy_exit(const rlpy_client *client, bool entered);

/* Into the list of news, and out of it: with the mutex held. */
void rlpy_note(rlpy_op *op, unsigned news);
void rlpy_unlist(rlpy_op *op);

/* A loop hears of the end by the list, a thread by the semaphore that it sleeps on. */
void rlpy_note_end(rlpy_op *op, int error);

/* Callbacks of a lock; data: its operation. */
void rlpy_on_done(redlock_lock *lock, int error, void *data);
void rlpy_on_lost(redlock_lock *lock, int error, void *data);
void rlpy_on_jeopardy(redlock_lock *lock, int error, void *data);
void rlpy_on_queued(redlock_lock *lock, int place, void *data);

/* Gives back a reference; the last one frees the client. */
void rlpy_unref(rlpy_client *client);

#endif
