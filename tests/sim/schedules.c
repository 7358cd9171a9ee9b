/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/schedules.c -- schedules: every occurrence is begun once, or counted (I24, I25).
 *
 * Up to three schedules of a period, with every overlap and every answer to what was missed, are
 * made, paused, resumed and triggered while everything else goes wrong.  After each commit the
 * stored state is compared with arithmetic:
 *
 *   I24  occurrences from the first on up to last_ms = runs + missed + skipped + waiting + existed;
 *        last_ms only grows (Y7); the row of the next occurrence is there, and only that one
 *   I25  an open run is there and runs, its start is on its way, or the message of its end is; no id
 *        of a run is given to two instances; at the end each run that was counted has been an
 *        instance
 *
 * To heal, all of them are removed: they would go on for ever.
 */
#include "sim.h"

#include "runtime/schedule/schedule_mail.h"
#include "schedule/schedule_state.h"

#include <stdlib.h>
#include <string.h>

#define SCHEDULES 3

struct timetable {
    int64_t every_ms;
    int64_t last_ms;
    uint64_t runs, triggered; /* as last seen */
    bool seen, removed;
    unsigned keys;
};

struct schedules {
    struct timetable of[SCHEDULES];
};

struct schedules *schedules_create(void)
{
    struct schedules *all = calloc(1, sizeof(*all));
    assert_that(all);
    return all;
}

void schedules_free(struct schedules *all)
{
    free(all);
}

/* ---- Calls ------------------------------------------------------------------------------ */

static void nothing(void *arg, const pawl_reply *reply)
{
    (void)arg, (void)reply;
}

static void call(struct sim *s, const pawl_request *q)
{
    pawl_error err = {0};
    if (s->mute)
        return;
    sim_trace(s, "schedule call %d %s %.*s", (int)q->op, q->name, PAWL_FMT(q->data));
    pawl_status rc = pawl_client_submit(pawl_runtime_client(s->node->rt), q, nothing, NULL, &err);
    if (rc != PAWL_OK && rc != PAWL_FENCED && rc != PAWL_SHUTDOWN && rc != PAWL_NOT_FOUND)
        sim_fail(s, "I24", "a call on a schedule is refused: %s", err.text);
}

static void put(struct sim *s, const char *name, struct timetable *t)
{
    static const char *const overlaps[] = {"skip", "queue", "cancel", "terminate", "allow"};
    static const char *const misseds[] = {"latest", "all", "skip"};
    static const char *const programs[] = {"(ao0)", "(t5000;)", "(t90000;ao0)", "(wE0)"};
    static const int64_t periods[] = {1000, 7000, 60000, 3600000};
    struct prng *r = &s->more;
    if (!t->every_ms)
        t->every_ms = periods[prng_below(r, COUNT_OF(periods))];
    pawl_mem_reset(s->mem);
    size_t overlap = prng_below(r, COUNT_OF(overlaps));
    call(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PUT, .name = name, .if_revision = PAWL_IF_NEW,
                         .data = pawl_mem_printf(
                             s->mem,
                             "{\"every_ms\":%lld,\"orchestration\":\"Prog\",\"input\":\"%s\","
                             "\"overlap\":\"%s\",\"missed\":\"%s\",\"missed_window_ms\":%d,"
                             "\"jitter_ms\":%d,\"queue_max\":%d,\"allow_unregistered\":true}",
                             (long long)t->every_ms, programs[prng_below(r, COUNT_OF(programs))],
                             overlaps[overlap], misseds[prng_below(r, COUNT_OF(misseds))],
                             t->every_ms >= 60000 && prng_chance(r, 500) ? 0 : 30000,
                             prng_chance(r, 300) ? 400 : 0,
                             overlap == 1 ? (int)prng_below(r, 3) : 0)));
}

void schedules_act(struct sim *s)
{
    static const pawl_op steers[] = {PAWL_OP_SCHEDULE_PAUSE, PAWL_OP_SCHEDULE_RESUME,
                                     PAWL_OP_SCHEDULE_RESUME};
    int n = (int)prng_below(&s->more, SCHEDULES);
    struct timetable *t = &s->schedules->of[n];
    char name[8], key[24];
    (void)snprintf(name, sizeof(name), "s%d", n);
    (void)snprintf(key, sizeof(key), "k%u", t->keys++);
    s->n->fired[SITE_schedule]++;
    switch (t->seen ? prng_below(&s->more, 4) : 0) {
    case 0:
        put(s, name, t);
        break;
    case 1:
        call(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_TRIGGER, .name = name, .idempotency_key = key));
        break;
    default:
        call(s, PAWL_REQUEST(.op = steers[prng_below(&s->more, COUNT_OF(steers))], .name = name));
    }
}

/* ---- Looking ------------------------------------------------------------------------------- */

static int64_t floor_of(int64_t at, int64_t every)
{
    return at / every - (at % every < 0);
}

static void check_counts(struct sim *s, const char *name, struct timetable *t,
                         const struct schedule_state *state)
{
    int64_t due = floor_of(state->last_ms, t->every_ms) - floor_of(state->created_ms, t->every_ms);
    int64_t counted = (int64_t)(state->runs + state->missed + state->skipped + state->existed +
                                state->waiting.count);
    CHECKED(s, I24);
    if (due != counted)
        sim_fail(s, "I24",
                 "%s: %lld occurrences, but %llu runs, %llu missed, %llu skipped, %zu waiting",
                 name, (long long)due, (unsigned long long)state->runs,
                 (unsigned long long)state->missed, (unsigned long long)state->skipped,
                 state->waiting.count);
    if (t->seen && (state->last_ms < t->last_ms || state->runs < t->runs))
        sim_fail(s, "I24", "%s: it goes back", name);
    t->last_ms = state->last_ms;
    t->runs = state->runs;
    t->triggered = state->triggered;
    t->seen = true;
}

static pawl_message_list mail_of(struct sim *s, uint64_t uid, pawl_str instance)
{
    pawl_message_list list;
    pawl_error err;
    if (s->inner->ops->read_messages(s->inner, uid, instance, s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "R3", "messages not readable: %s", err.text);
    return list;
}

static void check_row_of(struct sim *s, const char *name, const struct schedule_state *state,
                         const pawl_message_list *mail)
{
    size_t rows = 0, later = 0;
    for (size_t i = 0; i < mail->count; i++)
        if (pawl_str_is(mail->items[i].name, name)) {
            rows += mail->items[i].id == state->row;
            later += mail->items[i].visible_ms > 0;
        }
    if ((state->next_ms != 0) != (rows == 1) || later != rows)
        sim_fail(s, "I24", "%s: next is %lld, with %zu rows and %zu of a later time", name,
                 (long long)state->next_ms, rows, later);
    if (!state->next_ms && !state->paused)
        sim_fail(s, "I24", "%s waits for nothing", name);
}

static void check_open(struct sim *s, const char *name, pawl_str open,
                       const pawl_message_list *mail)
{
    const struct seen *i = open.len ? seen_by_id(s, open) : NULL;
    CHECKED(s, I25);
    if (!open.len || (i && !pawl_state_is_terminal(i->state)))
        return;
    for (size_t k = 0; k < mail->count; k++)
        if (pawl_str_eq(mail->items[k].data, open))
            return;
    pawl_message_list starts = mail_of(s, 0, open);
    for (size_t k = 0; k < starts.count; k++)
        if (starts.items[k].kind == PAWL_MSG_START)
            return;
    sim_fail(s, "I25", "%s waits for the end of '%.*s', which does not run", name, PAWL_FMT(open));
}

void schedules_look(struct sim *s)
{
    pawl_object_list list;
    pawl_error err;
    if (s->inner->ops->list_objects(s->inner, PAWL_OBJECT_SCHEDULE, (pawl_str){0}, (pawl_str){0},
                                    10, s->mem, &list, &err) != PAWL_OK)
        sim_fail(s, "I24", "schedules not readable: %s", err.text);
    pawl_message_list mail = mail_of(s, SCHEDULE_UID, (pawl_str){0});
    for (size_t k = 0; k < list.count; k++) {
        struct schedule_state state;
        const char *name = list.items[k].name.ptr;
        if (!state_read(&state, list.items[k].data, s->mem))
            sim_fail(s, "I24", "%s cannot be read", name);
        check_counts(s, name, &s->schedules->of[name[1] - '0'], &state);
        check_row_of(s, name, &state, &mail);
        check_open(s, name, state.open, &mail);
    }
}

/* ---- Healing --------------------------------------------------------------------------------- */

bool schedules_help(struct sim *s)
{
    pawl_object_list list;
    pawl_error err;
    pawl_mem_reset(s->mem);
    if (!s->plan.rate[SITE_schedule] ||
        s->inner->ops->list_objects(s->inner, PAWL_OBJECT_SCHEDULE, (pawl_str){0}, (pawl_str){0},
                                    10, s->mem, &list, &err) != PAWL_OK)
        return false;
    for (size_t k = 0; k < list.count; k++)
        call(s, PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_REMOVE, .name = list.items[k].name.ptr));
    return list.count > 0;
}

static bool has_id_of_run(const struct seen *i)
{
    return i->id[0] == 's' && i->id[1] >= '0' && i->id[1] < '0' + SCHEDULES && i->id[2] == '@';
}

/* Begun by a schedule: its input is a JSON text, and no client's is. */
static bool is_run(const struct seen *i)
{
    return has_id_of_run(i) && i->first_input && i->first_input[0] == '"';
}

/* Each run that was counted has been an instance, and no id has been two. */
void schedules_final(struct sim *s)
{
    struct {
        uint64_t runs, manual;
        uint64_t gone; /* removed before their first event: of whom, is not known */
    } of[SCHEDULES] = {0};
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct seen *i = s->seen[k];
        const char *at = strchr(i->id, '@');
        if (has_id_of_run(i) && i->removed && !i->first_input)
            of[i->id[1] - '0'].gone++;
        if (!is_run(i) || !at)
            continue;
        for (size_t j = 0; j < k; j++)
            if (is_run(s->seen[j]) && strcmp(s->seen[j]->id, i->id) == 0)
                sim_fail(s, "I25", "%s was begun twice", i->id);
        bool by_hand = strncmp(at, "@manual", 7) == 0;
        of[i->id[1] - '0'].manual += by_hand;
        of[i->id[1] - '0'].runs += !by_hand;
    }
    for (int n = 0; n < SCHEDULES; n++) {
        const struct timetable *t = &s->schedules->of[n];
        CHECKED(s, I25);
        uint64_t runs = of[n].runs, manual = of[n].manual, counted = t->runs + t->triggered;
        if (t->seen &&
            (runs > t->runs || manual > t->triggered || runs + manual + of[n].gone < counted))
            sim_fail(s, "I25",
                     "s%d: %llu runs and %llu triggers, but %llu and %llu instances were begun", n,
                     (unsigned long long)t->runs, (unsigned long long)t->triggered,
                     (unsigned long long)runs, (unsigned long long)manual);
    }
}
