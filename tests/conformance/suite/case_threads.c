/* SPDX-License-Identifier: MIT */
/*
 * suite/case_threads.c -- readers on other threads while the engine commits.
 *
 * Every round keeps a sum constant (two events at a time, one message out and
 * one in); a reader that sees another sum saw half a round.  C1, R3, H1, L2.
 */
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { READERS = 3, ROUNDS = 150, MESSAGES = 5 };

struct reader {
    pthread_t thread;
    pawl_store *store;
    uint64_t uid;
    pthread_barrier_t *start;
    atomic_bool *stop;
    unsigned long reads;
    char failure[200]; /* empty: none */
};

/* NULL, or what is wrong with what this call saw. */
static const char *look(struct reader *r, pawl_mem *mem, uint64_t *last_seq)
{
    const pawl_store_ops *ops = r->store->ops;
    pawl_event_list events = {0};
    pawl_message_list messages = {0};
    pawl_row row = {0};
    pawl_row_list rows = {0};
    pawl_row_query q = {.limit = 10};
    if (ops->read_history(r->store, r->uid, 1, 0, 0, mem, &events, NULL) != PAWL_OK)
        return "read_history failed";
    if (events.count % 2 != 1)
        return "half a round in the history";
    for (size_t i = 0; i < events.count; i++) {
        if (events.items[i].seq != i + 1)
            return "a gap in the history";
    }
    if (events.count < *last_seq)
        return "the history shrank";
    *last_seq = events.count;
    if (ops->find_uid(r->store, r->uid, mem, &row, NULL) != PAWL_OK)
        return "find_uid failed";
    if (row.last_seq < *last_seq || row.last_seq % 2 != 1)
        return "the row is behind the history";
    if (ops->read_messages(r->store, r->uid, pawl_s(NULL), mem, &messages, NULL) != PAWL_OK)
        return "read_messages failed";
    if (messages.count != MESSAGES)
        return "half a round in the messages";
    if (ops->list(r->store, &q, mem, &rows, NULL) != PAWL_OK || rows.count != 1)
        return "list lost the instance";
    return NULL;
}

static void *read_on(void *arg)
{
    struct reader *r = arg;
    pawl_mem *mem = pawl_mem_new();
    uint64_t last_seq = 0;
    pthread_barrier_wait(r->start);
    do {
        const char *wrong = look(r, mem, &last_seq);
        if (wrong)
            snprintf(r->failure, sizeof(r->failure), "%s (read %lu)", wrong, r->reads);
        r->reads++;
        pawl_mem_reset(mem);
    } while (!atomic_load(r->stop) && !r->failure[0]);
    pawl_mem_free(mem);
    return NULL;
}

static void commit_rounds(struct probe *t, pawl_row *a, uint64_t *messages)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct draft *d = change(t, a);
        draft_event(d, "one");
        draft_event(d, "two");
        draft_drop_message(d, messages[i % MESSAGES]);
        messages[i % MESSAGES] = draft_mail(d, "m");
        CHECK_STATUS(commit(d), PAWL_OK);
    }
}

static void c1_h1_r3_readers_never_see_half_a_round(struct probe *t)
{
    pawl_row a = make(t, "a");
    uint64_t messages[MESSAGES];
    struct reader readers[READERS] = {0};
    pthread_barrier_t start;
    atomic_bool stop = false;
    CHECK(pthread_barrier_init(&start, NULL, READERS + 1) == 0);
    for (int i = 0; i < MESSAGES; i++)
        messages[i] = deliver(t, &a, "m");
    for (int i = 0; i < READERS; i++) {
        readers[i] =
            (struct reader){.store = t->store, .uid = a.uid, .start = &start, .stop = &stop};
        CHECK(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]) == 0);
    }
    pthread_barrier_wait(&start);
    /* A failed check would leave the threads behind: end them first. */
    jmp_buf outer;
    memcpy(&outer, &t->out, sizeof(outer));
    if (setjmp(t->out) == 0)
        commit_rounds(t, &a, messages);
    memcpy(&t->out, &outer, sizeof(outer));
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    if (t->failure[0])
        longjmp(t->out, 1);
    for (int i = 0; i < READERS; i++) {
        CHECK_TEXT(readers[i].failure, "");
        CHECK(readers[i].reads > 0);
    }
    CHECK_NUMBER(find(t, "a").last_seq, 1 + 2 * ROUNDS);
}

const struct probe_case cases_threads[] = {
    CASE(c1_h1_r3_readers_never_see_half_a_round),
    CASES_END,
};
