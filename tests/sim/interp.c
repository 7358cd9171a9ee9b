/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/interp.c -- the orchestration that runs a program (program.c), and
 * the activities it calls.
 *
 * Everything the code learns (results, winners, times, random numbers) is folded
 * into a hash, and the hash goes into every input it hands on and into the
 * output.  Replay compares inputs and output byte by byte, so code that saw
 * anything else than the first time is caught at its next call.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

#define TASKS_MAX 6

struct run {
    pawl_ctx *ctx;
    const struct code *code;
    const char *at;
    uint64_t hash;
    bool compensates, returned;
    int pushes;
    pawl_result result;
};

/* ---- Reading programs -------------------------------------------------------------- */

/* The seq at r->at as a text of its own; moves behind it. */
static pawl_str take_seq(struct run *r)
{
    const char *begin = r->at;
    int depth = 0;
    do {
        depth += *r->at == '(' ? 1 : *r->at == ')' ? -1 : 0;
        r->at++;
    } while (depth > 0 && *r->at);
    return (pawl_str){begin, (size_t)(r->at - begin)};
}

static void saw(struct run *r, pawl_result result)
{
    int token;
    if (r->code->ledger && result.ok && driver_is_token(r->code->sim, result.value, &token))
        r->code->ledger->saw[token] = true;
}

static void gave_up(struct run *r, pawl_task t)
{
    if (r->code->ledger)
        (void)map_put(&r->code->ledger->gave_up, t.id, r->code->ledger);
}

static void fold(struct run *r, pawl_result result)
{
    saw(r, result);
    r->hash = hash_number(r->hash, (uint64_t)result.ok * 2 + result.cancelled);
    r->hash = hash_str(r->hash, result.value);
}

/* ---- Leaves -------------------------------------------------------------------------- */

static pawl_call_opts policy_number(int n)
{
    static const char *const final_errors[] = {"err final", NULL};
    switch (n) {
    case 1:
        return *PAWL_CALL_OPTS(.attempts = 3, .backoff = PAWL_BACKOFF_FIXED, .initial_ms = 10);
    case 2:
        return *PAWL_CALL_OPTS(.attempts = 4, .initial_ms = 5, .jitter = 0.5,
                               .start_to_close_ms = 50);
    case 3:
        return *PAWL_CALL_OPTS(.attempts = 5, .initial_ms = 40, .schedule_to_close_ms = 200);
    case 4:
        return *PAWL_CALL_OPTS(.attempts = 2, .initial_ms = 1, .schedule_to_start_ms = 100);
    case 5:
        return *PAWL_CALL_OPTS(.attempts = 3, .backoff = PAWL_BACKOFF_LINEAR, .initial_ms = 7,
                               .heartbeat_ms = 40);
    case 6:
        return *PAWL_CALL_OPTS(.attempts = 4, .initial_ms = 1, .final_errors = final_errors);
    case 7:
        return *PAWL_CALL_OPTS(.attempts = 3, .initial_ms = 20, .start_to_close_ms = 60,
                               .no_retry_on_timeout = true);
    default:
        return *PAWL_CALL_OPTS(.attempts = 1);
    }
}

uint32_t interp_attempts(pawl_str input)
{
    if (input.len < 2 || input.ptr[1] < '0' || input.ptr[1] > '9')
        return 1;
    return policy_number(input.ptr[1] - '0').attempts;
}

static pawl_task start_activity(struct run *r, const char *name)
{
    char kind = *r->at++;
    int policy = *r->at++ - '0';
    pawl_call_opts opts = policy_number(policy);
    if (kind == 'p' && !policy) /* a result by token may never come */
        policy = 8;
    if (policy == 8)
        opts.schedule_to_close_ms = 5000;
    pawl_str input = pawl_printf(r->ctx, "%c%d:%016llx", kind, policy, (unsigned long long)r->hash);
    if (policy % 2) { /* the others are in no tray */
        static const char *const keys[] = {NULL, "a", "a/x", "b"};
        opts.key = keys[r->hash % 4];
        opts.priority = (uint32_t)(r->hash / 4 % 3) * 60;
    }
    return policy ? pawl_start_with(r->ctx, name, input, &opts) : pawl_start(r->ctx, name, input);
}

static pawl_task start_child(struct run *r, char kind)
{
    pawl_child_opts opts = {.size = sizeof(opts)};
    if (kind == 'q')
        opts.flags = PAWL_CHILD_ABANDON;
    else if (kind == 'k')
        opts.instance = pawl_printf(r->ctx, "k%c", *r->at++).ptr;
    else if (*r->at++ != '0')
        opts.version = r->at[-1] == '1' ? "1.0.0" : "2.0.0";
    pawl_str program = take_seq(r);
    return pawl_start_child(r->ctx, "Prog", program, &opts);
}

static pawl_task start_leaf(struct run *r)
{
    char kind = *r->at++;
    char name[3] = {0};
    switch (kind) {
    case 'a':
        return start_activity(r, "Act");
    case 'b':
        return start_activity(r, "Act2");
    case 't': {
        char *end;
        int64_t ms = strtoll(r->at, &end, 10);
        r->at = end + 1;
        return pawl_timer(r->ctx, ms);
    }
    case 'e':
        return start_activity(r, "Remote");
    case 'o':
        name[0] = 'q';
        name[1] = *r->at++;
        return pawl_queue_pop(r->ctx, name, 1000 + (int64_t)(r->hash % 5000),
                              r->hash % 3 ? 0 : (int64_t)(r->hash % 900));
    case 'w':
    case 'z':
        name[0] = kind == 'w' ? 'E' : 'Z';
        name[1] = *r->at++;
        if (kind == 'w' && name[1] == SIM_ASKS)
            return pawl_wait_event_ask(r->ctx, name, pawl_s("{\"title\":\"?\"}"));
        return kind == 'w' ? pawl_wait_event(r->ctx, name)
                           : pawl_wait_event_with(r->ctx, name, PAWL_EVENT_DROP_EARLY);
    case 'i': /* taken, and answered by the end */
        name[0] = 'U';
        name[1] = *r->at++;
        return pawl_wait_update(r->ctx, name);
    default:
        return start_child(r, kind);
    }
}

static void await_one(struct run *r, pawl_task t)
{
    pawl_result result = pawl_await(r->ctx, t);
    fold(r, result);
    pawl_result again = pawl_await(r->ctx, t);
    if (!result.cancelled && !again.cancelled)
        assert_that(result.ok == again.ok && pawl_str_eq(result.value, again.value));
}

static void parallel(struct run *r)
{
    char mode = *r->at++;
    pawl_task tasks[TASKS_MAX];
    size_t n = 0;
    for (r->at++; *r->at != ']'; n++)
        tasks[n] = start_leaf(r);
    r->at++;
    if (mode == 'a')
        fold(r, pawl_await_all(r->ctx, tasks, n));
    else if (mode == 's')
        fold(r, pawl_await_settled(r->ctx, tasks, n));
    else
        r->hash = hash_number(r->hash, (uint64_t)(mode == 'y' ? pawl_await_any(r->ctx, tasks, n)
                                                              : pawl_race(r->ctx, tasks, n)));
    for (size_t i = 0; i < n; i++)
        if (pawl_is_done(r->ctx, tasks[i]))
            fold(r, pawl_await(r->ctx, tasks[i]));
}

/* ---- Items ---------------------------------------------------------------------------- */

static void look_around(struct run *r)
{
    pawl_ctx *ctx = r->ctx;
    r->hash = hash_number(r->hash, (uint64_t)pawl_now(ctx));
    r->hash = hash_number(r->hash, pawl_random(ctx));
    r->hash = hash_str(r->hash, pawl_uuid(ctx));
    r->hash = hash_number(r->hash, pawl_history_length(ctx));
    r->hash = hash_number(r->hash, pawl_cancelled(ctx));
}

static void run_seq(struct run *r);

static void detach(struct run *r)
{
    pawl_child_opts opts = {.size = sizeof(opts),
                            .instance = pawl_printf(r->ctx, "k%c", *r->at++).ptr};
    fold(r, pawl_start_detached(r->ctx, "Prog", take_seq(r), &opts));
}

/* What it reads goes into the hash: a replay that read another value is caught at its next call. */
static void publish(struct run *r)
{
    char how = r->at[0], key[2] = {r->at[1], 0};
    r->at += 2;
    if (how == 's')
        fold(r, pawl_state_set(r->ctx, key,
                               pawl_printf(r->ctx, "%016llx", (unsigned long long)r->hash)));
    else if (how == 'c')
        fold(r, pawl_state_clear(r->ctx, key));
    else
        r->hash = hash_str(r->hash, pawl_state_get(r->ctx, key));
}

/* Its data is its own: no other call of any execution has it. */
static void raise_to(struct run *r)
{
    pawl_ctx *ctx = r->ctx;
    char event[3] = {'E', r->at[0], 0}, instance[3] = {'i', r->at[1], 0};
    r->at += 2;
    pawl_str data = pawl_printf(ctx, "V%.*s/%llu/%d/%016llx", PAWL_FMT(pawl_instance(ctx)),
                                (unsigned long long)pawl_execution(ctx), r->pushes++,
                                (unsigned long long)pawl_random(ctx));
    fold(r, pawl_raise(ctx, instance, event, data, r->hash % 4 ? 0 : PAWL_RAISE_AWAIT_START));
}

/* 0 fits; the others do not: in all, by itself, absurd. */
static void ask_for_memory(struct run *r)
{
    static const size_t sizes[] = {1 << 10, SIM_TURN_MEMORY / 8, SIM_TURN_MEMORY + 1,
                                   (size_t)1 << 45, (size_t)-8};
    int n = *r->at++ - '0';
    for (int i = 0; (r->code->greedy || n == 0) && i < 10; i++)
        memset(pawl_alloc(r->ctx, sizes[n]), 1, 1);
}

/* A wait that nobody reads, however it ends. */
static void leave_unread(struct run *r)
{
    char how = r->at[0], name[3] = {'E', r->at[1], 0};
    r->at += 2;
    if (how == 's')
        pawl_scope_begin(r->ctx);
    pawl_task sides[2] = {pawl_timer(r->ctx, 0), {0}};
    sides[1] = name[1] == SIM_ASKS ? pawl_wait_event_ask(r->ctx, name, pawl_s("{\"text\":\"?\"}"))
                                   : pawl_wait_event(r->ctx, name);
    await_one(r, sides[0]);
    await_one(r, start_leaf(r));
    if (how == 'c')
        pawl_cancel(r->ctx, sides[1]);
    int winner = how == 'r' ? pawl_race(r->ctx, sides, 2) : 0; /* -1: it was cancelled */
    if (winner == 1)
        fold(r, pawl_await(r->ctx, sides[1]));
    else if (winner == 0 && how != 'k')
        gave_up(r, sides[1]);
    if (how == 's')
        pawl_scope_end(r->ctx);
}

static void continue_as_new(struct run *r)
{
    char how = *r->at++;
    static const char *const versions[] = {NULL, PAWL_SAME_VERSION, "2.0.0"};
    r->result = pawl_continue_as_new(r->ctx, take_seq(r), versions[(how - '0') % 3]);
    r->returned = true;
}

static void patched(struct run *r)
{
    char name[3] = {'p', *r->at++, 0};
    if (!r->code->patched || !pawl_patched(r->ctx, name))
        return;
    r->hash = hash_number(r->hash, 77);
    fold(r,
         pawl_call(r->ctx, "Act", pawl_printf(r->ctx, "o0:%016llx", (unsigned long long)r->hash)));
}

static void push(struct run *r)
{
    pawl_ctx *ctx = r->ctx;
    char name[3] = {'q', *r->at++, 0};
    pawl_str data = pawl_printf(ctx, "H%.*s/%llu/%d", PAWL_FMT(pawl_instance(ctx)),
                                (unsigned long long)pawl_execution(ctx), r->pushes++);
    fold(r, pawl_queue_push(ctx, name, data,
                            PAWL_PUSH_OPTS(.priority = (int64_t)(r->hash % 3),
                                           .delay_ms = r->hash % 5 ? 0 : 700)));
}

static void pop_and_ack(struct run *r)
{
    char name[3] = {'q', *r->at++, 0};
    pawl_result got = pawl_await(r->ctx, pawl_queue_pop(r->ctx, name, 2000, r->hash % 2 ? 0 : 500));
    fold(r, got);
    pawl_str lock = pawl_json_text(pawl_ctx_mem(r->ctx), got.value, "/lock_id", "");
    if (got.ok && lock.len)
        await_one(r, pawl_queue_ack(r->ctx, name, lock));
}

/* Its answer says what was asked: A… or N… and the request (served.c). */
static void serve(struct run *r)
{
    pawl_ctx *ctx = r->ctx;
    char how = r->at[0], name[3] = {'U', r->at[1], 0};
    r->at += 2;
    pawl_task u = how == 'k' ? pawl_wait_update_checked(ctx, name, served_check, NULL)
                             : pawl_wait_update(ctx, name);
    if (how == 'c') { /* what comes meanwhile goes back */
        fold(r, pawl_sleep(ctx, 1000));
        pawl_cancel(ctx, u);
        return;
    }
    pawl_result got = pawl_await(ctx, u);
    fold(r, got);
    if (!got.ok || how == 'l')
        return;
    if (how == 's') /* a step between the request and its answer */
        fold(r, pawl_call(ctx, "Act", pawl_printf(ctx, "o0:%016llx", (unsigned long long)r->hash)));
    if (how == 'r')
        pawl_reject(ctx, u, pawl_printf(ctx, "N%.*s", PAWL_FMT(got.value)).ptr);
    else
        pawl_answer(ctx, u, pawl_printf(ctx, "A%.*s", PAWL_FMT(got.value)));
    if (how == 't')
        pawl_answer(ctx, u, pawl_s("once more"));
}

static void run_item(struct run *r)
{
    pawl_ctx *ctx = r->ctx;
    char kind = *r->at;
    if (strchr("abtwzcqkeoi", kind)) {
        await_one(r, start_leaf(r));
        return;
    }
    r->at++;
    switch (kind) {
    case 'P':
        parallel(r);
        break;
    case 'x': {
        pawl_task t = start_leaf(r);
        pawl_cancel(ctx, t);
        fold(r, pawl_await(ctx, t));
        break;
    }
    case 'g':
        (void)start_leaf(r);
        break;
    case 'd':
        fold(r, pawl_start_detached(ctx, "Prog", take_seq(r), NULL));
        break;
    case 'h':
        pawl_shield(ctx);
        run_seq(r);
        pawl_unshield(ctx);
        break;
    case 'S':
        pawl_scope_begin(ctx);
        run_seq(r);
        if (!r->returned) /* the result lives in the scope */
            pawl_scope_end(ctx);
        break;
    case 'u':
        pawl_set_status(ctx, pawl_printf(ctx, "at %016llx", (unsigned long long)r->hash).ptr);
        break;
    case 'v':
        patched(r);
        break;
    case 'n':
        look_around(r);
        break;
    case 'l':
        pawl_log(ctx, PAWL_LOG_DEBUG, "hash %016llx", (unsigned long long)r->hash);
        break;
    case 'Q':
        push(r);
        break;
    case 'O':
        pop_and_ack(r);
        break;
    case 'U':
        leave_unread(r);
        break;
    case 'D':
        detach(r);
        break;
    case 'K':
        publish(r);
        break;
    case 'V':
        raise_to(r);
        break;
    case 'A':
        serve(r);
        break;
    case 'M':
        ask_for_memory(r);
        break;
    case 'N':
        continue_as_new(r);
        break;
    default: /* R, F */
        r->result.ok = kind == 'R';
        r->returned = true;
    }
}

static void run_seq(struct run *r)
{
    for (r->at++; *r->at != ')' && !r->returned;) {
        run_item(r);
        if (r->compensates && pawl_cancelled(r->ctx))
            r->returned = true;
    }
    if (!r->returned)
        r->at++;
}

pawl_result interp_orchestration(pawl_ctx *ctx, pawl_str input)
{
    struct run r = {.ctx = ctx, .code = pawl_user(ctx), .at = input.ptr, .result.ok = true};
    if (r.code->deviates && pawl_is_replaying(ctx))
        (void)pawl_start(ctx, "Deviation", pawl_s("x"));
    r.hash = hash_str(hash_str(pawl_execution(ctx), pawl_instance(ctx)), input);
    if (*r.at != '!' && *r.at != '(') /* an item of a bound queue */
        r.at = "(ao1)";
    if (*r.at == '!') {
        r.compensates = true;
        r.at++;
    }
    run_seq(&r);
    if (r.compensates && pawl_cancelled(ctx)) {
        pawl_shield(ctx);
        pawl_ignore(pawl_sleep(ctx, (int64_t)(r.hash % 5000))); /* longer than any grace */
        pawl_result undone =
            pawl_call(ctx, "Act", pawl_printf(ctx, "o0:%016llx", (unsigned long long)r.hash));
        pawl_unshield(ctx);
        fold(&r, undone);
        if (r.code->ledger)
            r.code->ledger->undone = undone.kind != PAWL_RESULT_CANCELLED;
    }
    if (r.result.value.len) /* continue as new */
        return r.result;
    return r.result.ok ? pawl_donef(ctx, "out %016llx", (unsigned long long)r.hash)
                       : pawl_failf(ctx, "failed %016llx", (unsigned long long)r.hash);
}

/* ---- Activities --------------------------------------------------------------------------- */

void interp_result(pawl_str instance, uint64_t execution, uint64_t ref, pawl_str input,
                   char out[40])
{
    uint64_t h = hash_number(hash_number(hash_str(1, instance), execution), ref);
    (void)snprintf(out, 40, "r%016llx", (unsigned long long)hash_str(h, input));
}

/* As the store has it. */
static bool is_open(struct sim *s, pawl_activity *act)
{
    struct seen *i = seen_by_id(s, pawl_activity_instance(act));
    if (!i || i->end_kind || pawl_activity_execution(act) != i->execution)
        return false;
    const struct seen_task *t = seen_task(i, pawl_activity_id(act));
    return t && t->kind == PAWL_EV_ACTIVITY_SCHEDULED && t->now == TASK_IS_OPEN;
}

/* A schedule that was withdrawn or completed is never begun again. */
static struct seen_task *check_begin(struct sim *s, pawl_activity *act, struct seen **reti)
{
    struct seen *i = seen_by_id(s, pawl_activity_instance(act));
    CHECKED(s, begin);
    CHECKED(s, I14);
    if (!i)
        sim_fail(s, "begin", "activity of %.*s began: no such instance",
                 PAWL_FMT(pawl_activity_instance(act)));
    struct seen_task *t =
        pawl_activity_execution(act) == i->execution ? seen_task(i, pawl_activity_id(act)) : NULL;
    if (!t || t->kind != PAWL_EV_ACTIVITY_SCHEDULED || t->now != TASK_IS_OPEN || i->end_kind)
        sim_fail(s, "begin", "activity %llu of %s execution %llu began; it is %s",
                 (unsigned long long)pawl_activity_id(act), i->id,
                 (unsigned long long)pawl_activity_execution(act),
                 !t                            ? "not scheduled in the newest execution"
                 : t->now == TASK_IS_CANCELLED ? "cancelled"
                                               : "completed");
    *reti = i;
    return t;
}

/* No more attempts than the policy allows; a process that dies takes one with it. */
static void count_begin(const struct node *n, const struct seen *i, struct seen_task *t,
                        uint64_t ref)
{
    t->begun++;
    t->lives += t->last_life != n->life;
    t->last_life = n->life;
    uint32_t most = interp_attempts(pawl_s(t->input));
    if (t->begun > most + t->lives - 1 + n->sim->shortages) /* no memory for the result: again */
        sim_fail(n->sim, "I14", "%s: activity %llu began %u times on %u nodes; it has %u attempts",
                 i->id, (unsigned long long)ref, t->begun, t->lives, most);
}

static pawl_result leave_pending(struct sim *s, pawl_activity *act, const struct seen *i,
                                 const char *value)
{
    struct pending *p = sim_grow(&s->pending, &s->pending_count, &s->pending_cap, sizeof(*p));
    *p = (struct pending){.uid = i->uid,
                          .execution = pawl_activity_execution(act),
                          .ref = pawl_activity_id(act),
                          .value = strdup(value)};
    (void)snprintf(p->token, sizeof(p->token), "%s", pawl_activity_token(act));
    return pawl_pending(act);
}

/* It steps: what was seen may have grown, or ended. */
static pawl_result be_cancelled(struct node *n, pawl_activity *act, uint64_t uid, const char *value)
{
    if (oncancel_run(n, act))
        return pawl_err(act, "nobody sees this");
    struct seen *i = seen_by_uid(n->sim, uid);
    struct seen_task *t = i && i->execution == pawl_activity_execution(act)
                              ? seen_task(i, pawl_activity_id(act))
                              : NULL;
    if (t)
        t->returned_ok = true;
    return pawl_ok(act, value);
}

static pawl_result run_activity(pawl_activity *act, pawl_str input)
{
    struct node *n = pawl_activity_user(act);
    struct sim *s = n->sim;
    if (node_is_over(n)) /* what it was handed it may run: nobody sees the result */
        return pawl_err(act, "nobody sees this");
    if (node_in_doubt(n) && !is_open(s, act)) /* by a commit that the node does not know of yet */
        return pawl_err(act, "nobody sees this");
    if (s->plan.rate[SITE_half] && !is_open(s, act)) /* by a half-done round that left its row */
        return pawl_err(act, "nobody sees this");
    struct seen *i;
    struct seen_task *t = check_begin(s, act, &i);
    count_begin(n, i, t, pawl_activity_id(act));
    uint32_t attempt = pawl_activity_attempt(act);
    char value[40];
    interp_result(pawl_activity_instance(act), pawl_activity_execution(act), pawl_activity_id(act),
                  input, value);
    sim_trace(s, "activity %.*s of %s #%llu attempt %u", PAWL_FMT(input), i->id,
              (unsigned long long)pawl_activity_id(act), attempt);
    s->n->activities++;
    switch (input.ptr[0]) {
    case 'f':
        details_activity(n, act, i, t);
        return pawl_errf(act, "err %s%s", attempt > 2 ? "final " : "", value);
    case 'y':
        details_activity(n, act, i, t);
        if (attempt < 3)
            return pawl_errf(act, "err %s", value);
        break;
    case 's': {
        int64_t ms = prng_between(&s->clock, 1, 90);
        s->wall_ms += ms;
        s->mono_ms += ms;
        details_activity(n, act, i, t);
        (void)pawl_activity_heartbeat(act);
        break;
    }
    case 'p':
        return leave_pending(s, act, i, value);
    case 'c':
        return be_cancelled(n, act, i->uid, value);
    default:
        break;
    }
    t->returned_ok = true;
    return pawl_ok(act, value);
}

pawl_result interp_activity(pawl_activity *act, pawl_str input)
{
    memory_pause();
    pawl_result result = run_activity(act, input);
    memory_resume();
    return result;
}
