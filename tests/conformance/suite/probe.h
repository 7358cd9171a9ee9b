/* SPDX-License-Identifier: MIT */
/*
 * suite/probe.h -- what the conformance tests are written with.
 *
 * A *probe* is one test's store, fence, clock and memory.  A *draft* is a round
 * being put together: ids come from the probe's fence, events and rows are kept
 * in step, so a test says only what it is about.  Answers come back as texts
 * ("a b c") that are compared in one line.
 *
 *     pawl_row a = make(t, "a");                   an instance with one event
 *     struct draft *d = change(t, &a);             a round on it
 *     draft_event(d, "x");
 *     CHECK_STATUS(commit(d), PAWL_OK);
 *     CHECK_TEXT(history(t, a.uid, 1), "start x");
 *
 * A failed CHECK ends the test.  Only public headers of the library are used,
 * and store/fault for lost replies.
 */
#ifndef PAWL_CONFORMANCE_PROBE_H
#define PAWL_CONFORMANCE_PROBE_H

#include "pawl/conformance.h"

#include <setjmp.h>

#define SIDES_MAX 8

struct probe {
    const pawl_conformance_factory *factory;
    const char *file; /* of a spec */
    pawl_store *store;
    pawl_fence fence;
    pawl_store *first;            /* the handle that the factory opened */
    pawl_store *sides[SIDES_MAX]; /* further handles that are open */
    pawl_mem *mem;
    int64_t now;
    jmp_buf out;
    bool skipped;
    char failure[1000]; /* empty: none */
};

typedef void probe_fn(struct probe *t);

struct probe_case {
    const char *name; /* begins with its clauses: "c2_c3_a_sentence" */
    probe_fn *run;
    const char *file; /* of a spec */
};

/* clang-format off */
#define CASE(name) {#name, name, NULL}
#define CASES_END  {NULL, NULL, NULL}
/* clang-format on */

/* ---- Checks -------------------------------------------------------------- */

__attribute__((noreturn, format(printf, 4, 5))) void probe_fail(struct probe *t, const char *file,
                                                                int line, const char *format, ...);
__attribute__((noreturn)) void probe_skip(struct probe *t);
void probe_text(struct probe *t, const char *file, int line, const char *got, const char *want);
void probe_status(struct probe *t, const char *file, int line, const char *what, int got, int want);

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond))                                                                               \
            probe_fail(t, __FILE__, __LINE__, "%s", #cond);                                        \
    } while (0)
#define CHECK_TEXT(got, want)    probe_text(t, __FILE__, __LINE__, (got), (want))
#define CHECK_STATUS(expr, want) probe_status(t, __FILE__, __LINE__, #expr, (expr), (want))
#define CHECK_NUMBER(got, want)                                                                    \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_)                                                                         \
            probe_fail(t, __FILE__, __LINE__, "%s is %lld, not %lld", #got, got_, want_);          \
    } while (0)

/* ---- The store as a whole ------------------------------------------------ */

/* Skip the test on stores without the capability (K1 to K5 hold there instead).
 * Tests of M3, W3 and N1 are skipped by their names. */
pawl_store_caps caps_of(struct probe *t);
void needs_delays(struct probe *t);
void needs_rounds(struct probe *t);

void take(struct probe *t); /* and remember the fence */
void die(struct probe *t);  /* the process dies, the data is opened again; not yet taken */
void tick(struct probe *t, int64_t ms);
uint64_t new_id(struct probe *t); /* from the fence */

/* ---- Several lanes -------------------------------------------------------- */

/* An engine beside.  The probe speaks for one engine at a time; speak_for() changes places with another:
 *
 *     struct side b = beside(t);      joined, without shards
 *     hand_over(t, &b, 1 << 5);           the probe gives b shard 5, and b adopts it
 *     speak_for(t, &b);                    the probe is b now, and `b` is who it was
 */
struct side {
    pawl_store *store;
    pawl_fence fence;
};

void needs_lanes(struct probe *t); /* skip the test where lanes cannot share the store */
struct side another(struct probe *t);
struct side beside(struct probe *t);
void speak_for(struct probe *t, struct side *other);
void side_close(struct probe *t, struct side *side); /* the handle; its lane stays */
void sides_close(struct probe *t);                   /* all of them, at the end */
void claim(struct probe *t, uint64_t shards);        /* what is free of them; and adopt */
void adopt(struct probe *t);
void hand_over(struct probe *t, struct side *heir, uint64_t shards);
void bury(struct probe *t, uint64_t epoch);
void hint(struct probe *t, uint64_t shards);
/* "12 -" : shards below 8 of each lane, by epoch, a lane a word; then the free ones: "12 - 0" */
const char *owners(struct probe *t);
pawl_lane_view lanes(struct probe *t);
const pawl_shared_ops *shared(struct probe *t);
void needs_nodes(struct probe *t);
/* The store's clock goes on by so much: really, where it has one of its own. */
void pass(struct probe *t, int64_t ms);

/* ---- Rounds -------------------------------------------------------------- */

struct draft {
    struct probe *t;
    pawl_round round;
    pawl_row row;       /* as it is after the round */
    pawl_row *from;     /* updated when the round is committed; may be NULL */
    pawl_event *events; /* these grow in the probe's memory */
    pawl_message *messages;
    pawl_work *work;
    uint64_t *drop_messages, *drop_work, *need_work;
    pawl_message_update *message_updates;
    pawl_work_update *work_updates;
    pawl_quarantine *quarantine;
    pawl_str *keys;
};

struct draft *free_round(struct probe *t);                  /* touches no instance */
struct draft *insert(struct probe *t, const char *id);      /* a new instance with one event */
struct draft *change(struct probe *t, pawl_row *row);       /* LAST, on what `row` says */
struct draft *change_all(struct probe *t, pawl_row *row);   /* ALL; edit d->row */
struct draft *remove_round(struct probe *t, pawl_row *row); /* REMOVE */

uint64_t draft_event(struct draft *d, const char *data); /* its rid */
void draft_continue(struct draft *d, const char *data); /* ContinueAsNew; first event of the next */
/* Zero fields get defaults: id; uid and shard of the round. */
uint64_t draft_message(struct draft *d, pawl_message m);
uint64_t draft_mail(struct draft *d, const char *data); /* visible at once */
uint64_t draft_work(struct draft *d, pawl_work w);
uint64_t draft_job(struct draft *d, const char *name);       /* free, visible at once */
uint64_t draft_scheduled(struct draft *d, const char *name); /* with its event, as engines do */
/* The commonest work: taken by this engine, and nothing in it but what its event
 * says.  Stores may keep it in a form of its own. */
uint64_t draft_plain(struct draft *d, const char *name);
void draft_drop_message(struct draft *d, uint64_t id);
void draft_drop_work(struct draft *d, uint64_t id);
void draft_need_work(struct draft *d, uint64_t id);
void draft_update_message(struct draft *d, pawl_message_update u);
void draft_update_work(struct draft *d, pawl_work_update u);
void draft_quarantine(struct draft *d, uint64_t id, const char *reason);
void draft_key(struct draft *d, const char *key);

/* The round as a store gets it. */
pawl_round draft_round(const struct draft *d);
/* The commit's status, or the round's result when the commit was OK. */
pawl_status commit(struct draft *d);
/* Several rounds in one commit; results are in draft->round.result. */
pawl_status commit_all(struct probe *t, struct draft **drafts, size_t count);

/* ---- Shortcuts: one round each, which must be accepted --------------------- */

pawl_row make(struct probe *t, const char *id);
pawl_row make_in(struct probe *t, const char *id, uint32_t shard);
uint64_t deliver(struct probe *t, const pawl_row *to, const char *data); /* free and visible */
uint64_t deliver_at(struct probe *t, const pawl_row *to, const char *data, int64_t visible_ms);
uint64_t enqueue(struct probe *t, const pawl_row *of, const char *name); /* free and visible */
uint64_t enqueue_work(struct probe *t, const pawl_row *of, pawl_work w);
void append(struct probe *t, pawl_row *row, const char *data);
void continue_as_new(struct probe *t, pawl_row *row, const char *data);
void remove_instance(struct probe *t, pawl_row *row);
void purge_all(struct probe *t);

/* ---- Answers, as texts in the probe's memory ------------------------------- */

const char *fetch(struct probe *t, uint32_t limit);      /* `data` of the messages */
const char *fetch_jobs(struct probe *t, uint32_t limit); /* `name` of the work, any */
const char *fetch_named(struct probe *t, const char *name, uint32_t limit);
const char *overdue(struct probe *t, uint32_t limit); /* `name` of fetch_deadlines */
int64_t next_due(struct probe *t, int64_t after_ms);
const char *history(struct probe *t, uint64_t uid, uint64_t execution); /* `data` of the events */
const char *mailbox(struct probe *t, uint64_t uid,
                    const char *instance);             /* read_messages, `data` */
const char *listed(struct probe *t, pawl_row_query q); /* ids over all pages of q.limit */
const char *quarantined(struct probe *t, uint32_t limit);
pawl_depths depths(struct probe *t);
pawl_row find(struct probe *t, const char *id);                             /* uid 0: NOT_FOUND */
pawl_row find_execution(struct probe *t, uint64_t uid, uint64_t execution); /* the same */
pawl_message message(struct probe *t, uint64_t uid, uint64_t id);           /* id 0: not there */
pawl_work work(struct probe *t, uint64_t id);                               /* id 0: not there */

#endif
