/* SPDX-License-Identifier: MIT */
/*
 * tests/replay/runner.c -- run the directives of a script.
 *
 * An act (in, drop-fiber, swap-program, replay, finish …) is followed by lines
 * that say what must come of it.  After every act that leaves a healthy
 * execution, without being asked:
 *
 *   - the whole history is replayed from scratch with the same program: same
 *     outcome, same ending, same open tasks, not one new event;
 *   - the same without code (tables only);
 *   - every prefix of the new events that ends before a message replays cleanly;
 *   - execution_check() holds.
 */
#include "event_text.h"
#include "fiber/fiber.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_MAX 20000
#define LOG_BYTES   4000

struct runner {
    struct script *script;
    const struct program *program;
    struct fiber_pool *pool;
    struct engine_rules rules;
    pawl_str instance;
    uint64_t execution;
    uint64_t next_message;
    int64_t now_ms;
    const char *version;
    execution *x; /* NULL after a mismatch */
    pawl_mem *mem;
    pawl_mem *turn_mem;
    pawl_event history[HISTORY_MAX];
    size_t history_count;
    size_t checked; /* events whose prefixes were checked */
    char logged[LOG_BYTES];

    /* what the last act gave */
    struct turn turn;
    size_t at; /* next step to be matched by `out` */
    enum engine_outcome outcome;
    enum engine_fate fate;
    struct engine_finding finding;
    bool expects_trouble;
    const struct line *act;
};

typedef void act_fn(struct runner *r, const struct line *l);

static void setup(struct runner *r, const char *path);
static void run_act(struct runner *r, int *at);
static bool expect(struct runner *r, const struct line *l);
static void settle_act(struct runner *r);
static void commit(struct runner *r);
static execution *fresh(struct runner *r, bool with_code);
static void check_replay(struct runner *r, size_t count, bool with_code, bool same_place);
static void check_prefixes(struct runner *r);

static void act_in(struct runner *r, const struct line *l);
static void act_drop_fiber(struct runner *r, const struct line *l);
static void act_swap(struct runner *r, const struct line *l);
static void act_replay(struct runner *r, const struct line *l);
static void act_finish(struct runner *r, const struct line *l);
static void act_next(struct runner *r, const struct line *l);
static void act_mail(struct runner *r, const struct line *l);
static void act_event(struct runner *r, const struct line *l);
static void act_rules(struct runner *r, const struct line *l);
static void act_complete_all(struct runner *r, const struct line *l);
static void act_clear(struct runner *r, const struct line *l);

static const struct {
    const char *word;
    act_fn *fn;
} acts[] = {
    {"in",             act_in          },
    {"drop-fiber",     act_drop_fiber  },
    {"swap-program",   act_swap        },
    {"replay",         act_replay      },
    {"replay-tables",  act_replay      },
    {"finish",         act_finish      },
    {"next-execution", act_next        },
    {"mail-add",       act_mail        },
    {"event",          act_event       },
    {"rules",          act_rules       },
    {"complete-all",   act_complete_all},
    {"clear-history",  act_clear       },
};

static const char *const outcomes[] = {"waiting", "ended",     "mismatch",
                                       "limit",   "no-memory", "corrupt"};
static const char *const fates[] = {"applied", "ignored", "kept", "refused", "dropped", "odd"};

void runner_run(const char *path)
{
    struct runner *r = calloc(1, sizeof(*r));

    setup(r, path);
    for (int i = 0; i < r->script->count;) {
        if (pawl_str_is(r->script->lines[i].words[0], "program")) {
            do
                i++;
            while (i < r->script->count && r->script->lines[i].indented);
            continue;
        }
        run_act(r, &i);
    }
    execution_destroy(r->x);
    fiber_pool_destroy(r->pool);
    pawl_mem_free(r->mem);
    pawl_mem_free(r->turn_mem);
    script_free(r->script);
    free(r);
}

static void setup(struct runner *r, const char *path)
{
    r->script = script_read(path);
    r->program = &r->script->programs[0];
    r->pool = fiber_pool_create(4);
    r->mem = pawl_mem_new();
    r->turn_mem = pawl_mem_new();
    r->instance = pawl_s("order-42");
    r->version = "1.0.0";
    r->execution = 1;
    r->now_ms = 1000;
    r->next_message = 1;
    r->rules = (struct engine_rules){.payload_max = 100000, .history_max = 50000};
    if (r->script->program_count == 0)
        script_fail(r->script, NULL, "no program");
}

/* One act and the lines after it that say what must come of it. */
static void run_act(struct runner *r, int *at)
{
    const struct line *l = &r->script->lines[(*at)++];

    r->act = l;
    pawl_mem_reset(r->turn_mem);
    r->turn = (struct turn){.mem = r->turn_mem};
    r->at = 0;
    r->outcome = ENGINE_WAITING;
    r->fate = FATE_APPLIED;
    r->expects_trouble = false;
    r->finding = (struct engine_finding){0};
    for (size_t i = 0;; i++) {
        if (i == sizeof(acts) / sizeof(acts[0]))
            script_fail(r->script, l, "unknown directive '%s'", l->words[0].ptr);
        if (pawl_str_is(l->words[0], acts[i].word)) {
            acts[i].fn(r, l);
            break;
        }
    }
    commit(r);
    while (*at < r->script->count && expect(r, &r->script->lines[*at]))
        ++*at;
    settle_act(r);
}

static void fail_at(const struct runner *r, const struct line *l, const char *what,
                    const char *wanted, const char *got)
{
    script_fail(r->script, l, "%s: wanted %s, got %s%s%s", what, wanted, got,
                r->finding.text[0] ? "; finding: " : "", r->finding.text);
}

static void expect_text(struct runner *r, const struct line *l, const char *got)
{
    if (!strstr(got, l->words[1].ptr))
        fail_at(r, l, l->words[0].ptr, l->words[1].ptr, got);
}

static void expect_word(struct runner *r, const struct line *l, const char *got)
{
    if (!pawl_str_is(l->words[1], got))
        fail_at(r, l, l->words[0].ptr, l->words[1].ptr, got);
}

static void expect_out(struct runner *r, const struct line *l)
{
    char got[500];

    if (r->at >= r->turn.count)
        script_fail(r->script, l, "wanted one more event, got none; outcome %s %s",
                    outcomes[r->outcome], r->finding.text);
    event_text(&r->turn.steps[r->at], got, sizeof(got));
    if (!event_fits(&r->turn.steps[r->at], l, 1))
        script_fail(r->script, l, "event %zu of the act is: %s", r->at + 1, got);
    r->at++;
}

/* out-fan FROM TO NAME: so many activities with inputs 0, 1, 2 … */
static void expect_fan(struct runner *r, const struct line *l)
{
    uint64_t from = (uint64_t)word_number(l->words[1]), to = (uint64_t)word_number(l->words[2]);

    for (uint64_t ref = from; ref <= to; ref++, r->at++) {
        const pawl_event *e = r->at < r->turn.count ? &r->turn.steps[r->at].event : NULL;
        if (!e || e->kind != PAWL_EV_ACTIVITY_SCHEDULED || e->ref != ref ||
            !pawl_str_eq(e->name, l->words[3]) || strtoull(e->data.ptr, NULL, 10) != ref - from)
            script_fail(r->script, l, "activity #%" PRIu64 " is missing", ref);
    }
}

static void expect_open(struct runner *r, const struct line *l)
{
    struct open_task open;
    uint64_t cursor = 0;
    int i = 1;

    while (execution_next_open(r->x, &cursor, &open)) {
        if (i >= l->count || word_number(l->words[i]) != (int64_t)open.id)
            script_fail(r->script, l, "task #%" PRIu64 " is open", open.id);
        i++;
    }
    if (i < l->count && !pawl_str_is(l->words[i], "none"))
        script_fail(r->script, l, "task %s is not open", l->words[i].ptr);
}

static void expect_ids(struct runner *r, const struct line *l, const uint64_t *ids, size_t n)
{
    bool same = n == (size_t)(l->count - 1);

    for (size_t i = 0; same && i < n; i++)
        same = word_number(l->words[i + 1]) == (int64_t)ids[i];
    if (!same)
        script_fail(r->script, l, "%s: got %zu ids, the first is %" PRIu64, l->words[0].ptr, n,
                    n ? ids[0] : 0);
}

struct id_list {
    uint64_t ids[8];
    size_t count;
};

static void list_id(void *arg, const struct mail *m)
{
    struct id_list *list = arg;
    if (list->count < 8)
        list->ids[list->count++] = m->id;
}

static bool expect_lists(struct runner *r, const struct line *l)
{
    pawl_str w = l->words[0];

    if (pawl_str_is(w, "open")) {
        expect_open(r, l);
    } else if (pawl_str_is(w, "mail")) {
        if (execution_mailbox_count(r->x) != (size_t)word_number(l->words[1]))
            script_fail(r->script, l, "the mailbox holds %zu", execution_mailbox_count(r->x));
    } else if (pawl_str_is(w, "consumed")) {
        const uint64_t *ids;
        size_t n = execution_consumed(r->x, &ids);
        expect_ids(r, l, ids, n);
    } else if (pawl_str_is(w, "returned")) {
        struct id_list list = {{0}, 0};
        execution_returned(r->x, list_id, &list);
        expect_ids(r, l, list.ids, list.count);
    } else if (pawl_str_is(w, "discarded")) {
        expect_ids(r, l, r->turn.discarded, r->turn.discarded_count);
    } else if (pawl_str_is(w, "logged")) {
        if (l->count > 1 ? strcmp(r->logged, l->words[1].ptr) != 0 : r->logged[0] != '\0')
            fail_at(r, l, "logged", l->count > 1 ? l->words[1].ptr : "nothing", r->logged);
        r->logged[0] = '\0';
    } else {
        return false;
    }
    return true;
}

/* False when the line is no expectation. */
static bool expect(struct runner *r, const struct line *l)
{
    pawl_str w = l->words[0];
    char seq[24];

    if (pawl_str_is(w, "out")) {
        expect_out(r, l);
    } else if (pawl_str_is(w, "out-fan")) {
        expect_fan(r, l);
    } else if (pawl_str_is(w, "fate")) {
        expect_word(r, l, fates[r->fate]);
        r->fate = FATE_APPLIED; /* seen */
        r->expects_trouble |= pawl_str_is(l->words[1], "odd");
    } else if (pawl_str_is(w, "outcome")) {
        expect_word(r, l, outcomes[r->outcome]);
        r->expects_trouble = true;
    } else if (pawl_str_is(w, "finding")) {
        expect_text(r, l, r->finding.text);
        r->expects_trouble = true;
    } else if (pawl_str_is(w, "recorded")) {
        expect_text(r, l, r->finding.recorded);
    } else if (pawl_str_is(w, "attempted")) {
        expect_text(r, l, r->finding.attempted);
        if (!r->finding.site)
            script_fail(r->script, l, "the finding has no site");
    } else if (pawl_str_is(w, "at-event")) {
        (void)snprintf(seq, sizeof(seq), "%" PRIu64, r->finding.seq);
        expect_word(r, l, seq);
    } else {
        return expect_lists(r, l);
    }
    return true;
}

/* Nothing unexpected may be left; a healthy execution must replay. */
static void settle_act(struct runner *r)
{
    char got[500];

    if (r->outcome >= ENGINE_MISMATCH || r->finding.text[0]) {
        if (!r->expects_trouble)
            script_fail(r->script, r->act, "outcome %s: %s", outcomes[r->outcome], r->finding.text);
        if (r->outcome >= ENGINE_MISMATCH) {
            execution_destroy(r->x);
            r->x = NULL;
            return;
        }
    }
    if (r->at < r->turn.count) {
        event_text(&r->turn.steps[r->at], got, sizeof(got));
        script_fail(r->script, r->act, "unexpected event: %s", got);
    }
    if (r->fate != FATE_APPLIED)
        script_fail(r->script, r->act, "fate is %s", fates[r->fate]);
    if (!r->x || r->history_count == 0 || execution_last_seq(r->x) == 0)
        return;
    execution_check(r->x);
    check_replay(r, r->history_count, true, true);
    check_replay(r, r->history_count, false, true);
    check_prefixes(r);
}

/* ---- History ------------------------------------------------------------ */

static pawl_event *keep(struct runner *r, const pawl_event *e)
{
    ck_assert_uint_lt(r->history_count, HISTORY_MAX);
    pawl_event *to = &r->history[r->history_count++];

    *to = *e;
    to->rid = 1000 + e->seq;
    to->name = pawl_mem_dup(r->mem, e->name);
    to->data = pawl_mem_dup(r->mem, e->data);
    to->attrs = pawl_mem_dup(r->mem, e->attrs);
    return to;
}

static void commit(struct runner *r)
{
    if (r->outcome >= ENGINE_MISMATCH)
        return; /* nothing is appended */
    for (size_t i = 0; i < r->turn.count; i++) {
        struct step *step = &r->turn.steps[i];
        if (step->event.kind == PAWL_EV_EXTERNAL_EVENT) /* as seal.c does */
            step->event.attrs =
                pawl_mem_printf(r->turn.mem, "{\"message\":%" PRIu64 "}", step->message);
        if (step->event.kind == PAWL_EV_UPDATE_ACCEPTED)
            step->event.attrs = pawl_mem_printf(r->turn.mem, "{\"message\":%" PRIu64 ",%s",
                                                step->message, step->event.attrs.ptr + 1);
        const pawl_event *e = keep(r, &step->event);
        if (e->ref && r->x)
            execution_committed(r->x, e->ref, e->rid);
    }
}

static void log_line(void *user, pawl_log_level level, pawl_str text)
{
    struct runner *r = user;
    size_t n = strlen(r->logged);

    (void)level;
    (void)snprintf(r->logged + n, LOG_BYTES - n, "%s%.*s", n ? "|" : "", PAWL_FMT(text));
}

static execution *fresh(struct runner *r, bool with_code)
{
    struct execution_spec spec = {
        .pool = r->pool,
        .code = {.fn = with_code ? program_run : NULL,
                 .user = (void *)(uintptr_t)r->program,
                 .stack_bytes = 256 * 1024,
                 .name = "Test",
                 .version = r->version},
        .rules = r->rules,
        .instance = r->instance,
        .uid = 7,
        .execution = r->execution,
        .log = log_line,
        .log_user = r
    };
    execution *x = execution_create(&spec);

    ck_assert_ptr_nonnull(x);
    return x;
}

static void compare_open(struct runner *r, const execution *x)
{
    struct open_task a, b;
    uint64_t ca = 0, cb = 0;

    for (;;) {
        bool more_a = execution_next_open(r->x, &ca, &a);
        bool more_b = execution_next_open(x, &cb, &b);
        if (more_a != more_b ||
            (more_a &&
             (a.id != b.id || a.kind != b.kind || a.rid != b.rid || a.fire_at_ms != b.fire_at_ms ||
              a.at_ms != b.at_ms || a.abandon != b.abandon || !pawl_str_eq(a.child, b.child))))
            script_fail(r->script, r->act, "replay gives other open tasks: #%" PRIu64 ", #%" PRIu64,
                        ca, cb);
        if (!more_a)
            return;
    }
}

static void check_replay(struct runner *r, size_t count, bool with_code, bool same_place)
{
    char logged[LOG_BYTES];
    struct engine_finding finding = {0};
    execution *x = fresh(r, with_code);

    memcpy(logged, r->logged, sizeof(logged));
    enum engine_outcome got = execution_replay(x, r->history, count, &finding);
    if (got >= ENGINE_MISMATCH)
        script_fail(r->script, r->act, "replay of %zu events: %s: %s", count, outcomes[got],
                    finding.text);
    ck_assert_str_eq(logged, r->logged); /* silent while replaying */
    execution_check(x);
    if (same_place) {
        struct execution_ending a = execution_end(r->x), b = execution_end(x);
        if (a.kind != b.kind || !pawl_str_eq(a.value, b.value) ||
            !pawl_str_eq(a.version, b.version) ||
            execution_last_seq(x) != execution_last_seq(r->x) ||
            execution_cancel_requested(x) != execution_cancel_requested(r->x) ||
            execution_suspended(x) != execution_suspended(r->x))
            script_fail(r->script, r->act, "replay ends elsewhere: kind %d, wanted %d", b.kind,
                        a.kind);
        compare_open(r, x);
    }
    execution_destroy(x);
}

/* A prefix that ends before a message is a history some crash could have left. */
static void check_prefixes(struct runner *r)
{
    for (size_t n = r->checked > 1 ? r->checked : 1; n < r->history_count; n++) {
        const pawl_event *next = &r->history[n];
        bool refusal =
            next[-1].ref == next->ref && next->ref && strstr(next[-1].attrs.ptr, "\"refused\"");
        bool message = next->kind == PAWL_EV_ACTIVITY_COMPLETED ||
                       next->kind == PAWL_EV_ACTIVITY_FAILED || next->kind == PAWL_EV_TIMER_FIRED ||
                       next->kind == PAWL_EV_EXTERNAL_EVENT ||
                       next->kind == PAWL_EV_UPDATE_ACCEPTED ||
                       next->kind == PAWL_EV_SUB_ORCHESTRATION_COMPLETED ||
                       next->kind == PAWL_EV_SUB_ORCHESTRATION_FAILED ||
                       next->kind == PAWL_EV_ORCHESTRATION_CANCEL_REQUESTED;
        if (message && !refusal)
            check_replay(r, n, true, false);
    }
    r->checked = r->history_count;
}

/* ---- Acts --------------------------------------------------------------- */

static const struct {
    const char *word;
    int kind;
    bool has_ref, has_name;
} messages[] = {
    {"started",         PAWL_MSG_START,              false, false},
    {"completed",       PAWL_MSG_ACTIVITY_COMPLETED, true,  false},
    {"failed",          PAWL_MSG_ACTIVITY_FAILED,    true,  false},
    {"fired",           PAWL_MSG_TIMER_FIRED,        true,  false},
    {"raised",          PAWL_MSG_EXTERNAL_RAISED,    false, true },
    {"update",          PAWL_MSG_UPDATE,             false, true },
    {"child-completed", PAWL_MSG_CHILD_COMPLETED,    true,  false},
    {"child-failed",    PAWL_MSG_CHILD_FAILED,       true,  false},
    {"cancel",          PAWL_MSG_CANCEL,             false, false},
    {"terminate",       PAWL_MSG_TERMINATE,          false, false},
    {"suspend",         PAWL_MSG_SUSPEND,            false, false},
    {"resume",          PAWL_MSG_RESUME,             false, false},
    {"wake",            PAWL_MSG_WAKE,               false, false},
};

static bool parse_message(struct runner *r, const struct line *l, struct mail *m)
{
    pawl_str option;
    int at = 2;

    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        if (!pawl_str_is(l->words[1], messages[i].word))
            continue;
        m->kind = messages[i].kind;
        if (messages[i].has_ref)
            m->ref = (uint64_t)word_number(l->words[at++]);
        if (messages[i].has_name)
            m->name = l->words[at++];
        if (at < l->count && !strstr(l->words[at].ptr, "at=") && !strstr(l->words[at].ptr, "exec="))
            m->data = l->words[at];
        if ((option = line_option(l, 2, "at=")).ptr)
            r->now_ms = word_number(option);
        if ((option = line_option(l, 2, "exec=")).ptr)
            m->execution = (uint64_t)word_number(option);
        if ((option = line_option(l, 2, "attrs=")).ptr)
            m->attrs = option;
        return true;
    }
    return false;
}

static void apply(struct runner *r, const struct mail *m)
{
    size_t before = r->turn.count;

    r->outcome = execution_apply(r->x, m, r->now_ms, &r->turn, &r->fate, &r->finding);
    if (r->outcome >= ENGINE_MISMATCH || r->fate != FATE_APPLIED)
        return;
    /* the message itself is the first event; scripts do not repeat it */
    const pawl_event *e = &r->turn.steps[before].event;
    if (r->at == before)
        r->at++;
    if (!pawl_str_eq(e->data, m->data) || (m->ref && e->ref != m->ref))
        script_fail(r->script, r->act, "the recorded message differs");
}

static void act_in(struct runner *r, const struct line *l)
{
    struct mail m = {.id = r->next_message++, .execution = r->execution};

    if (l->count < 2 || !parse_message(r, l, &m))
        script_fail(r->script, l, "unknown message");
    if (m.kind == PAWL_MSG_START) {
        m.name = pawl_s("Test");
        m.attrs = pawl_mem_printf(r->turn_mem, "{\"version\":\"%s\",\"seed\":\"00000000deadbeef\"}",
                                  r->version);
        if (!r->x)
            r->x = fresh(r, true);
    }
    if (!r->x)
        script_fail(r->script, l, "no execution; start it first");
    apply(r, &m);
}

static void act_complete_all(struct runner *r, const struct line *l)
{
    uint64_t from = (uint64_t)word_number(l->words[1]), to = (uint64_t)word_number(l->words[2]);

    for (uint64_t ref = from; ref <= to; ref++) {
        struct mail m = {.id = r->next_message++,
                         .execution = r->execution,
                         .kind = PAWL_MSG_ACTIVITY_COMPLETED,
                         .ref = ref,
                         .data = l->words[3]};
        r->at = r->turn.count;
        apply(r, &m);
        if (ref < to && r->turn.count != r->at)
            script_fail(r->script, l, "an event too many after #%" PRIu64, ref);
    }
}

static void load(struct runner *r, bool with_code)
{
    execution_destroy(r->x);
    r->x = fresh(r, with_code);
    r->outcome = execution_replay(r->x, r->history, r->history_count, &r->finding);
}

struct moving {
    execution *to;
};

static void move_letter(void *arg, const struct mail *letter)
{
    struct moving *m = arg;

    execution_mailbox_keep(m->to, letter);
}

static void act_drop_fiber(struct runner *r, const struct line *l)
{
    execution *old = r->x;
    struct moving m;

    (void)l;
    r->x = NULL;
    load(r, true);
    m.to = r->x;
    execution_mailbox_each(old, move_letter, &m); /* what the store kept */
    execution_destroy(old);
}

static void act_swap(struct runner *r, const struct line *l)
{
    r->program = script_program(r->script, l->words[1]);
    load(r, true);
}

static void act_replay(struct runner *r, const struct line *l)
{
    load(r, pawl_str_is(l->words[0], "replay"));
}

static void act_finish(struct runner *r, const struct line *l)
{
    int kind = pawl_str_is(l->words[1], "terminated")  ? PAWL_EV_ORCHESTRATION_TERMINATED
               : pawl_str_is(l->words[1], "cancelled") ? PAWL_EV_ORCHESTRATION_CANCELLED
                                                       : PAWL_EV_ORCHESTRATION_FAILED;

    r->outcome = execution_finish(r->x, kind, l->words[2], r->now_ms, &r->turn);
}

/* What the runtime does with a ContinueAsNew: mail and input go along. */
static void act_next(struct runner *r, const struct line *l)
{
    struct execution_ending end = execution_end(r->x);
    execution *old = r->x;
    struct moving m;

    if (end.kind != PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW)
        script_fail(r->script, l, "it did not continue as new");
    r->execution++;
    r->history_count = r->checked = 0;
    if (end.version.len)
        r->version = pawl_mem_dup(r->mem, end.version).ptr;
    r->x = fresh(r, true);
    m.to = r->x;
    execution_mailbox_each(old, move_letter, &m);
    if (!execution_state_copy(r->x, old))
        script_fail(r->script, l, "its state could not be copied");
    struct mail start = {
        .id = r->next_message++,
        .kind = PAWL_MSG_START,
        .name = pawl_s("Test"),
        .data = pawl_mem_dup(r->turn_mem, end.value),
        .attrs = pawl_mem_printf(r->turn_mem, "{\"version\":\"%s\",\"seed\":\"2\"}", r->version)};
    apply(r, &start);
    execution_destroy(old);
}

static void act_mail(struct runner *r, const struct line *l)
{
    execution_mailbox_add(r->x, (uint64_t)word_number(l->words[1]), l->words[2], l->words[3]);
}

static void act_event(struct runner *r, const struct line *l)
{
    pawl_str ref = line_option(l, 3, "#"), exec = line_option(l, 3, "exec=");
    pawl_str at = line_option(l, 3, "at="), kind = l->words[2];
    pawl_event e = {.seq = (uint64_t)word_number(l->words[1]),
                    .kind = pawl_event_kind_of(kind),
                    .ref = ref.ptr ? (uint64_t)word_number(ref) : 0,
                    .execution = exec.ptr ? (uint64_t)word_number(exec) : 1,
                    .name = line_option(l, 3, "name="),
                    .data = line_option(l, 3, "data="),
                    .attrs = line_option(l, 3, "attrs="),
                    .at_ms = at.ptr ? word_number(at) : 1000};

    if (e.kind == 0)
        e.kind = (int)word_number(kind);
    keep(r, &e);
}

static void act_clear(struct runner *r, const struct line *l)
{
    (void)l;
    r->history_count = r->checked = 0;
    execution_destroy(r->x);
    r->x = NULL;
}

static void act_rules(struct runner *r, const struct line *l)
{
    pawl_str option;

    if ((option = line_option(l, 1, "history=")).ptr)
        r->rules.history_max = (uint32_t)word_number(option);
    if ((option = line_option(l, 1, "payload=")).ptr)
        r->rules.payload_max = (size_t)word_number(option);
    if ((option = line_option(l, 1, "instance=")).ptr)
        r->instance = option;
    if ((option = line_option(l, 1, "instance-bytes=")).ptr) {
        size_t n = (size_t)word_number(option);
        char *id = pawl_mem_alloc(r->mem, n + 1);
        memset(id, 'i', n);
        r->instance = pawl_s(id);
    }
    if ((option = line_option(l, 1, "version=")).ptr)
        r->version = option.ptr;
    r->rules.strict_await |= line_has(l, 1, "strict");
    r->rules.drop_early_events |= line_has(l, 1, "drop-early");
}
