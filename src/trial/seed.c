/* SPDX-License-Identifier: MIT */
/*
 * trial/seed.c -- see seed.h: the plan of a seed, its faults, its answers, its end.
 *
 *   plan      which faults this seed has, and how often (seed 1 of a range has none of
 *             them when it is seed 1: what fails there fails without any fault)
 *   life      step until nothing is ready; let time pass to what is due; again
 *   faults    at named places (crash), at answers (failure, delay), between moments
 *             (clock, duplicate), once (cancel)
 *   judgement after every commit: blocked instances, checks of the module; at the end:
 *             instances that still wait for something that cannot come
 */
#include "trial/seed.h"

#include "base/attr.h"
#include "runtime/core/registry.h"
#include "runtime/core/runtime.h"
#include "runtime/core/site.h"
#include "runtime/instance/load.h"
#include "store/store.h"
#include "trial/dice.h"
#include "trial/trap.h"
#include "trial/world.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CRASHES_MAX 60 /* of one seed; then it may come to its end */
#define OPEN_WAITS  100
#define REPLAYS_MAX 300000 /* events replayed in one seed; then it is over */
#define ID          "sim"

typedef const char *check_fn(const pawl_sim_look *look);

enum crash_plan { CRASH_NEVER, CRASH_SOMETIMES, CRASH_EVERY_COMMIT, CRASH_EVERY_PLACE };

struct seed {
    const pawl_sim_opts *opts;
    pawl_app *app;
    struct board *board;
    struct world world;
    check_fn *check;
    struct dice points, answers, events, clock, doubles;
    enum crash_plan crash;
    unsigned crash_rate, fail_rate, delay_rate, clock_rate, double_rate; /* permille */
    unsigned places, next_place;                                         /* CRASH_EVERY_PLACE */
    unsigned crashes;
    uint64_t replayed; /* events; a long history is replayed after each of many turns */
};

static const int64_t delays[] = {
    1, 50, 1000, PAWL_MINUTES(1), PAWL_HOURS(1), PAWL_DAYS(1), PAWL_DAYS(10), PAWL_DAYS(100)};

/* ---- Telling ---------------------------------------------------------------------------------- */

PAWL_PRINTF(3, 4)
static void tell_fault(struct seed *s, const char *kind, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    board_line(s->board, &(pawl_sim_line){.at_ms = s->world.mono_ms - WORLD_MONO_MS,
                                          .is_fault = true,
                                          .kind = pawl_s(kind),
                                          .data = pawl_s(text)});
}

static void tell_event(struct seed *s, const pawl_row *row, const pawl_event *e)
{
    const char *kind = pawl_event_kind_name(e->kind);
    s->board->events++;
    board_line(s->board, &(pawl_sim_line){.at_ms = s->world.mono_ms - WORLD_MONO_MS,
                                          .instance = row->id,
                                          .seq = e->seq,
                                          .ref = e->ref,
                                          .kind = pawl_s(kind ? kind : "Unknown"),
                                          .name = e->name,
                                          .data = e->data});
}

/* ---- The plan ----------------------------------------------------------------------------------- */

static unsigned rate(const struct seed *s, struct dice *d, unsigned fault, unsigned most)
{
    bool chosen = dice_chance(d, 600); /* drawn always: a fault left out moves nothing else */
    unsigned permille = 1 + (unsigned)dice_below(d, most);
    return chosen && (s->opts->faults & fault) ? permille : 0;
}

static void make_plan(struct seed *s, uint64_t seed, pawl_options *options)
{
    struct dice d = dice_of(seed, "plan");
    *options = (pawl_options){.paranoid = true, .hostile = dice_chance(&d, 500)};
    s->crash_rate = rate(s, &d, PAWL_SIM_CRASH, 200);
    s->fail_rate = rate(s, &d, PAWL_SIM_ACTIVITY_FAILURE, 400);
    s->delay_rate = rate(s, &d, PAWL_SIM_DELAY, 700);
    s->clock_rate = rate(s, &d, PAWL_SIM_CLOCK, 200);
    s->double_rate = rate(s, &d, PAWL_SIM_DUPLICATE, 500);
    s->crash = (enum crash_plan)(1 + dice_below(&d, 3));
    s->next_place = 1;
    if (seed == 1)
        s->crash_rate = s->fail_rate = s->delay_rate = s->clock_rate = s->double_rate = 0;
    if (!s->crash_rate)
        s->crash = CRASH_NEVER;
}

/* ---- Crashes -------------------------------------------------------------------------------------- */

static bool crash_here(struct seed *s, const char *point)
{
    switch (s->crash) {
    case CRASH_NEVER:
        return false;
    case CRASH_SOMETIMES:
        return dice_chance(&s->points, s->crash_rate);
    case CRASH_EVERY_COMMIT:
        return strcmp(point, "commit.after") == 0;
    case CRASH_EVERY_PLACE: /* each place once, one further each time */
        if (++s->places < s->next_place)
            return false;
        s->places = 0;
        s->next_place++;
        return true;
    }
    return false;
}

static bool dies(void *user, const char *point)
{
    struct seed *s = user;
    if (strcmp(point, "commit.after") == 0) {
        s->board->commits++;
        (void)alarm(s->opts->seed_limit_s); /* it goes on: a loop is what does not */
    }
    if (s->crashes >= CRASHES_MAX || !crash_here(s, point))
        return false;
    s->crashes++;
    tell_fault(s, "crash", "at %s", point);
    return true;
}

/* ---- Answers ---------------------------------------------------------------------------------------- */

static const pawl_sim_activity *spec_of(const struct seed *s, pawl_str name)
{
    for (size_t i = 0; i < s->opts->activity_count; i++)
        if (pawl_str_is(name, s->opts->activities[i].name))
            return &s->opts->activities[i];
    return NULL;
}

/* By walking: maps made before map_fix_order() find no strings any more. */
static const struct activity_entry *stub_of(const struct seed *s, pawl_str name)
{
    const pawl_app *stubs = s->opts->stubs;
    for (size_t i = 0; stubs && i < stubs->all_activities.count; i++)
        if (pawl_str_is(name, stubs->all_activities.items[i]->name))
            return stubs->all_activities.items[i];
    return NULL;
}

static pawl_result fail_simulated(struct seed *s, pawl_activity *act)
{
    tell_fault(s, "activity-failure", "%.*s attempt %u", PAWL_FMT(pawl_activity_name(act)),
               pawl_activity_attempt(act));
    return pawl_err(act, "simulated failure");
}

/* The seed chooses. */
static pawl_result any_answer(struct seed *s, pawl_activity *act, bool *retnever)
{
    uint64_t n = dice_below(&s->answers, 10);
    if (n == 0 && world_can_time_out(act)) {
        *retnever = true;
        tell_fault(s, "time-out", "%.*s attempt %u", PAWL_FMT(pawl_activity_name(act)),
                   pawl_activity_attempt(act));
        return (pawl_result){0};
    }
    return n <= 2 ? fail_simulated(s, act) : pawl_ok(act, "null");
}

static pawl_result answer_of(struct seed *s, pawl_activity *act, pawl_str input, bool *retnever)
{
    pawl_str name = pawl_activity_name(act);
    const pawl_sim_activity *spec = spec_of(s, name);
    const struct activity_entry *stub = stub_of(s, name);
    bool plain = spec ? spec->answer == PAWL_SIM_ANY : !stub;
    if (!plain && dice_chance(&s->answers, s->fail_rate))
        return fail_simulated(s, act);
    if (!spec && stub)
        return stub->fn(act, input);
    if (!spec || spec->answer == PAWL_SIM_ANY)
        return any_answer(s, act, retnever);
    return spec->answer == PAWL_SIM_OK ? pawl_ok(act, spec->text) : pawl_err(act, spec->text);
}

static pawl_result play(void *user, pawl_activity *act, pawl_str input)
{
    struct seed *s = user;
    bool never = false;
    pawl_result r = answer_of(s, act, input, &never);
    if (never)
        return world_answer_later(&s->world, act, -1, r);
    if (!dice_chance(&s->answers, s->delay_rate))
        return r;
    int64_t ms = delays[dice_below(&s->answers, COUNT_OF(delays) - 2)];
    tell_fault(s, "delay", "%.*s answers %lld ms later", PAWL_FMT(pawl_activity_name(act)),
               (long long)ms);
    return world_answer_later(&s->world, act, ms, r);
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static void raise_event(struct seed *s, pawl_op op, pawl_str instance, const pawl_sim_event *e,
                        int64_t in_ms)
{
    world_call(
        &s->world, in_ms,
        PAWL_REQUEST(.op = op, .instance = instance.ptr, .name = e->name, .data = pawl_s(e->data)));
}

/* A wait is open: the event or the update comes, sooner or later, and sometimes twice. */
static void meet_wait(struct seed *s, pawl_op op, const pawl_row *row, pawl_str name)
{
    for (size_t i = 0; i < s->opts->event_count; i++) {
        const pawl_sim_event *e = &s->opts->events[i];
        if (!pawl_str_is(name, e->name))
            continue;
        int64_t in_ms =
            dice_chance(&s->events, 300) ? 0 : delays[dice_below(&s->events, COUNT_OF(delays) - 1)];
        raise_event(s, op, row->id, e, in_ms);
        if (dice_chance(&s->events, s->double_rate)) {
            tell_fault(s, "duplicate", "event %s is raised twice", e->name);
            raise_event(s, op, row->id, e, in_ms + (int64_t)dice_below(&s->events, 2000));
        }
    }
}

static void see_event(void *user, const pawl_row *row, const pawl_event *e)
{
    struct seed *s = user;
    tell_event(s, row, e);
    if (e->kind == PAWL_EV_EXTERNAL_SUBSCRIBED)
        meet_wait(s, PAWL_OP_RAISE, row, e->name);
    else if (e->kind == PAWL_EV_UPDATE_WAITED)
        meet_wait(s, PAWL_OP_UPDATE, row, e->name);
}

/* ---- Judgement ---------------------------------------------------------------------------------------- */

static pawl_history_event *history_of(struct seed *s, const pawl_row *row, pawl_mem *mem,
                                      size_t *retcount)
{
    pawl_event_list list = {0};
    pawl_error err;
    if (store_read_history(s->world.inner, row->uid, row->execution, 0, 0, mem, &list, &err) !=
        PAWL_OK)
        list.count = 0;
    pawl_history_event *to = arena_array(mem, pawl_history_event, list.count + 1);
    for (size_t i = 0; i < list.count; i++)
        to[i] = (pawl_history_event){.seq = list.items[i].seq,
                                     .kind = pawl_event_kind_name(list.items[i].kind),
                                     .ref = list.items[i].ref,
                                     .name = list.items[i].name,
                                     .data = list.items[i].data,
                                     .attrs = list.items[i].attrs,
                                     .at_ms = list.items[i].at_ms};
    *retcount = list.count;
    return to;
}

static void run_check(struct seed *s, const pawl_row *row, bool over)
{
    if (!s->check || s->board->problem)
        return;
    pawl_mem *mem = pawl_mem_new();
    pawl_sim_look look = {.size = sizeof(look),
                          .instance = row->id.ptr,
                          .orchestration = row->orchestration.ptr,
                          .execution = row->execution,
                          .state = row->state,
                          .output = row->output,
                          .over = over,
                          .mem = mem};
    look.events = history_of(s, row, mem, &look.count);
    if (look.count)
        look.input = look.events[0].data;
    const char *wrong = s->check(&look);
    if (wrong)
        board_problem(s->board, PAWL_SIM_CHECK_FAILED, row->id, "pawl_sim_check: %s", wrong);
    pawl_mem_free(mem);
}

/* What the code asked that it must not ask, if it did. */
static const char *hint(char *to, size_t size)
{
    void *site;
    const char *asked = trap_sprung(&site);
    char where[240] = "";
    to[0] = 0;
    if (!asked)
        return to;
    site_describe(site, where, sizeof(where));
    const char *instead = strstr(asked, "time") || strstr(asked, "clock") ? "pawl_now(ctx)"
                          : strcmp(asked, "getpid") == 0                  ? "an activity"
                                                                          : "pawl_random(ctx)";
    (void)snprintf(to, size, "; the orchestration asked %s() in %s: use %s", asked,
                   where[0] ? where : "code without line numbers", instead);
    return to;
}

static void see_change(void *user, const pawl_row *row)
{
    struct seed *s = user;
    s->replayed += row->last_seq; /* paranoid mode has done so */
    run_check(s, row, false);
}

static void judge_blocked(struct seed *s, const pawl_row *row)
{
    char text[400];
    bool diverges = row->finding.len > 16 && strncmp(row->finding.ptr, "nondeterministic", 16) == 0;
    pawl_mem *mem = pawl_mem_new();
    pawl_str finding = mem ? site_name(mem, row->finding, INT64_MAX) : row->finding;
    board_problem(s->board, diverges ? PAWL_SIM_DIVERGENCE : PAWL_SIM_BLOCKED, row->id, "%.*s%s",
                  PAWL_FMT(finding), diverges ? hint(text, sizeof(text)) : "");
    pawl_mem_free(mem);
}

struct seed_end {
    struct seed *s;
    pawl_mem *mem;
    unsigned open;
    bool over;
};

static void each_instance(struct seed_end *t, void (*fn)(struct seed_end *t, const pawl_row *row))
{
    for (struct world_seen *seen = t->s->world.seen; seen; seen = seen->next) {
        pawl_row row;
        if (world_find(&t->s->world, seen->id.ptr, t->mem, &row))
            fn(t, &row);
    }
    pawl_mem_reset(t->mem);
}

static void count_open(struct seed_end *t, const pawl_row *row)
{
    if (row->state == PAWL_BLOCKED)
        judge_blocked(t->s, row);
    t->open += !pawl_state_is_terminal(row->state);
}

static void judge_open(struct seed_end *t, const pawl_row *row)
{
    if (!pawl_state_is_terminal(row->state))
        board_problem(t->s->board, PAWL_SIM_HANG, row->id, "nothing can wake it: %s",
                      world_why(&t->s->world, row->id.ptr, t->mem).ptr);
}

/* Waits that were opened one after another and never taken or cancelled: a loop that
 * forgets its losers.  The oldest of them takes the next event, and the history grows. */
static void look_for_open_waits(struct seed *s, const pawl_row *row, pawl_mem *mem)
{
    size_t count, open = 0;
    const pawl_history_event *events = history_of(s, row, mem, &count), *last = NULL;
    bool *closed = arena_array(mem, bool, count + 1); /* there are not more tasks than events */
    for (size_t i = 0; i < count; i++)
        if (strcmp(events[i].kind, "ExternalEvent") == 0 ||
            strcmp(events[i].kind, "ExternalCancelled") == 0 ||
            strcmp(events[i].kind, "UpdateAccepted") == 0 ||
            strcmp(events[i].kind, "UpdateWaitCancelled") == 0)
            closed[events[i].ref] = true;
    for (size_t i = 0; i < count; i++) {
        const pawl_history_event *e = &events[i];
        bool wait =
            strcmp(e->kind, "ExternalSubscribed") == 0 || strcmp(e->kind, "UpdateWaited") == 0;
        if (!wait || closed[e->ref] ||
            (last && last->at_ms == e->at_ms)) /* many at one time are meant */
            continue;
        open++;
        last = e;
    }
    if (open >= OPEN_WAITS)
        board_problem(s->board, PAWL_SIM_LEAK, row->id,
                      "%zu waits are open that were opened one after another, the last for %s "
                      "'%.*s': cancel the one that lost (pawl_race does), or continue as new",
                      open, strcmp(last->kind, "UpdateWaited") == 0 ? "update" : "event",
                      PAWL_FMT(last->name));
}

/* A cancelled life ends when its code returns, or before it ever ran. */
static void look_for_cut(struct seed *s, const pawl_row *row, const pawl_event_list *list)
{
    const pawl_event *end = &list->items[list->count - 1];
    if (end->kind == PAWL_EV_ORCHESTRATION_CANCELLED && list->count > 2 &&
        pawl_json_bool(end->attrs, "/forced", false))
        board_problem(s->board, PAWL_SIM_LOST, row->id,
                      "it was cancelled, and its compensation was cut");
}

/* Run it once more: whatever its waits took was seen by the code, or given back. */
static void look_for_unseen(struct seed *s, const pawl_row *row, const pawl_event_list *list,
                            pawl_mem *mem)
{
    pawl_str version = pawl_json_text(mem, list->items[0].attrs, "/version", "");
    const struct code_entry *code = registry_code(s->world.rt->app, list->items[0].name, version);
    struct engine_finding finding;
    if (!code)
        return;
    struct execution_spec spec = load_spec(s->world.rt, row, code, NULL);
    execution *x = execution_create(&spec);
    if (x && execution_replay(x, list->items, list->count, &finding) == ENGINE_ENDED &&
        execution_dropped(x))
        board_problem(s->board, PAWL_SIM_LOST, row->id,
                      "%zu events were accepted and taken, and no code saw them",
                      execution_dropped(x));
    execution_destroy(x);
}

static void look_for_lost(struct seed *s, const pawl_row *row, pawl_mem *mem)
{
    for (uint64_t n = 1; s->world.rt && n <= row->execution; n++) {
        pawl_event_list list = {0};
        pawl_error err;
        pawl_row at = *row;
        at.execution = n;
        if (store_read_history(s->world.inner, row->uid, n, 0, 0, mem, &list, &err) != PAWL_OK ||
            !list.count)
            continue;
        look_for_cut(s, &at, &list);
        look_for_unseen(s, &at, &list, mem);
    }
}

static void last_look(struct seed_end *t, const pawl_row *row)
{
    run_check(t->s, row, true);
    if (!t->s->board->problem)
        look_for_lost(t->s, row, t->mem);
    if (!pawl_state_is_terminal(row->state))
        look_for_open_waits(t->s, row, t->mem);
}

/* ---- Life ---------------------------------------------------------------------------------------------- */

static void jump_clock(struct seed *s)
{
    static const int64_t sizes[] = {1, 50, 5000, PAWL_MINUTES(10), PAWL_HOURS(2), PAWL_DAYS(1)};
    if (!dice_chance(&s->clock, s->clock_rate))
        return;
    int64_t by = sizes[dice_below(&s->clock, COUNT_OF(sizes))];
    if (dice_chance(&s->clock, 500))
        by = -by;
    tell_fault(s, "clock", "the wall clock jumps by %lld ms", (long long)by);
    world_jump(&s->world, by);
}

/* A completion that was delivered comes once more, with something else in it. */
static void repeat_completion(struct seed *s)
{
    struct world *w = &s->world;
    pawl_row row;
    size_t count;
    if (!w->rt || !dice_chance(&s->doubles, s->double_rate / 4))
        return;
    pawl_mem *mem = pawl_mem_new();
    if (world_find(w, ID, mem, &row) && !pawl_state_is_terminal(row.state)) {
        const pawl_history_event *events = history_of(s, &row, mem, &count);
        const pawl_history_event *e = count ? &events[dice_below(&s->doubles, count)] : NULL;
        if (e && strcmp(e->kind, "ActivityCompleted") == 0 &&
            world_inject(w, &(pawl_message){.uid = row.uid,
                                            .kind = PAWL_MSG_ACTIVITY_COMPLETED,
                                            .execution = row.execution,
                                            .ref = e->ref,
                                            .data = pawl_s("once more")}))
            tell_fault(s, "duplicate", "the completion of task %llu comes again",
                       (unsigned long long)e->ref);
    }
    pawl_mem_free(mem);
}

/* Enough was seen of a life that does not end. */
static bool is_spent(const struct seed *s)
{
    return s->board->commits >= s->opts->max_steps || s->replayed >= REPLAYS_MAX;
}

static void live(struct seed *s)
{
    struct world *w = &s->world;
    int64_t horizon = w->mono_ms + s->opts->horizon_ms;
    struct seed_end t = {.s = s, .mem = pawl_mem_new()};
    for (;;) {
        while (world_step(w) && !s->board->problem && !is_spent(s))
            repeat_completion(s);
        if (!w->rt || w->trouble.status != PAWL_OK)
            board_problem(s->board, PAWL_SIM_BLOCKED, pawl_s(ID), "%s", w->trouble.text);
        t.open = 0;
        each_instance(&t, count_open);
        if (s->board->problem || (!t.open && w->seen) || is_spent(s))
            break;
        jump_clock(s);
        int64_t next = world_next(w);
        if (next == INT64_MAX)
            each_instance(&t, judge_open);
        if (next > horizon || s->board->problem)
            break;
        (void)world_pass(w, horizon);
    }
    each_instance(&t, last_look);
    pawl_mem_free(t.mem);
}

/* ---- Beginning and end ---------------------------------------------------------------------------------- */

static check_fn *find_check(pawl_app *app)
{
    void *found = NULL;
    for (size_t i = 0; i < app->modules.count && !found; i++)
        found = dlsym(app->modules.items[i].handle, "pawl_sim_check");
    if (!found)
        found = dlsym(RTLD_DEFAULT, "pawl_sim_check");
    return (check_fn *)(uintptr_t)found;
}

static void begin(struct seed *s, uint64_t seed)
{
    struct dice d = dice_of(seed, "begin");
    world_call(&s->world, 0,
               PAWL_REQUEST(.op = PAWL_OP_START, .instance = ID, .name = s->opts->orchestration,
                            .version = s->opts->version, .data = s->opts->input));
    for (size_t i = 0; i < s->opts->event_count; i++)
        if (dice_chance(&d, 150)) { /* before a wait is open */
            tell_fault(s, "early", "event %s is raised at the beginning", s->opts->events[i].name);
            raise_event(s, PAWL_OP_RAISE, pawl_s(ID), &s->opts->events[i], 1);
        }
    if (!(s->opts->faults & PAWL_SIM_CANCEL) || !dice_chance(&d, 400) || seed == 1)
        return;
    int64_t in_ms = delays[dice_below(&d, COUNT_OF(delays))];
    tell_fault(s, "cancel", "is asked for after %lld ms", (long long)in_ms);
    world_call(&s->world, in_ms,
               PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = ID, .reason = "simulated cancel"));
}

static void sum_up(struct seed *s)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_row row;
    s->board->state = world_find(&s->world, ID, mem, &row) ? (int)row.state : PAWL_PENDING;
    s->board->crashes = s->world.crashes;
    s->board->virtual_ms = s->world.mono_ms - WORLD_MONO_MS;
    pawl_mem_free(mem);
}

void seed_run(pawl_app *app, const pawl_sim_opts *opts, uint64_t seed, struct board *board)
{
    struct seed s = {.opts = opts,
                     .app = app,
                     .board = board,
                     .check = find_check(app),
                     .points = dice_of(seed, "points"),
                     .answers = dice_of(seed, "answers"),
                     .events = dice_of(seed, "events"),
                     .clock = dice_of(seed, "clock"),
                     .doubles = dice_of(seed, "doubles")};
    const struct world_hooks hooks = {
        .user = &s, .activity = play, .dies = dies, .event = see_event, .changed = see_change};
    pawl_options options;
    make_plan(&s, seed, &options);
    map_fix_order(seed);
    trap_set(app, seed);
    if (world_open(&s.world, app, &hooks, &options, seed)) {
        begin(&s, seed);
        live(&s);
        sum_up(&s);
    } else {
        board_problem(board, PAWL_SIM_BLOCKED, pawl_s(ID), "%s", s.world.trouble.text);
    }
    world_close(&s.world);
}
