/* SPDX-License-Identifier: MIT */
/*
 * runtime/instance/finish.c -- after the engine spoke: go on, end, continue as new. [engine]
 *
 * One round closes an execution and opens its successor; only where that cannot be
 * (no code yet, a successor that continues at once) a WAKE message stands between
 * the two.  What ends takes its mail along.
 *
 * Called by turn.c, begin.c, park.c and paranoid.c.
 */
#include "runtime/instance/finish.h"
#include "runtime/instance/attribute_set.h"

#include "engine/remote_code.h"
#include "runtime/core/letter.h"
#include "runtime/core/registry.h"
#include "runtime/core/resident.h"
#include "runtime/core/stage.h"
#include "runtime/instance/asked.h"
#include "runtime/instance/elsewhere.h"
#include "runtime/instance/end_by.h"
#include "runtime/instance/input.h"
#include "runtime/instance/load.h"
#include "runtime/instance/park.h"
#include "runtime/instance/raises.h"
#include "runtime/instance/seal.h"
#include "runtime/remote/playing.h"
#include "store/store.h"

/* ---- Ending ------------------------------------------------------------------ */

static void drop_mail(void *arg, const struct mail *m)
{
    struct stage *s = arg;
    stage_drop_message(s->r->rt, s, m->id);
}

static void ended(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    static const struct {
        int kind;
        pawl_state state;
    } states[] = {
        {PAWL_EV_ORCHESTRATION_COMPLETED, PAWL_COMPLETED},
        {PAWL_EV_ORCHESTRATION_FAILED,    PAWL_FAILED   },
    };
    s->ended = s->mail_gone = true;
    s->row.state = PAWL_CANCELLED;
    for (size_t i = 0; i < COUNT_OF(states); i++)
        if (states[i].kind == execution_end(r->x).kind)
            s->row.state = states[i].state;
    stage_row_changed(s);
    if (execution_deadline(r->x))
        deadline_drop(rt, s);
    execution_mailbox_each(r->x, drop_mail, s);
    for (size_t i = s->messages.count; i-- > 0;) /* adopted in this very stage */
        if (s->messages.items[i].mailbox)
            stage_drop_message(rt, s, s->messages.items[i].id);
}

bool turn_is_between(const execution *x)
{
    return execution_end(x).kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW;
}

static const struct code_entry *next_code(pawl_runtime *rt, const struct resident *r)
{
    const struct code_entry *answers = remote_playing(rt, r->row.uid);
    if (UNLIKELY(answers) && remote_play_starts(rt)) /* it was resolved with the hand-out */
        return answers;
    return registry_code(rt->app, r->row.orchestration, execution_end(r->x).version);
}

/* The row's execution is closed, and the next one is its. */
static bool open_next(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    bool ready = s->row.execution > 1 || input_remember(rt, r, s);
    s->row.execution++;
    return ready;
}

/* Replace r->x by execution n + 1, which has its mailbox; without code only its tables are made. */
static bool replace(pawl_runtime *rt, struct resident *r, struct stage *s,
                    const struct code_entry *code)
{
    struct execution_spec spec = load_spec(rt, &s->row, code, code ? r : NULL);
    execution *next = execution_create(&spec);
    if (!next)
        return false;
    execution_inherit(next, r->x);
    if (!execution_mailbox_move(next, r->x) || !execution_state_copy(next, r->x)) {
        execution_destroy(next);
        return false;
    }
    execution_destroy(r->x);
    r->x = next;
    return true;
}

/* Execution n has continued, n + 1 has no code yet: open it without. */
static bool open_tables(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    pawl_str version = arena_dup(&rt->group_mem, execution_end(r->x).version);
    if (!open_next(rt, r, s) || !replace(rt, r, s, NULL))
        return false;
    s->row.version = version;
    return true;
}

static struct mail first_mail(pawl_runtime *rt, const struct stage *s, pawl_str version,
                              pawl_str input, int64_t deadline_ms, bool rerun)
{
    return (struct mail){.kind = PAWL_MSG_START,
                         .execution = s->row.execution,
                         .name = s->row.orchestration,
                         .data = input,
                         .attrs = start_attrs(rt, version, &s->row, deadline_ms,
                                              execution_scheduled(s->r->x), rerun)};
}

/* The start of execution n + 1, which this code is to run; n has continued. */
static struct mail next_start(pawl_runtime *rt, struct resident *r, const struct code_entry *code)
{
    pawl_row row = r->row;
    row.execution++;
    return (struct mail){.kind = PAWL_MSG_START,
                         .execution = row.execution,
                         .name = r->row.orchestration,
                         .data = execution_end(r->x).value,
                         .attrs =
                             start_attrs(rt, pawl_s(code->version), &row, execution_deadline(r->x),
                                         execution_scheduled(r->x), false)};
}

/* Record the start of an execution that is ended before its code ran. */
static void append_start(pawl_runtime *rt, struct resident *r, struct stage *s, pawl_str input,
                         int64_t deadline_ms)
{
    struct mail start = first_mail(rt, s, s->row.version, input, deadline_ms, false);
    enum engine_fate fate;
    struct engine_finding finding;
    (void)execution_apply(r->x, &start, rt->now_ms, &s->turn, &fate, &finding);
}

/* A history that cannot even be read is closed with one event. */
static void append_bare_end(pawl_runtime *rt, struct stage *s, int kind, pawl_str reason)
{
    struct step *steps = arena_new(&rt->group_mem, struct step);
    steps[0].event = (pawl_event){.execution = s->row.execution,
                                  .seq = s->base_seq + 1,
                                  .kind = kind,
                                  .data = reason,
                                  .at_ms = rt->now_ms};
    s->turn.steps = steps;
    s->turn.count = s->turn.cap = 1;
}

struct delivered turn_finish(pawl_runtime *rt, struct resident *r, struct letter *l, int kind,
                             pawl_str reason)
{
    struct stage *s = stage_of(rt, r);
    bool bare = !r->x, damaged;
    if (bare)
        r->x = load_tables(rt, &r->row);
    bool ready = r->x && (!bare || load_mailbox(rt, r, &damaged)); /* its mail goes with it */
    int64_t deadline_ms = r->x ? execution_deadline(r->x) : 0;
    pawl_str input = {0};
    pawl_object_list asked;
    if (ready && turn_is_between(r->x)) {
        input = arena_dup(&rt->group_mem, execution_end(r->x).value);
        ready = open_tables(rt, r, s);
    } else if (ready && !s->row.last_seq) {
        uint64_t row;
        pawl_status rc = input_of(rt, r, &input, &row);
        ready = rc == PAWL_OK || rc == PAWL_EMPTY || rc == PAWL_CORRUPT; /* as far as known */
        input = arena_dup(&rt->group_mem, input);
        if (row) /* its start, which may be due in a hundred years */
            stage_drop_message(rt, s, row);
        deadline_drop(rt, s);
    }
    if (!ready || !asks_look(rt, r->row.uid, &asked)) /* of a history that cannot be read */
        return turn_again(rt, r, l);
    reason = arena_dup(&rt->group_mem, reason);
    bool began = s->row.last_seq && s->row.execution == s->base_execution;
    if (!began && execution_last_seq(r->x) == 0)
        append_start(rt, r, s, input, deadline_ms);
    if (began && execution_last_seq(r->x) < s->base_seq) {
        append_bare_end(rt, s, kind, reason);
        asks_remove(rt, s, &asked);
    } else if (execution_finish(r->x, kind, reason, rt->now_ms, &s->turn) != ENGINE_ENDED)
        return turn_again(rt, r, l);
    if (l) {
        if (l->stored)
            stage_drop_message(rt, s, l->mail.id);
        if (l->work_id)
            *list_add(&rt->group_mem, &s->drop_work) = l->work_id;
        stage_take(s, l);
    }
    ended(rt, r, s);
    if (kind == PAWL_EV_ORCHESTRATION_FAILED)
        s->row.state = PAWL_FAILED;
    s->unpile = true; /* whatever still waits as a row is late now */
    return verdict_done();
}

/* ---- Continue as new ------------------------------------------------------------ */

/* False: the row says so already, or why it is blocked. */
static bool wait_for_code(pawl_runtime *rt, struct stage *s, pawl_str version)
{
    park_codeless(rt, s->row.uid);
    pawl_str finding = turn_missing(rt, &s->row, version);
    if (s->row.state == PAWL_BLOCKED || pawl_str_eq(s->row.finding, finding))
        return false;
    s->row.finding = finding;
    stage_row_changed(s);
    return true;
}

/* The next execution cannot be opened in this round: a message brings it back.
 * Quiet: not now, but when there is code for it. */
static void continue_later(pawl_runtime *rt, struct stage *s, pawl_str version, bool quiet)
{
    if (quiet && !wait_for_code(rt, s, version))
        return; /* its message came with that finding and waits */
    pawl_message *m = stage_send(rt, s, PAWL_MSG_WAKE, s->row.uid, (pawl_str){0});
    if (quiet)
        *list_add(&rt->group_mem, &s->quiet) = m->id;
}

/* Open execution n + 1 and run its first turn in this stage. */
static bool open_in_place(pawl_runtime *rt, struct resident *r, struct stage *s,
                          const struct execution_ending *end, const struct code_entry *code,
                          enum engine_outcome *outcome, struct engine_finding *finding)
{
    pawl_str input = arena_dup(&rt->group_mem, end->value);
    int64_t deadline_ms = execution_deadline(r->x);
    if (!replace(rt, r, s, code))
        return false;
    struct mail start = first_mail(rt, s, pawl_s(code->version), input, deadline_ms, false);
    r->code = code;
    s->row.version = pawl_s(code->version);
    s->row.finding = (pawl_str){0};
    enum engine_fate fate;
    if (UNLIKELY(code->remote))
        remote_play(rt, r->x, &start);
    turn_clock_start(rt, code, &s->row);
    *outcome = execution_apply(r->x, &start, rt->now_ms, &s->turn, &fate, finding);
    turn_clock_stop(rt);
    stage_drop_consumed(rt, r, s);
    return true;
}

/* Its next execution is in workers: does this very answer begin it?  Else it ended n, and
 * a WAKE brings the start of n + 1 to a worker. */
static bool is_opened_by_answer(pawl_runtime *rt, const struct resident *r)
{
    return remote_playing(rt, r->row.uid) && remote_play_starts(rt);
}

/* Close n and open n + 1 in one round; a successor that continues at once waits
 * for the next round.  False: the stage was given up (turn_again). */
static bool continue_as_new(pawl_runtime *rt, struct resident *r, struct stage *s,
                            enum engine_outcome *outcome, struct engine_finding *finding)
{
    if (!turn_is_between(r->x))
        return true;
    struct execution_ending end = execution_end(r->x);
    const struct code_entry *code = next_code(rt, r);
    if (!code) {
        continue_later(rt, s, end.version, true);
        *outcome = ENGINE_WAITING;
        return true;
    }
    if (UNLIKELY(code->remote) && !is_opened_by_answer(rt, r)) {
        continue_later(rt, s, end.version, false);
        *outcome = ENGINE_WAITING;
        return true;
    }
    stage_row_changed(s);
    if (!open_next(rt, r, s) || !open_in_place(rt, r, s, &end, code, outcome, finding))
        return false;
    s->unpile = s->unpile || r->piled; /* a cancel waited for this execution */
    r->piled = false;
    if (*outcome == ENGINE_ENDED && turn_is_between(r->x)) {
        continue_later(rt, s, (pawl_str){0}, false);
        *outcome = ENGINE_WAITING;
    }
    return true;
}

/* ---- Run again --------------------------------------------------------------------- */

/* The input of its start, in the group; false: the store did not answer, or does not know. */
static pawl_status first_input(pawl_runtime *rt, struct resident *r, pawl_str *ret)
{
    uint64_t row;
    pawl_status rc = input_of(rt, r, ret, &row);
    *ret = arena_dup(&rt->group_mem, *ret);
    return rc;
}

/* What waits as rows is of the run that ends here. */
static void drop_waiting(pawl_runtime *rt, struct stage *s)
{
    pawl_message_list list = {0};
    pawl_error err;
    arena_reset(&rt->load_mem);
    if (store_read_messages(rt->store, s->row.uid, (pawl_str){0}, &rt->load_mem, &list, &err) !=
        PAWL_OK)
        return;
    for (size_t i = 0; i < list.count; i++)
        stage_drop_message(rt, s, list.items[i].id);
}

/* Its tables, with an END: as they are stored, or staged here. */
static bool end_first(pawl_runtime *rt, struct resident *r, struct stage *s)
{
    if (pawl_state_is_terminal(r->row.state)) {
        if (!r->x)
            r->x = load_tables(rt, &r->row);
        return r->x != NULL;
    }
    if (turn_finish(rt, r, NULL, PAWL_EV_ORCHESTRATION_TERMINATED, pawl_s("started again")).kind !=
        VERDICT_DONE)
        return false;
    drop_waiting(rt, s);
    s->ended = s->unpile = false;
    return true;
}

/* The first turn of the next execution cannot be: nothing of this happens. */
static struct delivered refuse_rerun(pawl_runtime *rt, struct resident *r, struct letter *l,
                                     pawl_status status, const char *why)
{
    if (r->stage)
        (void)stage_abort(rt, r->stage);
    resident_evict(rt, r);
    letter_drop(rt, l, status, why);
    return verdict_done();
}

struct delivered turn_rerun(pawl_runtime *rt, struct resident *r, struct letter *l,
                            const struct code_entry *code)
{
    assert_that(code);
    pawl_str input = l->mail.data;
    pawl_status known = l->ask.keeps_input ? first_input(rt, r, &input) : PAWL_OK;
    if (known == PAWL_EMPTY)
        return refuse_rerun(rt, r, l, PAWL_CONFLICT,
                            "the input of its start is no longer known; give one");
    struct stage *s = stage_of(rt, r);
    if (known != PAWL_OK || !end_first(rt, r, s) || !open_next(rt, r, s) ||
        !replace(rt, r, s, code) || !raises_add(rt, r, s, l))
        return turn_again(rt, r, l);
    input_note(rt, s, input);
    s->row.orchestration = pawl_s(code->name);
    s->row.version = pawl_s(code->version);
    s->row.state = PAWL_PENDING;
    s->row.output = s->row.custom_status = s->row.finding = (pawl_str){0};
    stage_row_changed(s);
    deadline_set(rt, s, l);
    pawl_error err;
    if (!attributes_rerun(rt, s, l, &err))
        return refuse_rerun(rt, r, l, err.status, err.text);
    r->code = code;
    struct mail start = first_mail(rt, s, s->row.version, input, deadline_of(l), true);
    struct engine_finding finding = {0};
    enum engine_fate fate;
    turn_clock_start(rt, code, &s->row);
    enum engine_outcome outcome =
        execution_apply(r->x, &start, rt->now_ms, &s->turn, &fate, &finding);
    turn_clock_stop(rt);
    if (outcome == ENGINE_NO_MEMORY)
        return turn_again(rt, r, l);
    if (outcome != ENGINE_WAITING && outcome != ENGINE_ENDED)
        return refuse_rerun(rt, r, l, PAWL_CONFLICT, finding.text);
    stage_drop_consumed(rt, r, s);
    if (outcome == ENGINE_ENDED && turn_is_between(r->x)) {
        continue_later(rt, s, (pawl_str){0}, false);
        outcome = ENGINE_WAITING;
    }
    l->reruns = true;
    stage_take(s, l);
    return turn_outcome(rt, r, NULL, outcome, &finding);
}

/* The version it continues with is not registered, and by option it does not wait for it. */
static bool is_given_up(pawl_runtime *rt, const struct resident *r)
{
    return rt->opts.cancel_missing_version && turn_is_between(r->x) && !next_code(rt, r);
}

static struct delivered give_up(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    return turn_finish(rt, r, l, PAWL_EV_ORCHESTRATION_CANCELLED,
                       turn_missing(rt, &stage_of(rt, r)->row, execution_end(r->x).version));
}

/* Mail is due to a wait: only code in workers leaves that behind, and it is not told again yet. */
static bool lacks_code_for_mail(pawl_runtime *rt, const struct resident *r)
{
    return !turn_is_between(r->x) && execution_has_due_mail(r->x) &&
           !registry_code(rt->app, r->row.orchestration, r->row.version);
}

/* The WAKE stands for that mail: it waits for the code. */
static struct delivered wake_later(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    execution_destroy(r->x);
    r->x = NULL;
    if (resident_row(r)->state != PAWL_BLOCKED)
        return turn_codeless(rt, r, l);
    turn_pile(rt, r, l);
    return verdict_done();
}

static struct delivered wake_elsewhere(pawl_runtime *rt, struct resident *r, struct letter *l,
                                       const struct code_entry *next, bool bare)
{
    struct mail start = next_start(rt, r, next);
    struct delivered v = elsewhere_continues(rt, r, l, next, &start);
    if (bare && !r->stage) { /* tables without code: messages need it */
        execution_destroy(r->x);
        r->x = NULL;
    }
    return v;
}

struct delivered turn_wake(pawl_runtime *rt, struct resident *r, struct letter *l)
{
    bool bare = !r->x; /* its own code is not needed to open the next execution */
    bool damaged;
    if (bare)
        r->x = load_tables(rt, &r->row);
    if (!r->x || (bare && !load_mailbox(rt, r, &damaged)))
        return turn_again(rt, r, l);
    if (UNLIKELY(bare && lacks_code_for_mail(rt, r)))
        return wake_later(rt, r, l);
    const struct code_entry *next = turn_is_between(r->x) ? next_code(rt, r) : NULL;
    if (UNLIKELY(next && next->remote) && !remote_playing(rt, r->row.uid))
        return wake_elsewhere(rt, r, l, next, bare);
    struct stage *s = stage_of(rt, r);
    if (bare)
        r->doomed = true;
    if (is_given_up(rt, r))
        return give_up(rt, r, l);
    if (turn_is_between(r->x) && !next_code(rt, r)) { /* not yet: it waits on */
        (void)wait_for_code(rt, s, execution_end(r->x).version);
        turn_pile(rt, r, l);
        return verdict_done();
    }
    if (l->stored)
        stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l);
    s->unpile =
        bare || r->piled || s->row.finding.len; /* else nothing does: not read for nothing */
    r->piled = false;
    if (turn_is_between(r->x))
        return turn_outcome(rt, r, NULL, ENGINE_ENDED, &(struct engine_finding){0});
    if (bare) { /* messages need its code */
        execution_destroy(r->x);
        r->x = NULL;
    }
    return verdict_done();
}

/* ---- The outcome -------------------------------------------------------------------- */

static void waiting(struct resident *r, struct stage *s)
{
    pawl_state state = execution_suspended(r->x) ? PAWL_SUSPENDED : PAWL_RUNNING;
    if (s->row.finding.len && !turn_is_between(r->x)) { /* what it waited for is there */
        s->row.finding = (pawl_str){0};
        stage_row_changed(s);
    }
    if (state == s->row.state)
        return;
    if (s->row.state == PAWL_SUSPENDED)
        s->unpile = true;
    s->row.state = state;
    stage_row_changed(s);
}

static struct letter *take_only_letter(struct stage *s)
{
    struct letter *l = s->letters;
    if (!l || l->next)
        return NULL;
    s->letters = NULL;
    s->letters_end = &s->letters;
    return l;
}

struct delivered turn_outcome(pawl_runtime *rt, struct resident *r, struct letter *l,
                              enum engine_outcome outcome, const struct engine_finding *finding)
{
    struct engine_finding found = *finding;
    struct stage *s = stage_of(rt, r);
    if (outcome == ENGINE_ENDED && is_given_up(rt, r))
        return give_up(rt, r, l);
    if (outcome == ENGINE_ENDED && !continue_as_new(rt, r, s, &outcome, &found))
        return turn_again(rt, r, l);
    switch (outcome) {
    case ENGINE_WAITING:
        waiting(r, s);
        break;
    case ENGINE_ENDED:
        ended(rt, r, s);
        break;
    case ENGINE_MISMATCH:
    case ENGINE_LIMIT:
    case ENGINE_CORRUPT:
        if (!l) /* a fresh execution ran into a limit: nothing of this round stands */
            l = take_only_letter(s);
        if (l && l->reruns)
            return refuse_rerun(rt, r, l, PAWL_CONFLICT, found.text);
        return l ? turn_block(rt, r, l, &found) : turn_again(rt, r, NULL);
    case ENGINE_NO_MEMORY:
        return turn_again(rt, r, l);
    case ENGINE_REFUSED: /* request/turns_answer.c undoes the stage, and has its letters */
        remote_play_refused(rt, &found);
        break;
    }
    return verdict_done();
}
