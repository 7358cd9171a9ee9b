/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/test_turns_room.c -- what a server keeps of workers that run orchestrations is bounded.
 *
 * Each limit from both sides: the last call that is fine, and the first that is not, what its refusal
 * says, and what makes room again.  The room's invariants are checked after every call.
 */
#include "pawl/turns.h"
#include "runtime/core/parts.h"
#include "runtime/remote/remotes.h"
#include "runtime/remote/room_check.h"
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>

#define ROOM(name)                                                                                 \
    static void scene_##name(struct scene *s);                                                     \
    SCENE_TEST(name, memory, SCENE_MEMORY)                                                         \
    static void scene_##name(struct scene *s)

/* One worker, and what its last call brought. */
struct seat {
    char session[24];
    bool replied;
    int order; /* of its reply among all */
    pawl_status status;
    char text[500];
    size_t count; /* of turns */
    char tokens[PAWL_TURNS_MAX][PAWL_TURNS_TOKEN_BYTES];
    char instances[PAWL_TURNS_MAX][24];
    pawl_turn_status answered; /* the first */
};

static int replies;

static struct seat *seat(struct scene *s, int number)
{
    struct seat *w = pawl_mem_alloc(s->mem, sizeof(*w));
    *w = (struct seat){0};
    (void)snprintf(w->session, sizeof(w->session), "session-%010d", number);
    return w;
}

static void on_reply(void *arg, const pawl_turns_reply *reply)
{
    struct seat *w = arg;
    w->replied = true;
    w->order = ++replies;
    w->status = reply->status;
    (void)snprintf(w->text, sizeof(w->text), "%s", reply->error.text);
    w->count = reply->turn_count;
    w->answered = reply->answered_count ? reply->answered[0].status : 0;
    for (size_t i = 0; i < reply->turn_count; i++) {
        (void)snprintf(w->tokens[i], sizeof(w->tokens[i]), "%.*s", PAWL_FMT(reply->turns[i].token));
        (void)snprintf(w->instances[i], sizeof(w->instances[i]), "%.*s",
                       PAWL_FMT(reply->turns[i].instance));
    }
}

static void post(struct scene *s, struct seat *w, pawl_turns q)
{
    pawl_error err = {0};
    q.protocol = PAWL_TURNS_PROTOCOL;
    q.session = pawl_s(w->session);
    w->replied = false;
    expect_is(pawl_turns_exchange(s->c, &q, on_reply, w, &err), PAWL_OK);
}

/* A call that does not wait. */
static pawl_status call(struct scene *s, struct seat *w, pawl_turns q)
{
    scene_up(s);
    post(s, w, q);
    scene_settle(s);
    remote_check(s->rt);
    ck_assert(w->replied);
    return w->status;
}

static const pawl_turn_code flow[] = {
    {{"Flow", 4}, {"1.0.0", 5}}
};

static pawl_status tell(struct scene *s, struct seat *w)
{
    return call(s, w, (pawl_turns){.has_code = true, .code = flow, .code_count = 1});
}

static pawl_status ask(struct scene *s, struct seat *w, uint32_t max)
{
    return call(s, w, (pawl_turns){.max = max});
}

static void begin_flows(struct scene *s, int from, int count)
{
    for (int i = from; i < from + count; i++)
        scene_start(s, "Flow", scene_id(s, "f", i), "");
    scene_settle(s);
}

/* Answer all the turns it has; each waits for an event, or is given back. */
static void answer(struct scene *s, struct seat *w, pawl_turn_form form)
{
    const pawl_decision wait = {.deed = PAWL_DEED_EVENT, .ref = 1, .name = pawl_s("Go")};
    const pawl_turn_step step = {.message = 1, .seq = 1, .decisions = &wait, .count = 1};
    const uint64_t ref = 1;
    static pawl_turn_answer list[PAWL_TURNS_MAX];
    size_t count = w->count;
    for (size_t i = 0; i < count; i++)
        list[i] = (pawl_turn_answer){.token = pawl_s(w->tokens[i]), .form = form};
    for (size_t i = 0; i < count && form == PAWL_TURN_STEPS; i++) {
        list[i].steps = &step;
        list[i].step_count = 1;
        list[i].wait = PAWL_TURN_WAIT_ANY;
        list[i].refs = &ref;
        list[i].ref_count = 1;
    }
    expect_is(call(s, w, (pawl_turns){.answers = list, .answer_count = count}), PAWL_OK);
    expect_is(w->answered, form == PAWL_TURN_STEPS ? PAWL_TURN_OK : PAWL_TURN_RELEASED);
}

static const struct remotes *room(const struct scene *s)
{
    return s->rt->hands.remotes;
}

/* ---- Sessions ---------------------------------------------------------------------- */

ROOM(room_of_sessions)
{
    struct seat *first = seat(s, 0), *more = seat(s, PAWL_TURNS_SESSIONS_MAX);
    expect_is(tell(s, first), PAWL_OK);
    scene_advance(s, 30000);
    for (int i = 1; i < PAWL_TURNS_SESSIONS_MAX; i++)
        expect_is(tell(s, seat(s, i)), PAWL_OK);
    expect_is(tell(s, more), PAWL_BUSY);
    expect_text(more->text, "too_many: this server has 1000 sessions");
    expect_text(more->text, "silent for 60 s makes room");
    expect_is(ask(s, first, 1), PAWL_OK); /* who is in stays in */
    scene_advance(s, 59999);
    expect_is(tell(s, more), PAWL_BUSY);
    scene_advance(s, 1);
    expect_is(tell(s, more), PAWL_OK);
    expect_is(ask(s, first, 1), PAWL_OK); /* another was silent for longer */
    expect_is(ask(s, seat(s, 1), 1), PAWL_CONFLICT);
    expect_is(room(s)->sessions.count, PAWL_TURNS_SESSIONS_MAX);
}

ROOM(room_of_a_silent_session)
{
    struct seat *w = seat(s, 0);
    expect_is(tell(s, w), PAWL_OK);
    begin_flows(s, 0, 3);
    expect_is(ask(s, w, 2), PAWL_OK);
    expect_is(w->count, 2);
    answer(s, w, PAWL_TURN_STEPS);
    expect_is(ask(s, w, 1), PAWL_OK); /* this one is lost with it */
    expect_is(w->count, 1);
    expect_is(room(s)->known_count, 3);
    scene_advance(s, 600000 + s->rt->opts.turn_lease_ms - 1);
    expect_is(room(s)->sessions.count, 1);
    expect_is(room(s)->runs.count, 3); /* two it knows, one that waits for another worker */
    scene_advance(s, 1);
    expect_is(room(s)->sessions.count, 0);
    expect_is(room(s)->runs.count, 1);
    expect_is(room(s)->known_count, 0);
    remote_check(s->rt);
    struct seat *next = seat(s, 1);
    expect_is(tell(s, next), PAWL_OK);
    expect_is(ask(s, next, 10), PAWL_OK);
    expect_is(next->count, 1);
}

ROOM(room_of_a_session_that_leaves)
{
    struct seat *w = seat(s, 0);
    expect_is(tell(s, w), PAWL_OK);
    begin_flows(s, 0, 3);
    expect_is(ask(s, w, 2), PAWL_OK);
    answer(s, w, PAWL_TURN_STEPS);
    expect_is(ask(s, w, 1), PAWL_OK);
    expect_is(call(s, seat(s, 0), (pawl_turns){.leaving = true}), PAWL_OK);
    expect_is(room(s)->known_count, 1); /* whose turn it has */
    answer(s, w, PAWL_TURN_STEPS);
    expect_is(room(s)->out_count, 0);
}

ROOM(room_of_runs_a_session_knows)
{
    struct seat *w = seat(s, 0);
    int count = PAWL_TURNS_KNOWN_MAX + 4;
    expect_is(tell(s, w), PAWL_OK);
    for (int i = 0; i < count; i += 100) {
        begin_flows(s, i, 100);
        expect_is(ask(s, w, 100), PAWL_OK);
        expect_is(w->count, 100);
        answer(s, w, PAWL_TURN_STEPS);
    }
    expect_is(room(s)->known_count, PAWL_TURNS_KNOWN_MAX);
    expect_is(room(s)->runs.count, PAWL_TURNS_KNOWN_MAX);
}

/* ---- Code ------------------------------------------------------------------------------ */

static pawl_status tell_many(struct scene *s, struct seat *w, int from, size_t count)
{
    static pawl_turn_code list[PAWL_TURNS_CODE_MAX];
    for (size_t i = 0; i < count; i++)
        list[i] = (pawl_turn_code){pawl_mem_printf(s->mem, "C%d", from + (int)i), pawl_s("1.0.0")};
    return call(s, w, (pawl_turns){.has_code = true, .code = list, .code_count = count});
}

ROOM(room_of_code)
{
    struct seat *w = seat(s, 0), *other = seat(s, 1);
    for (int i = 0; i < PAWL_TURNS_CODES_MAX; i += PAWL_TURNS_CODE_MAX)
        expect_is(tell_many(s, w, i, PAWL_TURNS_CODE_MAX), PAWL_OK);
    expect_is(tell_many(s, other, PAWL_TURNS_CODES_MAX - 1, 2), PAWL_BUSY);
    expect_text(other->text, "too_many: this server knows 10000 orchestrations");
    expect_text(other->text, "tell only versions that still run");
    expect_is(room(s)->sessions.count, 1); /* nothing was done */
    expect_is(tell_many(s, other, 0, PAWL_TURNS_CODE_MAX), PAWL_OK);
    expect_is(tell_many(s, w, 0, 1), PAWL_OK);
    expect_is(room(s)->codes.count, PAWL_TURNS_CODES_MAX);
}

/* ---- Calls that wait --------------------------------------------------------------------- */

ROOM(room_of_calls_that_wait)
{
    struct seat *w = seat(s, 0), *last = seat(s, 1), **all;
    expect_is(tell(s, w), PAWL_OK);
    expect_is(tell(s, last), PAWL_OK);
    all = pawl_mem_alloc(s->mem, PAWL_TURNS_WAITING_MAX * sizeof(struct seat *));
    for (int i = 0; i < PAWL_TURNS_WAITING_MAX; i++) {
        all[i] = seat(s, 0);
        post(s, all[i], (pawl_turns){.max = 1, .wait_ms = 20000});
    }
    scene_settle(s);
    remote_check(s->rt);
    expect_is(room(s)->waiting_count, PAWL_TURNS_WAITING_MAX);
    expect_is(call(s, last, (pawl_turns){.max = 1, .wait_ms = 1}), PAWL_BUSY);
    expect_text(last->text, "too_many: 1000 calls for turns wait here already");
    expect_is(ask(s, last, 1), PAWL_OK); /* it does not wait */
    begin_flows(s, 0, 1);                /* one is answered: there is room for one */
    ck_assert(all[0]->replied && !all[1]->replied);
    post(s, last, (pawl_turns){.max = 1, .wait_ms = 1000});
    scene_settle(s);
    ck_assert(!last->replied);
    scene_advance(s, 20000);
    for (int i = 1; i < PAWL_TURNS_WAITING_MAX; i++)
        ck_assert(all[i]->replied && all[i]->status == PAWL_OK);
    expect_is(room(s)->waiting_count, 0);
    remote_check(s->rt);
}

/* Who waits longest is first. */
ROOM(room_calls_are_served_in_order)
{
    struct seat *all[5];
    replies = 0;
    for (int i = 0; i < 5; i++) {
        all[i] = seat(s, i);
        expect_is(tell(s, all[i]), PAWL_OK);
    }
    for (int i = 0; i < 5; i++) {
        post(s, all[i], (pawl_turns){.max = 1, .wait_ms = 10000});
        scene_advance(s, 1);
    }
    begin_flows(s, 0, 2);
    ck_assert(all[0]->replied && all[1]->replied && !all[2]->replied);
    begin_flows(s, 2, 3);
    for (int i = 1; i < 5; i++)
        ck_assert(all[i]->count == 1 && all[i]->order > all[i - 1]->order);
    remote_check(s->rt);
}

/* ---- Turns that are out ------------------------------------------------------------------- */

ROOM(room_of_turns_of_a_session)
{
    struct seat *w = seat(s, 0), *other = seat(s, 1), *held = seat(s, 0);
    expect_is(tell(s, w), PAWL_OK);
    expect_is(tell(s, other), PAWL_OK);
    begin_flows(s, 0, PAWL_TURNS_SESSION_OUT_MAX + 2);
    for (int i = 0; i < PAWL_TURNS_SESSION_OUT_MAX; i += 100) {
        expect_is(ask(s, held, 100), PAWL_OK);
        expect_is(held->count, 100);
    }
    expect_is(ask(s, w, 1), PAWL_BUSY);
    expect_text(w->text, "too_many: this session has 1000 turns that it did not answer");
    const pawl_str beat =
        pawl_s(held->tokens[0]); /* what brings something is taken, and gets none */
    expect_is(call(s, w, (pawl_turns){.beats = &beat, .beat_count = 1, .max = 1}), PAWL_OK);
    expect_is(w->count, 0);
    expect_is(ask(s, other, 1), PAWL_OK);
    expect_is(other->count, 1);
    held->count = 1;
    answer(s, held, PAWL_TURN_STEPS);
    expect_is(ask(s, w, 10), PAWL_OK);
    expect_is(w->count, 1);
}

/* A call that waits is given a turn as soon as another one comes in. */
static void expect_held(struct scene *s, struct seat *has, size_t count)
{
    struct seat *last = seat(s, 99);
    expect_is(tell(s, last), PAWL_OK);
    expect_is(has->count, count);
    post(s, last, (pawl_turns){.max = 1, .wait_ms = 1000});
    scene_settle(s);
    remote_check(s->rt);
    ck_assert(!last->replied);
    has->count = 1;
    answer(s, has, PAWL_TURN_STEPS);
    ck_assert(last->replied && last->count == 1);
    expect_is(room(s)->out_count, count);
    remote_check(s->rt);
}

ROOM(room_of_turns_of_the_server)
{
    struct seat *w = seat(s, 0);
    expect_is(tell(s, w), PAWL_OK);
    expect_is(room(s)->most_out, PAWL_TURNS_OUT_MAX);
    s->rt->hands.remotes->most_out = 20;
    begin_flows(s, 0, 21);
    expect_is(ask(s, w, 100), PAWL_OK);
    expect_held(s, w, 20);
}

ROOM(room_of_bytes_that_are_out)
{
    struct seat *w = seat(s, 0);
    char *big = pawl_mem_alloc(s->mem, 100001);
    memset(big, 'x', 100000);
    big[100000] = 0;
    expect_is(tell(s, w), PAWL_OK);
    expect_is(room(s)->most_bytes, PAWL_TURNS_OUT_BYTES);
    s->rt->hands.remotes->most_bytes = 300000; /* what is begun under it is given */
    for (int i = 0; i < 4; i++)
        scene_start(s, "Flow", scene_id(s, "f", i), big);
    expect_is(ask(s, w, 100), PAWL_OK);
    expect_held(s, w, 3);
}

/* ---- What a call brings, and what it reads ----------------------------------------------- */

/* Answer the first turn with one call, with these options. */
static pawl_status call_with(struct scene *s, struct seat *w, const pawl_call_opts *opts)
{
    const pawl_decision d = {
        .deed = PAWL_DEED_CALL, .ref = 1, .name = pawl_s("Away"), .has_data = true, .opts = opts};
    const pawl_turn_step step = {.message = 1, .seq = 1, .decisions = &d, .count = 1};
    const uint64_t ref = 1;
    const pawl_turn_answer a = {.token = pawl_s(w->tokens[0]),
                                .form = PAWL_TURN_STEPS,
                                .steps = &step,
                                .step_count = 1,
                                .wait = PAWL_TURN_WAIT_ANY,
                                .refs = &ref,
                                .ref_count = 1};
    const pawl_turns q = {.protocol = PAWL_TURNS_PROTOCOL,
                          .session = pawl_s(w->session),
                          .answers = &a,
                          .answer_count = 1};
    pawl_error err = {0};
    pawl_status rc = pawl_turns_exchange(s->c, &q, on_reply, w, &err);
    scene_settle(s);
    return rc;
}

/* A program that was compiled with another header: what its struct lacks is 0, what ours lacks must be. */
ROOM(options_have_their_size)
{
    struct seat *w = seat(s, 0);
    struct {
        pawl_call_opts known;
        uint64_t more;
    } newer = {
        .known = {.size = sizeof(newer), .attempts = 2},
          .more = 1
    };
    const pawl_call_opts older = {.size = offsetof(pawl_call_opts, backoff),
                                  .attempts = 3,
                                  .backoff = (pawl_backoff)77,
                                  .initial_ms = -5}; /* not its: bytes behind its struct */
    expect_is(tell(s, w), PAWL_OK);
    begin_flows(s, 0, 2);
    expect_is(ask(s, w, 1), PAWL_OK);
    expect_is(call_with(s, w, &newer.known), PAWL_MISUSE);
    newer.more = 0;
    expect_is(call_with(s, w, &newer.known), PAWL_OK);
    expect_is(w->answered, PAWL_TURN_OK);
    expect_is(ask(s, w, 1), PAWL_OK);
    expect_is(call_with(s, w, &older), PAWL_OK);
    expect_is(w->answered, PAWL_TURN_OK);
    pawl_history h;
    pawl_error err;
    expect_is(pawl_client_history(s->c, w->instances[0], 1, 0, 0, s->mem, &h, &err), PAWL_OK);
    expect_text(h.events[1].attrs.ptr, "\"attempts\":3");
    ck_assert(!strstr(h.events[1].attrs.ptr, "initial"));
}

static const pawl_store_ops *real;
static size_t read_events;

static pawl_status read_history(pawl_store *store, uint64_t uid, uint64_t number, uint64_t after,
                                uint32_t limit, pawl_mem *mem, pawl_event_list *ret,
                                pawl_error *err)
{
    pawl_status rc = real->read_history(store, uid, number, after, limit, mem, ret, err);
    read_events += rc == PAWL_OK ? ret->count : 0;
    return rc;
}

static void count_events(pawl_store *outer)
{
    static pawl_store_ops counting;
    real = outer->ops;
    counting = *real;
    counting.read_history = read_history;
    outer->ops = &counting;
}

/* 200 events of 100 kB each: a turn has a megabyte of them, and not all are read for it. */
ROOM(a_turn_reads_what_it_hands_out)
{
    struct seat *w = seat(s, 0), *next = seat(s, 1);
    char *big = pawl_mem_alloc(s->mem, 100000);
    static pawl_decision list[200];
    const uint64_t ref = 1;
    memset(big, 'x', 100000);
    for (size_t i = 0; i < COUNT_OF(list); i++)
        list[i] = (pawl_decision){
            .deed = PAWL_DEED_CALL,
            .ref = i + 1,
            .name = pawl_s("Away"),
            .data = {big, 100000},
            .has_data = true
        };
    s->decorate = count_events;
    expect_is(tell(s, w), PAWL_OK);
    begin_flows(s, 0, 1);
    expect_is(ask(s, w, 1), PAWL_OK);
    const pawl_turn_step step = {
        .message = 1, .seq = 1, .decisions = list, .count = COUNT_OF(list)};
    const pawl_turn_answer a = {.token = pawl_s(w->tokens[0]),
                                .form = PAWL_TURN_STEPS,
                                .steps = &step,
                                .step_count = 1,
                                .wait = PAWL_TURN_WAIT_ANY,
                                .refs = &ref,
                                .ref_count = 1};
    expect_is(call(s, w, (pawl_turns){.answers = &a, .answer_count = 1}), PAWL_OK);
    expect_is(w->answered, PAWL_TURN_OK);
    expect_is(call(s, w, (pawl_turns){.leaving = true}), PAWL_OK);
    scene_steer(s, PAWL_OP_CANCEL, "f0");
    scene_settle(s);
    expect_is(tell(s, next), PAWL_OK);
    read_events = 0;
    expect_is(ask(s, next, 1), PAWL_OK);
    expect_is(next->count, 1);
    ck_assert(read_events >= 10);
    ck_assert(read_events <= 24);
}

ROOM(the_lease_of_a_session_has_bounds)
{
    static const int64_t bad[] = {-1, 1, PAWL_LEASE_MIN - 1, PAWL_LEASE_MAX + 1, INT64_MAX};
    struct seat *w = seat(s, 0);
    expect_is(tell(s, w), PAWL_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const pawl_turns q = {
            .protocol = PAWL_TURNS_PROTOCOL, .session = pawl_s(w->session), .lease_ms = bad[i]};
        pawl_error err = {0};
        expect_is(pawl_turns_exchange(s->c, &q, on_reply, w, &err), PAWL_INVALID);
        ck_assert(strstr(err.text, "lease_ms is 1000..3600000"));
    }
    expect_is(call(s, w, (pawl_turns){.lease_ms = PAWL_LEASE_MIN}), PAWL_OK);
    expect_is(call(s, w, (pawl_turns){.lease_ms = PAWL_LEASE_MAX}), PAWL_OK);
}
