/* SPDX-License-Identifier: MIT */
/*
 * suite/case_refused.c -- every cause of a refusal (C3), as a table.
 *
 * Each cause spoils a round that is otherwise good.  It must be refused, alone,
 * between two good rounds of the same commit, and leave nothing behind.
 */
#include "suite.h"

#include <string.h>

/* What the spoilers may refer to. */
struct scene {
    pawl_row a;             /* two events */
    uint64_t message, work; /* stored */
};

typedef struct draft *spoil_fn(struct probe *t, struct scene *s);

static struct draft *on_a(struct probe *t, struct scene *s)
{
    struct draft *d = change(t, &s->a);
    draft_event(d, "spoilt");
    d->from = NULL;
    return d;
}

static struct draft *instance_missing(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    d->round.uid = d->row.uid = new_id(t);
    return d;
}

static struct draft *instance_removed(struct probe *t, struct scene *s)
{
    pawl_row gone = make(t, "gone"), row = gone;
    remove_instance(t, &gone);
    struct draft *d = change(t, &row);
    draft_event(d, "spoilt");
    d->from = NULL;
    (void)s;
    return d;
}

static struct draft *seq_behind(struct probe *t, struct scene *s)
{
    pawl_row old = s->a;
    old.last_seq--;
    struct draft *d = change(t, &old);
    draft_event(d, "spoilt");
    d->from = NULL;
    return d;
}

static struct draft *seq_ahead(struct probe *t, struct scene *s)
{
    pawl_row ahead = s->a;
    ahead.last_seq++;
    struct draft *d = change(t, &ahead);
    draft_event(d, "spoilt");
    d->from = NULL;
    return d;
}

static struct draft *execution_behind(struct probe *t, struct scene *s)
{
    pawl_row old = make(t, "continued"), now = old;
    continue_as_new(t, &now, "second");
    struct draft *d = change(t, &old); /* last_seq 1 fits both executions */
    draft_event(d, "spoilt");
    d->from = NULL;
    (void)s;
    return d;
}

static struct draft *execution_ahead(struct probe *t, struct scene *s)
{
    pawl_row ahead = s->a;
    ahead.execution++;
    struct draft *d = change(t, &ahead);
    draft_event(d, "spoilt");
    d->from = NULL;
    return d;
}

static struct draft *guard_only(struct probe *t, struct scene *s)
{
    pawl_row old = s->a;
    old.last_seq--;
    struct draft *d = change(t, &old);
    d->round.change = PAWL_ROW_NONE;
    d->round.row = NULL;
    d->from = NULL;
    draft_mail(d, "spoilt");
    return d;
}

static struct draft *remove_stale(struct probe *t, struct scene *s)
{
    pawl_row old = s->a;
    old.last_seq--;
    struct draft *d = remove_round(t, &old);
    d->from = NULL;
    return d;
}

static struct draft *uid_exists(struct probe *t, struct scene *s)
{
    struct draft *d = insert(t, "other");
    d->round.uid = d->row.uid = s->a.uid;
    return d;
}

static struct draft *id_exists(struct probe *t, struct scene *s)
{
    (void)s;
    return insert(t, "a");
}

static struct draft *message_exists(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    draft_message(d, (pawl_message){.id = s->message, .data = pawl_s("spoilt")});
    return d;
}

static struct draft *message_twice(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    uint64_t id = draft_mail(d, "spoilt");
    draft_mail(d, "spoilt");
    draft_message(d, (pawl_message){.id = id, .data = pawl_s("spoilt")});
    return d;
}

static struct draft *work_exists(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    draft_work(d, (pawl_work){.id = s->work, .name = pawl_s("spoilt")});
    return d;
}

static struct draft *work_twice(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    uint64_t id = draft_job(d, "spoilt");
    draft_work(d, (pawl_work){.id = id, .name = pawl_s("spoilt")});
    return d;
}

static struct draft *event_exists(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    d->events[0].rid = d->row.last_rid = s->a.first_rid;
    return d;
}

static struct draft *event_twice(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    draft_event(d, "spoilt");
    d->events[1].rid = d->row.last_rid = d->events[0].rid;
    return d;
}

static struct draft *need_work_missing(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    draft_need_work(d, s->work);
    draft_need_work(d, new_id(t));
    return d;
}

static struct draft *event_skips_a_seq(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    draft_event(d, "spoilt");
    d->events[1].seq = ++d->row.last_seq;
    return d;
}

static struct draft *event_repeats_a_seq(struct probe *t, struct scene *s)
{
    struct draft *d = on_a(t, s);
    draft_event(d, "spoilt");
    d->events[1].seq = --d->row.last_seq;
    return d;
}

static struct draft *event_of_a_past_execution(struct probe *t, struct scene *s)
{
    pawl_row row = make(t, "twice");
    continue_as_new(t, &row, "second");
    struct draft *d = change(t, &row);
    draft_event(d, "spoilt");
    d->events[0].execution = 1;
    d->events[0].seq = 3;
    d->from = NULL;
    (void)s;
    return d;
}

static struct draft *next_execution_not_from_one(struct probe *t, struct scene *s)
{
    struct draft *d = change_all(t, &s->a);
    draft_continue(d, "spoilt");
    d->events[1].seq = d->row.last_seq = 2;
    d->from = NULL;
    return d;
}

static const struct cause {
    const char *name;
    spoil_fn *spoil;
    bool skipped; /* by stores without atomic rounds (K2) */
    pawl_why why; /* or the store does not say (C10) */
} causes[] = {
    {"instance missing",           instance_missing,            false, PAWL_WHY_MOVED    },
    {"instance removed",           instance_removed,            false, PAWL_WHY_MOVED    },
    {"seq behind",                 seq_behind,                  false, PAWL_WHY_MOVED    },
    {"seq ahead",                  seq_ahead,                   false, PAWL_WHY_MOVED    },
    {"execution behind",           execution_behind,            false, PAWL_WHY_MOVED    },
    {"execution ahead",            execution_ahead,             false, PAWL_WHY_MOVED    },
    {"guard without a row change", guard_only,                  false, PAWL_WHY_MOVED    },
    {"stale remove",               remove_stale,                false, PAWL_WHY_MOVED    },
    {"inserted uid exists",        uid_exists,                  false, PAWL_WHY_EXISTS   },
    {"inserted id exists",         id_exists,                   false, PAWL_WHY_EXISTS   },
    {"message id exists",          message_exists,              true,  PAWL_WHY_OTHER    },
    {"message id twice",           message_twice,               true,  PAWL_WHY_OTHER    },
    {"work id exists",             work_exists,                 true,  PAWL_WHY_OTHER    },
    {"work id twice",              work_twice,                  true,  PAWL_WHY_OTHER    },
    {"event id exists",            event_exists,                false, PAWL_WHY_OTHER    },
    {"event id twice",             event_twice,                 false, PAWL_WHY_OTHER    },
    {"need_work missing",          need_work_missing,           false, PAWL_WHY_WORK_GONE},
    {"event skips a seq",          event_skips_a_seq,           false, PAWL_WHY_OTHER    },
    {"event repeats a seq",        event_repeats_a_seq,         false, PAWL_WHY_OTHER    },
    {"event of a past execution",  event_of_a_past_execution,   false, PAWL_WHY_OTHER    },
    {"next execution not from 1",  next_execution_not_from_one, false, PAWL_WHY_OTHER    },
};

/* Everything that a spoilt round could have changed, as one text. */
static const char *snapshot(struct probe *t, const struct scene *s)
{
    pawl_depths d = depths(t);
    return pawl_mem_printf(t->mem, "%s|%s|%llu|%llu", history(t, s->a.uid, 1),
                           mailbox(t, s->a.uid, NULL), (unsigned long long)d.messages,
                           (unsigned long long)d.work)
        .ptr;
}

/* A store far away knows the one cause for which nobody looks before. */
static void check_why(struct probe *t, const pawl_round *r, pawl_why why, const char *cause)
{
    bool must = why == PAWL_WHY_EXISTS && caps_of(t).far;
    if (r->why != why && (must || r->why != PAWL_WHY_UNKNOWN))
        probe_fail(t, __FILE__, __LINE__, "%s: why is %d", cause, (int)r->why);
}

static void c2_c3_c10_each_cause_refuses_its_round_alone(struct probe *t)
{
    struct scene s = {.a = make(t, "a")};
    append(t, &s.a, "two");
    s.message = deliver(t, &s.a, "m");
    s.work = enqueue(t, &s.a, "j");
    pawl_row good = make(t, "good");
    uint64_t asked = 0;
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (causes[i].skipped && !caps_of(t).atomic_rounds)
            continue;
        struct draft *bad = causes[i].spoil(t, &s);
        const char *before = snapshot(t, &s);
        struct draft *first = change(t, &good), *last;
        draft_event(first, "good");
        last = change(t, &first->row);
        draft_event(last, "good");
        first->from = NULL;
        last->from = &good;
        struct draft *three[] = {first, bad, last};
        CHECK_STATUS(commit_all(t, three, 3), PAWL_OK);
        if (bad->round.result != PAWL_CONFLICT)
            probe_fail(t, __FILE__, __LINE__, "accepted: %s", causes[i].name);
        check_why(t, &bad->round, causes[i].why, causes[i].name);
        if (first->round.result != PAWL_OK || last->round.result != PAWL_OK)
            probe_fail(t, __FILE__, __LINE__, "took others with it: %s", causes[i].name);
        asked++;
        if (strcmp(before, snapshot(t, &s)) != 0)
            probe_fail(t, __FILE__, __LINE__, "left something behind: %s", causes[i].name);
    }
    CHECK_NUMBER(find(t, "good").last_seq, 1 + 2 * asked);
    CHECK_NUMBER(find(t, "other").uid, 0);
}

/* Rounds that have nothing to do with each other: a store may apply them all at once. */
static void c2_c10_a_start_whose_id_exists_leaves_the_other_starts(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *starts[] = {insert(t, "b"), insert(t, "a"), insert(t, "c")};
    CHECK_STATUS(commit_all(t, starts, 3), PAWL_OK);
    CHECK_STATUS(starts[0]->round.result, PAWL_OK);
    CHECK_STATUS(starts[1]->round.result, PAWL_CONFLICT);
    CHECK_STATUS(starts[2]->round.result, PAWL_OK);
    check_why(t, &starts[1]->round, PAWL_WHY_EXISTS, "a start");
    CHECK_NUMBER(find(t, "a").uid, a.uid);
    CHECK(find(t, "b").uid && find(t, "c").uid);
    CHECK_NUMBER(depths(t).instances, 3);
}

static void c3_ids_of_events_messages_and_work_do_not_clash(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    uint64_t rid = draft_event(d, "x");
    draft_message(d, (pawl_message){.id = rid, .visible_ms = t->now + 5}); /* its timer */
    draft_work(d, (pawl_work){.id = rid, .name = pawl_s("j")});            /* its work */
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_NUMBER(depths(t).messages + depths(t).work, 2);
}

static void c3_the_same_round_twice_is_applied_once(struct probe *t)
{
    pawl_row a = make(t, "a");
    struct draft *d = change(t, &a);
    draft_event(d, "x");
    draft_mail(d, "m");
    CHECK_STATUS(commit(d), PAWL_OK);
    CHECK_STATUS(commit(d), PAWL_CONFLICT);
    CHECK_TEXT(history(t, a.uid, 1), "start x");
    CHECK_NUMBER(depths(t).messages, 1);
}

const struct probe_case cases_refused[] = {
    CASE(c2_c3_c10_each_cause_refuses_its_round_alone),
    CASE(c2_c10_a_start_whose_id_exists_leaves_the_other_starts),
    CASE(c3_ids_of_events_messages_and_work_do_not_clash),
    CASE(c3_the_same_round_twice_is_applied_once),
    CASES_END,
};
