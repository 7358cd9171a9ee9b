/* SPDX-License-Identifier: MIT */
/* suite/case_load.c -- many questions in one call: B1 to B5. */
#include "suite.h"

#include "store/fault/fault.h"
#include "store/store.h"

/* An instance with a key and a job, and one without; the job's id. */
static uint64_t two_instances(struct probe *t, pawl_row *a, pawl_row *b)
{
    *a = make(t, "a");
    *b = make(t, "b");
    struct draft *d = change(t, a);
    draft_key(d, "k");
    uint64_t job = draft_job(d, "j");
    CHECK_STATUS(commit(d), PAWL_OK);
    return job;
}

static void check_row(struct probe *t, const pawl_wanted *w, const char *id)
{
    pawl_row alone = find(t, id);
    CHECK_STATUS(w->status, PAWL_OK);
    CHECK(pawl_str_eq(w->row->id, alone.id) && w->row->uid == alone.uid &&
          w->row->last_seq == alone.last_seq && w->row->updated_ms == alone.updated_ms &&
          w->row->state == alone.state && pawl_str_eq(w->row->orchestration, alone.orchestration));
}

static pawl_wanted by_id(const char *id, const char *key)
{
    return (pawl_wanted){.id = pawl_s(id), .key = pawl_s(key)};
}

static pawl_wanted by_uid(uint64_t uid, const char *key)
{
    return (pawl_wanted){.uid = uid, .key = pawl_s(key)};
}

static pawl_wanted by_work(uint64_t id)
{
    return (pawl_wanted){.work = id};
}

static void b1_each_is_answered_as_if_asked_alone(struct probe *t)
{
    pawl_row a, b;
    uint64_t job = two_instances(t, &a, &b);
    die(t);
    pawl_wanted w[] = {
        by_id("a", NULL), by_uid(b.uid, "k"),  by_id("nobody", "k"),       by_work(job),
        by_id("a", "k"),  by_work(job + 1000), by_uid(a.uid + 1000, NULL), by_uid(a.uid, "K")};
    CHECK_STATUS(store_load(t->store, w, sizeof(w) / sizeof(w[0]), SIZE_MAX / 2, t->mem, NULL),
                 PAWL_OK);
    check_row(t, &w[0], "a");
    check_row(t, &w[1], "b");
    CHECK_STATUS(w[1].key_status, PAWL_EMPTY);
    CHECK_STATUS(w[2].status, PAWL_NOT_FOUND);
    CHECK_STATUS(w[3].status, PAWL_OK);
    CHECK(w[3].item->id == job && w[3].item->uid == a.uid && pawl_str_is(w[3].item->name, "j"));
    check_row(t, &w[4], "a");
    CHECK_STATUS(w[4].key_status, PAWL_OK);
    CHECK_STATUS(w[5].status, PAWL_NOT_FOUND);
    CHECK_STATUS(w[6].status, PAWL_NOT_FOUND);
    check_row(t, &w[7], "a");
    CHECK_STATUS(w[7].key_status, PAWL_EMPTY);
}

static void b1_removed_instances_are_not_found(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    CHECK_STATUS(commit(remove_round(t, &a)), PAWL_OK);
    pawl_wanted w[] = {by_id("a", "k"), by_uid(a.uid, NULL), by_id("b", NULL)};
    CHECK_STATUS(store_load(t->store, w, 3, SIZE_MAX / 2, t->mem, NULL), PAWL_OK);
    CHECK_STATUS(w[0].status, PAWL_NOT_FOUND);
    CHECK_STATUS(w[1].status, PAWL_NOT_FOUND);
    check_row(t, &w[2], "b");
}

static pawl_status second_find;

static struct fault second_find_fails(void *user, enum fault_op op, uint64_t call)
{
    (void)user;
    if (op == FAULT_OP_find && call == 2)
        return (struct fault){FAULT_BEFORE, second_find};
    return (struct fault){.kind = FAULT_NONE};
}

/* Around a store that answers one by one, as the fault decorator does. */
static void ask_with_trouble(struct probe *t, pawl_status trouble, pawl_wanted w[3])
{
    second_find = trouble;
    t->store = fault_store(t->store, second_find_fails, NULL);
    pawl_status status = store_load(t->store, w, 3, SIZE_MAX / 2, t->mem, NULL);
    t->store = fault_store_release(t->store);
    CHECK_STATUS(status, PAWL_OK);
    check_row(t, &w[0], "a");
    CHECK_STATUS(w[1].status, trouble);
}

static void b2_a_damaged_row_is_its_own_affair(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[] = {by_id("a", NULL), by_id("b", NULL), by_uid(b.uid, NULL)};
    ask_with_trouble(t, PAWL_CORRUPT, w);
    check_row(t, &w[2], "b");
}

static void b3_after_trouble_the_rest_is_left_out(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[] = {by_id("a", NULL), by_id("b", NULL), by_uid(b.uid, "k")};
    ask_with_trouble(t, PAWL_UNAVAILABLE, w);
    CHECK_STATUS(w[2].status, PAWL_UNAVAILABLE);
    CHECK_STATUS(w[2].key_status, PAWL_UNAVAILABLE);
}

static void b3_beyond_the_limit_it_is_right_or_left_out(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[40];
    for (size_t i = 0; i < 40; i++)
        w[i] = by_id(i % 2 ? "a" : "b", NULL);
    CHECK_STATUS(store_load(t->store, w, 40, 1, t->mem, NULL), PAWL_OK);
    for (size_t i = 0; i < 40; i++)
        if (w[i].status != PAWL_UNAVAILABLE)
            check_row(t, &w[i], i % 2 ? "a" : "b");
}

static void b1_only_the_key_when_only_that_is_asked_for(struct probe *t)
{
    pawl_row a, b;
    (void)two_instances(t, &a, &b);
    pawl_wanted w[] = {by_uid(a.uid, "k"), by_uid(b.uid, "k")};
    w[0].key_only = w[1].key_only = true;
    CHECK_STATUS(store_load(t->store, w, 2, SIZE_MAX / 2, t->mem, NULL), PAWL_OK);
    CHECK_STATUS(w[0].status, PAWL_OK);
    CHECK_STATUS(w[0].key_status, PAWL_OK);
    CHECK_STATUS(w[1].status, PAWL_OK);
    CHECK_STATUS(w[1].key_status, PAWL_EMPTY);
}

/* ---- Histories and messages -------------------------------------------------------------- */

static pawl_status load_histories(struct probe *t, pawl_wanted_history *w, size_t count,
                                  size_t max_bytes)
{
    for (size_t i = 0; i < count; i++)
        w[i].status = PAWL_UNAVAILABLE;
    return t->store->ops->load_histories(t->store, w, count, max_bytes, t->mem, NULL);
}

static void needs_histories(struct probe *t)
{
    if (!t->store->ops->load_histories)
        probe_skip(t);
}

static bool same_event(const pawl_event *a, const pawl_event *b)
{
    return a->rid == b->rid && a->seq == b->seq && a->execution == b->execution &&
           a->kind == b->kind && a->ref == b->ref && a->at_ms == b->at_ms &&
           pawl_str_eq(a->name, b->name) && pawl_str_eq(a->data, b->data) &&
           pawl_str_eq(a->attrs, b->attrs);
}

static bool same_message(const pawl_message *a, const pawl_message *b)
{
    return a->id == b->id && a->uid == b->uid && a->kind == b->kind && a->mailbox == b->mailbox &&
           a->visible_ms == b->visible_ms && a->attempt == b->attempt &&
           pawl_str_eq(a->name, b->name) && pawl_str_eq(a->data, b->data);
}

/* As read_history and read_messages answer it. */
static void check_alone(struct probe *t, const pawl_wanted_history *w)
{
    pawl_event_list events;
    pawl_message_list messages;
    CHECK_STATUS(w->status, PAWL_OK);
    CHECK_STATUS(
        t->store->ops->read_history(t->store, w->uid, w->execution, 0, 0, t->mem, &events, NULL),
        PAWL_OK);
    CHECK_STATUS(
        t->store->ops->read_messages(t->store, w->uid, (pawl_str){0}, t->mem, &messages, NULL),
        PAWL_OK);
    CHECK_NUMBER(w->events.count, events.count);
    CHECK_NUMBER(w->messages.count, messages.count);
    for (size_t i = 0; i < events.count; i++)
        CHECK(same_event(&w->events.items[i], &events.items[i]));
    for (size_t i = 0; i < messages.count; i++)
        CHECK(same_message(&w->messages.items[i], &messages.items[i]));
}

/* Events in pairs and alone, messages of every sort; the row after it. */
static pawl_row busy_instance(struct probe *t, const char *id)
{
    pawl_row row = make(t, id);
    struct draft *d = change(t, &row);
    (void)draft_event(d, "x");
    (void)draft_event(d, "y");
    (void)draft_event(d, "z");
    (void)draft_mail(d, "ready");
    (void)draft_message(d, (pawl_message){.uid = row.uid,
                                          .kind = PAWL_MSG_EXTERNAL_RAISED,
                                          .name = pawl_s("E"),
                                          .data = pawl_s("kept"),
                                          .mailbox = true});
    (void)draft_message(
        d,
        (pawl_message){.uid = row.uid, .kind = PAWL_MSG_TIMER_FIRED, .visible_ms = t->now + 5000});
    CHECK_STATUS(commit(d), PAWL_OK);
    return find(t, id);
}

static pawl_wanted_history history_of(const pawl_row *row)
{
    return (pawl_wanted_history){.uid = row->uid, .execution = row->execution};
}

static void b4_each_is_answered_as_if_read_alone(struct probe *t)
{
    needs_histories(t);
    pawl_row a = busy_instance(t, "a"), b = make(t, "b"), c = busy_instance(t, "c");
    struct draft *d = change(t, &c);
    draft_continue(d, "again");
    CHECK_STATUS(commit(d), PAWL_OK);
    c = find(t, "c");
    pawl_wanted_history w[] = {history_of(&c), history_of(&a), history_of(&b), history_of(&a)};
    CHECK_STATUS(load_histories(t, w, 4, SIZE_MAX / 4), PAWL_OK);
    for (size_t i = 0; i < 4; i++)
        check_alone(t, &w[i]);
    CHECK_NUMBER(w[1].events.count, 4);
    CHECK_NUMBER(w[1].messages.count, 3);
    CHECK_NUMBER(w[2].messages.count, 0);
    CHECK_NUMBER(w[0].execution, 2);
    CHECK_TEXT(history(t, c.uid, 2), "again");
}

static void b5_what_cannot_be_read_is_its_own_affair(struct probe *t)
{
    needs_histories(t);
    pawl_row a = busy_instance(t, "a"), b = busy_instance(t, "b"), c = busy_instance(t, "c");
    bool damaged = t->factory->damage &&
                   t->factory->damage(t->factory->user, t->store, PAWL_DAMAGE_EVENT, b.first_rid);
    pawl_wanted_history w[] = {history_of(&a), history_of(&b), history_of(&c)};
    CHECK_STATUS(load_histories(t, w, 3, SIZE_MAX / 4), PAWL_OK);
    check_alone(t, &w[0]);
    check_alone(t, &w[2]);
    if (damaged)
        CHECK(w[1].status != PAWL_OK);
    else
        check_alone(t, &w[1]);
}

static void b5_beyond_the_limit_it_is_right_or_left_out(struct probe *t)
{
    needs_histories(t);
    pawl_row rows[12];
    pawl_wanted_history w[12];
    size_t found = 0;
    for (size_t i = 0; i < 12; i++) {
        char id[2] = {(char)('a' + (char)i), 0};
        rows[i] = busy_instance(t, id);
    }
    static const size_t limits[] = {1, 2000, 6000};
    for (size_t k = 0; k < sizeof(limits) / sizeof(limits[0]); k++) {
        for (size_t i = 0; i < 12; i++)
            w[i] = history_of(&rows[i]);
        CHECK_STATUS(load_histories(t, w, 12, limits[k]), PAWL_OK);
        for (size_t i = 0; i < 12; i++)
            if (w[i].status == PAWL_OK)
                check_alone(t, &w[i]), found++;
    }
    CHECK(found > 0);
}

/* A short history, and more messages than there is room for. */
static void b5_a_full_mailbox_is_read_whole_or_left_out(struct probe *t)
{
    needs_histories(t);
    pawl_row a = make(t, "a"), b = make(t, "b");
    struct draft *d = change(t, &a);
    for (int i = 0; i < 30; i++)
        (void)draft_mail(d, "mail");
    CHECK_STATUS(commit(d), PAWL_OK);
    pawl_wanted_history w[] = {history_of(&b), history_of(&a), history_of(&b)};
    CHECK_STATUS(load_histories(t, w, 3, 4000), PAWL_OK);
    for (size_t i = 0; i < 3; i++)
        if (w[i].status == PAWL_OK)
            check_alone(t, &w[i]);
    CHECK_STATUS(w[0].status, PAWL_OK);
}

const struct probe_case cases_load[] = {
    CASE(b5_a_full_mailbox_is_read_whole_or_left_out),
    CASE(b4_each_is_answered_as_if_read_alone),
    CASE(b5_what_cannot_be_read_is_its_own_affair),
    CASE(b5_beyond_the_limit_it_is_right_or_left_out),
    CASE(b1_each_is_answered_as_if_asked_alone),
    CASE(b1_removed_instances_are_not_found),
    CASE(b1_only_the_key_when_only_that_is_asked_for),
    CASE(b2_a_damaged_row_is_its_own_affair),
    CASE(b3_after_trouble_the_rest_is_left_out),
    CASE(b3_beyond_the_limit_it_is_right_or_left_out),
    CASES_END,
};
