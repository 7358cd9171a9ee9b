/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/rows.c -- queues against histories: nothing lost, nothing extra.
 *
 * I5  work and timers have an open schedule     I6  an open schedule has its row,
 * its completion in the mail, or its child      I12 a raise is in one place
 */
#include "sim.h"

#include "engine/engine.h"
#include "runtime/core/runtime.h"
#include "runtime/core/stage.h"
#include "store/memory/memory.h"

#include <string.h>

static pawl_message_list messages_of(struct sim *s, uint64_t uid, const char *id)
{
    pawl_message_list list;
    pawl_error err;
    if (s->inner->ops->read_messages(s->inner, uid, pawl_s(id), s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "R3", "messages of %s not readable: %s", id, err.text);
    return list;
}

/* Same id, same message, for ever. */
static void check_identity(struct sim *s, const pawl_message *m)
{
    CHECKED(s, ids);
    uint64_t sign = hash_number(hash_number(m->uid, (uint64_t)m->kind), m->ref) ^ m->execution;
    sign = hash_str(hash_str(sign, m->name), m->data) | 1;
    uintptr_t before = (uintptr_t)map_get(&s->messages, m->id);
    if (before && before != (uintptr_t)sign)
        sim_fail(s, "ids", "message id %llu is used again", (unsigned long long)m->id);
    (void)map_put(&s->messages, m->id, (void *)(uintptr_t)sign);
    if (m->id > s->max_id)
        s->max_id = m->id;
}

static void count_token(struct sim *s, const pawl_message *m, const struct seen *i)
{
    const char *where = i ? i->id : "by name";
    int n;
    if (m->kind != PAWL_MSG_EXTERNAL_RAISED || !driver_is_token(s, m->data, &n))
        return;
    struct token *t = &s->tokens[n];
    CHECKED(s, I12);
    if (i && t->sent && !t->first_ack &&
        s->op_count) { /* in its mailbox: no less than acknowledged */
        t->first_ack = s->ops[0];
        t->acked = ++s->numbers;
    }
    if (i && t->first_ack && !t->uid)
        t->uid = i->uid;
    if (t->consumed_by && i && t->consumed_by == i->uid)
        sim_fail(s, "I12", "%s: raise %d was taken, and is still in the mail", where, n);
    if (!i && t->sent && t->rows && s->plan.rate[SITE_half])
        return; /* the row it came from stays until it is delivered again, and then goes */
    if (++t->rows > 1)
        sim_fail(s, "I12", "%s: raise %d is there twice", where, n);
}

static bool has_completion(const pawl_message_list *list, const struct seen *i, uint64_t ref,
                           int first, int second)
{
    for (size_t k = 0; k < list->count; k++)
        if (list->items[k].ref == ref && list->items[k].execution == i->execution &&
            (list->items[k].kind == first || list->items[k].kind == second))
            return true;
    return false;
}

/* ---- Open schedules ---------------------------------------------------------------------- */

static void check_work(struct sim *s, struct seen *i, const pawl_message_list *mail, uint64_t ref,
                       const pawl_work_list *work)
{
    struct seen_task *t = &i->tasks[ref - 1];
    const pawl_work *row = NULL;
    CHECKED(s, I5);
    CHECKED(s, I6);
    for (size_t k = 0; k < work->count; k++)
        if (work->items[k].id == t->rid)
            row = &work->items[k];
    workers_row(s, i, t, ref, row);
    bool mailed =
        has_completion(mail, i, ref, PAWL_MSG_ACTIVITY_COMPLETED, PAWL_MSG_ACTIVITY_FAILED);
    if (t->now == TASK_IS_OPEN && !row && !mailed)
        sim_fail(s, "I6", "%s: activity %llu is open, but has neither work nor completion", i->id,
                 (unsigned long long)ref);
    if (s->plan.rate[SITE_half] &&
        row)    /* its completion came first, and the row was not dropped: */
        return; /* it runs once more, and then the row goes */
    if (t->now == TASK_IS_OPEN && row && mailed && !t->duplicated)
        sim_fail(s, "I6", "%s: activity %llu has both work and a completion", i->id,
                 (unsigned long long)ref);
    if (t->now != TASK_IS_OPEN && row)
        sim_fail(s, "I5", "%s: activity %llu is closed, but its work is still there", i->id,
                 (unsigned long long)ref);
}

static void check_timer(struct sim *s, struct seen *i, const pawl_message_list *mail, uint64_t ref)
{
    const struct seen_task *t = &i->tasks[ref - 1];
    bool row = false;
    if (s->plan.store == SIM_JSONL) /* no delayed visibility: timers have no rows */
        return;
    CHECKED(s, I5);
    CHECKED(s, I6);
    for (size_t k = 0; k < mail->count; k++)
        row |= mail->items[k].id == t->rid && mail->items[k].kind == PAWL_MSG_TIMER_FIRED;
    if (t->now == TASK_IS_OPEN && !row)
        sim_fail(s, "I6", "%s: timer %llu is open, but has no row", i->id, (unsigned long long)ref);
    if (t->now != TASK_IS_OPEN && row && !t->duplicated)
        sim_fail(s, "I5", "%s: timer %llu is closed, but its row is still there", i->id,
                 (unsigned long long)ref);
}

static bool start_on_its_way(struct sim *s, const struct seen *i, uint64_t ref, const char *child)
{
    pawl_message_list list = messages_of(s, 0, child);
    for (size_t k = 0; k < list.count; k++) {
        const pawl_message *m = &list.items[k];
        if (m->kind == PAWL_MSG_START &&
            (uint64_t)pawl_json_int(m->attrs, "/parent_uid", 0) == i->uid &&
            (uint64_t)pawl_json_int(m->attrs, "/parent_execution", 0) == i->execution &&
            (uint64_t)pawl_json_int(m->attrs, "/parent_ref", 0) == ref)
            return true;
    }
    return false;
}

static void check_child(struct sim *s, struct seen *i, const pawl_message_list *mail, uint64_t ref)
{
    const struct seen_task *t = &i->tasks[ref - 1];
    if (t->now != TASK_IS_OPEN)
        return;
    bool lives = false, reran = false;
    CHECKED(s, I6);
    CHECKED(s, I11);
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct seen *c = s->seen[k];
        lives |= !c->removed && c->parent_uid == i->uid && c->parent_execution == i->execution &&
                 c->parent_ref == ref && !pawl_state_is_terminal(c->state);
    }
    for (size_t k = 0; k < s->seen_count; k++)
        reran |= s->seen[k]->reran && s->seen[k]->parent_uid == i->uid;
    bool mailed = has_completion(mail, i, ref, PAWL_MSG_CHILD_COMPLETED, PAWL_MSG_CHILD_FAILED);
    if (!lives && !mailed && !start_on_its_way(s, i, ref, t->child))
        sim_fail(s, "I6", "%s: child %llu (%s) is open, but nobody will complete it", i->id,
                 (unsigned long long)ref, t->child);
    if (lives && mailed && !t->duplicated && !reran)
        sim_fail(s, "I11", "%s: child %s runs, but its completion is in the mail", i->id, t->child);
}

static void check_tasks(struct sim *s, struct seen *i, const pawl_message_list *mail)
{
    uint64_t *rids = pawl_mem_alloc(s->mem, (i->task_count + 1) * sizeof(*rids));
    size_t n = 0;
    for (size_t k = 0; k < i->task_count; k++)
        if (i->tasks[k].kind == PAWL_EV_ACTIVITY_SCHEDULED)
            rids[n++] = i->tasks[k].rid;
    pawl_work_list work = {0};
    pawl_error err;
    if (n && s->inner->ops->read_work(s->inner, rids, n, s->mem, &work, &err) != PAWL_OK)
        sim_fail(s, "R4", "work of %s not readable: %s", i->id, err.text);
    for (uint64_t ref = 1; ref <= i->task_count; ref++) {
        int kind = i->tasks[ref - 1].kind;
        if (kind == PAWL_EV_ACTIVITY_SCHEDULED)
            check_work(s, i, mail, ref, &work);
        else if (kind == PAWL_EV_TIMER_CREATED)
            check_timer(s, i, mail, ref);
        else if (kind == PAWL_EV_SUB_ORCHESTRATION_SCHEDULED && !i->end_kind)
            check_child(s, i, mail, ref);
    }
}

/* ---- Mail ---------------------------------------------------------------------------------- */

/* A raise of code was a row by name, and is nowhere: then its receiver is not there, or has ended. */
static void check_sent(struct sim *s, struct token *t)
{
    bool was = t->named;
    const struct seen *i = seen_by_id(s, pawl_s(t->instance));
    t->named = t->sent && t->rows && !t->first_ack;
    if (!was || t->rows || t->consumed_by || t->excused || s->plan.drop_early)
        return;
    CHECKED(s, I26);
    if (i && !pawl_state_is_terminal(i->state) && i->met < s->n->looks)
        sim_fail(s, "I26", "raise '%s' of code to %s is lost", t->sent, t->instance);
    t->excused = true;
}

/* A raise that was acknowledged is somewhere, as long as somebody may take it. */
static void check_tokens(struct sim *s)
{
    for (size_t k = 0; k < s->token_count; k++) {
        struct token *t = &s->tokens[k];
        t->ever = t->ever || t->rows || t->consumed_by;
        check_sent(s, t);
        if (!t->first_ack || t->consumed_by || t->excused || t->rows || t->name[0] == 'Z' ||
            s->plan.drop_early)
            continue;
        const struct seen *i = t->uid ? seen_by_uid(s, t->uid) : seen_by_id(s, pawl_s(t->instance));
        CHECKED(s, I12);
        if (t->uid && (i->removed || pawl_state_is_terminal(i->state)))
            t->excused = true;
        else if (!t->uid && i && pawl_state_is_terminal(i->state))
            t->excused = true;
        else
            sim_fail(s, "I12", "raise %zu ('%s' to %s) was acknowledged and is lost", k, t->name,
                     t->instance);
    }
}

/* Mail by name: of ids that were raised to, and of children on their way. */
static void count_kept(struct sim *s)
{
    for (size_t k = 0; k < s->token_count; k++) {
        bool again = false;
        for (size_t j = 0; j < k && !again; j++)
            again = strcmp(s->tokens[j].instance, s->tokens[k].instance) == 0;
        if (again)
            continue;
        pawl_message_list list = messages_of(s, 0, s->tokens[k].instance);
        for (size_t j = 0; j < list.count; j++) {
            check_identity(s, &list.items[j]);
            count_token(s, &list.items[j], NULL);
        }
    }
}

void check_rows(struct sim *s)
{
    for (size_t k = 0; k < s->token_count; k++)
        s->tokens[k].rows = 0;
    served_begin(s);
    for (size_t k = 0; k < s->seen_count; k++) {
        struct seen *i = s->seen[k];
        if (i->removed)
            continue;
        pawl_message_list mail = messages_of(s, i->uid, "");
        for (size_t j = 0; j < mail.count; j++) {
            check_identity(s, &mail.items[j]);
            if (mail.items[j].kind == PAWL_MSG_START && mail.items[j].visible_ms)
                i->start_ms = mail.items[j].visible_ms;
            if (i->end_kind && i->end_kind != PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW)
                continue;
            count_token(s, &mail.items[j], i);
            served_row(s, i, &mail.items[j]);
        }
        check_tasks(s, i, &mail);
        asks_check(s, i);
    }
    workers_look(s);
    count_kept(s);
    check_tokens(s);
    brought_check(s);
    details_check(s);
    served_look(s);
    labels_check(s);
}

/* ---- At rest ------------------------------------------------------------------------------------ */

void check_waiting(struct sim *s, const struct seen *i, int64_t now_ms)
{
    if (turned_is(i)) /* its messages wait for a worker */
        return;
    pawl_message_list mail = messages_of(s, i->uid, "");
    CHECKED(s, L2);
    for (size_t k = 0; k < mail.count; k++)
        if (!mail.items[k].mailbox && mail.items[k].visible_ms <= now_ms)
            sim_fail(s, "L2", "%s: message %llu of kind %d waits, and the runtime sleeps", i->id,
                     (unsigned long long)mail.items[k].id, mail.items[k].kind);
    CHECKED_TIMES(s, I26, i->deadline_ms != 0);
    if (i->deadline_ms && i->deadline_ms <= now_ms && i->state == PAWL_RUNNING &&
        !i->cancel_requested && !i->end_kind && !s->plan.rate[SITE_skew])
        sim_fail(s, "I26", "%s: its deadline %lld has passed, and it was not cancelled", i->id,
                 (long long)i->deadline_ms);
    for (size_t k = 0; k < i->task_count; k++) {
        const struct seen_task *t = &i->tasks[k];
        pawl_work_list work;
        pawl_error err;
        if (t->kind != PAWL_EV_ACTIVITY_SCHEDULED || t->now != TASK_IS_OPEN ||
            strncmp(t->name, "Act", 3) != 0)
            continue;
        CHECKED(s, L4);
        if (s->inner->ops->read_work(s->inner, &t->rid, 1, s->mem, &work, &err) != PAWL_OK)
            sim_fail(s, "R4", "work of %s not readable: %s", i->id, err.text);
        const pawl_work *w = work.count ? &work.items[0] : NULL;
        if (w && w->visible_ms <= now_ms && !w->lock_token.len &&
            !map_get(&s->node->rt->jobs.by_id, w->id) && !limited_waits(s, w, now_ms))
            sim_fail(s, "L4", "%s: work %llu is free, and nobody takes it", i->id,
                     (unsigned long long)w->id);
    }
}

/* ---- From the beginning ---------------------------------------------------------------------- */

/* The history is what was seen when it was written. */
static void check_same(struct sim *s, const struct seen *i, uint64_t number,
                       const pawl_event_list *list)
{
    const struct seen_execution *x = &i->executions[number - 1];
    uint64_t hash = 0;
    CHECKED(s, I1);
    for (size_t k = 0; k < list->count; k++) {
        const pawl_event *e = &list->items[k];
        hash = hash_number(hash_number(hash_number(hash, e->rid), (uint64_t)e->kind), e->ref);
        hash = hash_str(hash_str(hash_str(hash, e->name), e->data), e->attrs);
    }
    if (list->count != x->last_seq || hash != x->hash)
        sim_fail(s, "I1", "%s execution %llu: history is not what it was", i->id,
                 (unsigned long long)number);
}

/* The objects of an instance are what its history has published, and nothing else. */
static void check_published(struct sim *s, const struct seen *i, const execution *x)
{
    pawl_object_list list;
    pawl_error err;
    pawl_str key, value;
    size_t n = 0;
    pawl_str prefix = pawl_mem_printf(s->mem, "%016llx/", (unsigned long long)i->uid);
    CHECKED(s, I23);
    if (s->inner->ops->list_objects(s->inner, PAWL_OBJECT_STATE, prefix, (pawl_str){0}, 1000,
                                    s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "I23", "state of %s not readable: %s", i->id, err.text);
    for (size_t at = 0; execution_next_state(x, &at, &key, &value); n++)
        if (n >= list.count || list.items[n].name.len != prefix.len + key.len ||
            memcmp(list.items[n].name.ptr + prefix.len, key.ptr, key.len) != 0 ||
            !pawl_str_eq(list.items[n].data, value))
            sim_fail(s, "I23", "%s: state '%.*s' is '%.*s' by its history, stored is '%.*s'", i->id,
                     PAWL_FMT(key), PAWL_FMT(value),
                     PAWL_FMT(n < list.count ? list.items[n].data : pawl_s("nothing")));
    if (n != list.count)
        sim_fail(s, "I23", "%s: %zu keys of state by its history, %zu stored", i->id, n,
                 list.count);
}

void check_replay(struct sim *s, struct seen *i, uint64_t number)
{
    pawl_event_list list;
    pawl_error err;
    if (s->inner->ops->read_history(s->inner, i->uid, number, 0, 0, s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "H1", "%s: history not readable: %s", i->id, err.text);
    if (number < i->execution && list.count == 0 && s->prune_asked)
        return;
    check_same(s, i, number, &list);
    if (!list.count)
        return;
    const pawl_event *last = &list.items[list.count - 1];
    size_t carried = 0;
    while (carried + 1 < list.count && list.items[1 + carried].kind == PAWL_EV_STATE_CARRIED)
        carried++;
    if (list.count == 2 + carried && pawl_json_bool(last->attrs, "/forced", false)) {
        CHECKED(s, S23); /* opened only to be ended: its code never ran */
        if (number > 1 && last->kind == PAWL_EV_ORCHESTRATION_CANCELLED && !s->plan.cancel_missing)
            sim_fail(s, "S23",
                     "%s execution %llu: cancelled between two executions, and its code "
                     "never heard of it",
                     i->id, (unsigned long long)number);
        return;
    }
    if (turned_is(i)) {
        turned_replay(s, i, number, &list);
        return;
    }
    struct ledger ledger = {.saw = pawl_mem_alloc(s->mem, s->token_count + 1)};
    struct code code = {.sim = s, .patched = s->patched, .ledger = &ledger};
    map_init(&ledger.gave_up);
    struct execution_spec spec = {
        .pool = s->fibers,
        .code = {.fn = interp_orchestration,
                 .user = &code,
                 .stack_bytes = 65536,
                 .name = "Prog",
                 .version = "1.0.0"},
        .rules = {.payload_max = 2 << 20,             .history_max = 50000},
        .instance = pawl_s(i->id),
        .uid = i->uid,
        .execution = number,
    };
    char version[16];
    (void)snprintf(version, sizeof(version), "%.*s",
                   PAWL_FMT(pawl_json_text(s->mem, list.items[0].attrs, "/version", "")));
    spec.code.version = version;
    execution *x = execution_create(&spec);
    struct engine_finding finding = {0};
    enum engine_outcome outcome = execution_replay(x, list.items, list.count, &finding);
    CHECKED(s, I10);
    bool ended = number == i->execution ? i->end_kind != 0 : true;
    if (outcome != (ended ? ENGINE_ENDED : ENGINE_WAITING))
        sim_fail(s, "I10", "%s execution %llu replays to %d: %s; recorded %s; attempted %s", i->id,
                 (unsigned long long)number, (int)outcome, finding.text, finding.recorded,
                 finding.attempted);
    execution_check(x);
    if (number == i->execution && s->plan.rate[SITE_publish])
        check_published(s, i, x);
    execution_destroy(x);
    check_ledger(s, i, &list, &ledger);
    map_deinit(&ledger.gave_up);
    s->n->replays++;
}

void check_final(struct sim *s)
{
    check_store(s);
    for (size_t k = 0; k < s->seen_count; k++) {
        struct seen *i = s->seen[k];
        pawl_mem_reset(s->mem);
        for (uint64_t x = 1; !i->removed && x <= i->execution_count; x++)
            check_replay(s, i, x);
    }
    ledger_final(s);
    if (sim_in_memory(s->plan.store))
        memory_check(s->inner);
}
