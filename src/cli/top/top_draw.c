/* SPDX-License-Identifier: MIT */
/*
 * cli/top/top_draw.c -- the pages of `top` on paper: always exactly as many lines as the screen has.
 *
 * 80 columns and 24 lines are enough; more give more rows and longer texts.
 */
#include "base/clock.h"
#include "cli/top/top.h"
#include "view/units.h"

#include <string.h>

#define LEAST_ROWS     10
#define LEAST_COLUMNS  40
#define PROBLEM_LINES  5
#define QUEUE_LINES    3
#define WIDE           100 /* columns, for what 80 have no room for */
#define SPARK_SECONDS  20
#define RATE_SECONDS   5
#define SINCE_COLUMNS  9
#define STATUS_COLUMNS 10

/* ---- Words --------------------------------------------------------------------------------- */

/* "7 s", "3m 20s": whole seconds. */
static const char *seconds(char out[UNITS_BYTES], int64_t ms)
{
    if (ms >= 60000)
        return format_duration(out, ms / 1000 * 1000);
    (void)snprintf(out, UNITS_BYTES, "%d s", ms > 0 ? (int)(ms / 1000) : 0);
    return out;
}

/* Until now; "" when the time is not known. */
static const char *age(const struct top *t, char out[UNITS_BYTES], int64_t since_ms)
{
    out[0] = 0;
    return since_ms ? seconds(out, top_now_ms(t) - since_ms) : out;
}

static enum tone tone_of_problem(pawl_str kind)
{
    return pawl_str_is(kind, "suspended") ? TONE_YELLOW : TONE_RED;
}

static void head_line(struct paper *p, const char *text, const char *more)
{
    paper_put(p, TONE_DIM, pawl_s(text));
    if (more[0])
        paper_putf(p, TONE_DIM, "  %s", more);
    paper_line(p);
}

/* ---- The head -------------------------------------------------------------------------------- */

/* How old the reading is. */
static void put_freshness(const struct top *t, struct paper *p)
{
    char since[UNITS_BYTES], left[UNITS_BYTES];
    if (t->gone) {
        seconds(since, clock_wall_ms() - t->gone_ms);
        seconds(left, t->changes.again_ms - clock_mono_ms() + 999);
        paper_putf(p, TONE_RED, "GONE for %s%s%s", since, t->session->remote ? ", again in " : "",
                   t->session->remote ? left : "");
    } else if (!t->view.known) {
        paper_put(p, TONE_DIM, pawl_s("reading"));
    } else if (!t->session->remote) {
        paper_put(p, TONE_YELLOW, pawl_s("read only"));
    } else if (t->changes.open) {
        paper_put(p, TONE_GREEN, pawl_s("live"));
    } else {
        paper_put(p, TONE_YELLOW, pawl_s("no stream"));
    }
}

static void put_title(const struct top *t, struct paper *p)
{
    char now[UNITS_BYTES], up[UNITS_BYTES], size[UNITS_BYTES];
    paper_put(p, TONE_BOLD, pawl_s("pawl top"));
    paper_putf(p, TONE_NONE, "  %.8sZ  ", format_time(now, top_now_ms(t)) + 11);
    put_freshness(t, p);
    paper_putf(p, TONE_DIM, "  %s",
               t->session->remote ? http_url(t->session->remote) : session_shown(t->cli));
    if (t->page == TOP_INSTANCE && t->open_ms)
        paper_putf(p, TONE_DIM, "  no change for %s", age(t, up, t->open_ms));
    else if (t->view.started_ms)
        paper_putf(p, TONE_DIM, "  up %s  %s", age(t, up, t->view.started_ms),
                   format_size(size, t->view.rss_bytes));
    paper_line(p);
    if (!t->gone)
        return;
    paper_put(p, TONE_RED, pawl_s(t->trouble));
    paper_line(p);
}

/* "12,345", "123k", "12M" */
static const char *brief(char out[UNITS_BYTES], uint64_t n)
{
    if (n < 100000)
        return format_count(out, n);
    bool k = n < 10000000;
    (void)snprintf(out, UNITS_BYTES, "%llu%c", (unsigned long long)(n / (k ? 1000 : 1000000)),
                   k ? 'k' : 'M');
    return out;
}

/* How many instances are in each state; empty states are left out. */
static void put_states(const struct top *t, struct paper *p)
{
    static const pawl_state order[] = {PAWL_RUNNING, PAWL_PENDING,   PAWL_BLOCKED,  PAWL_SUSPENDED,
                                       PAWL_FAILED,  PAWL_CANCELLED, PAWL_COMPLETED};
    char text[UNITS_BYTES];
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        uint64_t n = t->view.counts[order[i]];
        if (n || order[i] == PAWL_RUNNING)
            paper_putf(p, tone_of_state(order[i]), "%s%s %s", i ? "  " : "",
                       pawl_state_name(order[i]), brief(text, n));
    }
    if (!t->view.exact)
        paper_put(p, TONE_DIM, pawl_s(" or more"));
    paper_line(p);
}

/* The number of second `k` before now; 0 is the second that has not ended.  Seconds after the last
 * reading have no events. */
static double rate_at(const struct top *t, enum top_rate rate, size_t ago)
{
    int64_t passed = (top_now_ms(t) - t->view.read_ms) / 1000;
    if (passed < 0)
        passed = 0;
    if ((int64_t)ago < passed || ago - (size_t)passed >= TOP_SECONDS)
        return 0;
    return t->view.rates[rate][TOP_SECONDS - 1 - (ago - (size_t)passed)];
}

static double rate_of(const struct top *t, enum top_rate rate)
{
    double sum = 0;
    for (size_t i = 1; i <= RATE_SECONDS; i++)
        sum += rate_at(t, rate, i);
    return sum / RATE_SECONDS;
}

static void put_spark(const struct top *t, struct paper *p, enum top_rate rate)
{
    static const char *const levels[][9] = {
        {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
        {" ", ".",   ".",   ":",   ":",   "+",   "+",   "#",   "#"  },
    };
    char text[SPARK_SECONDS * 3 + 1] = "", *at = text;
    double most = 1;
    size_t count = p->width < WIDE ? SPARK_SECONDS / 2 : SPARK_SECONDS;
    for (size_t i = 1; i <= count; i++)
        most = rate_at(t, rate, i) > most ? rate_at(t, rate, i) : most;
    for (size_t i = count; i >= 1; i--) {
        double v = rate_at(t, rate, i) / most;
        size_t level = v > 0 ? 1 + (size_t)(v * 7.5) : 0;
        at = stpcpy(at, levels[!out_is_utf8()][level < 9 ? level : 8]);
    }
    paper_put(p, TONE_BLUE, pawl_s(text));
}

static void put_rates(const struct top *t, struct paper *p)
{
    double commits = rate_of(t, TOP_commits), us = rate_of(t, TOP_commit_us);
    if (!t->view.has_rates)
        return;
    paper_putf(p, TONE_NONE, "starts %.1f/s ", rate_of(t, TOP_starts));
    put_spark(t, p, TOP_starts);
    paper_putf(p, TONE_NONE, "  ended %.1f  failed %.1f  activities %.1f", rate_of(t, TOP_ended),
               rate_of(t, TOP_failed), rate_of(t, TOP_activities));
    if (p->width >= WIDE)
        paper_putf(p, TONE_NONE, "  retried %.1f", rate_of(t, TOP_retried));
    if (commits > 0)
        paper_putf(p, TONE_NONE, "  commit %.1f ms", us / commits / 1000);
    paper_line(p);
}

/* ---- Problems and queues ------------------------------------------------------------------------ */

static void put_problem(const struct top *t, struct paper *p, const struct top_problem *problem,
                        bool chosen)
{
    char since[UNITS_BYTES], count[UNITS_BYTES];
    unsigned width = p->width;
    p->inverse = chosen && p->color;
    paper_put(p, TONE_NONE, pawl_s(chosen ? "> " : "  "));
    paper_cell(p, tone_of_problem(problem->kind), problem->kind, STATUS_COLUMNS);
    paper_cell(p, TONE_BOLD, pawl_s(format_count(count, problem->count)), 6);
    paper_cell(p, TONE_NONE, problem->orchestration, 18);
    paper_put(p, TONE_NONE, pawl_s(" "));
    paper_cell(p, TONE_NONE, problem->detail,
               width > p->at + SINCE_COLUMNS + 1 ? width - p->at - SINCE_COLUMNS - 1 : 0);
    paper_putf(p, TONE_DIM, " %s", age(t, since, problem->since_ms));
    paper_line(p);
    p->inverse = false;
}

static void put_problems(const struct top *t, struct paper *p)
{
    size_t n = t->view.problem_count, first = 0;
    if (!n) {
        head_line(p, "NEEDS A PERSON", "nothing");
        return;
    }
    if (t->cursor >= PROBLEM_LINES && t->cursor < n)
        first = t->cursor - PROBLEM_LINES + 1;
    size_t hidden = n > PROBLEM_LINES ? n - PROBLEM_LINES : 0;
    char more[48] = "";
    if (hidden)
        (void)snprintf(more, sizeof(more), "%zu more", hidden);
    head_line(p, "NEEDS A PERSON", more);
    for (size_t i = first; i < n && i < first + PROBLEM_LINES; i++)
        put_problem(t, p, &t->view.problems[i], i == t->cursor);
}

static void put_queues(const struct top *t, struct paper *p)
{
    size_t n = t->view.queue_count;
    char more[48] = "", oldest[UNITS_BYTES];
    if (!n)
        return;
    if (n > QUEUE_LINES)
        (void)snprintf(more, sizeof(more), "%zu more: pawl queue ls", n - QUEUE_LINES);
    head_line(p, "QUEUES", more);
    bool told[TOP_QUEUES] = {false};
    for (size_t k = 0; k < n && k < QUEUE_LINES; k++) { /* the longest first */
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!told[i] && (best == n || t->view.queues[i].ready > t->view.queues[best].ready))
                best = i;
        const struct top_queue *q = &t->view.queues[best];
        told[best] = true;
        paper_put(p, TONE_NONE, pawl_s("  "));
        paper_cell(p, TONE_NONE, q->name, 28);
        paper_putf(p, q->ready ? TONE_BLUE : TONE_DIM, " %llu ready  ",
                   (unsigned long long)q->ready);
        paper_putf(p, TONE_DIM, "%llu locked  %llu delayed", (unsigned long long)q->locked,
                   (unsigned long long)q->delayed);
        if (q->oldest_ms)
            paper_putf(p, TONE_DIM, "  oldest %s", age(t, oldest, q->oldest_ms));
        if (q->paused)
            paper_put(p, TONE_YELLOW, pawl_s("  paused"));
        paper_line(p);
    }
}

/* ---- Instances ----------------------------------------------------------------------------------- */

static void put_row(const struct top *t, struct paper *p, const struct top_row *r, bool chosen)
{
    char since[UNITS_BYTES], due[UNITS_BYTES];
    unsigned width = p->width, id = width / 4, name = width / 6;
    p->inverse = chosen && p->color;
    paper_put(p, TONE_NONE, pawl_s(chosen ? "> " : "  "));
    paper_cell(p, TONE_NONE, r->id, id);
    paper_put(p, TONE_NONE, pawl_s(" "));
    paper_cell(p, TONE_DIM, r->orchestration, name);
    paper_put(p, TONE_NONE, pawl_s(" "));
    paper_cell(p, tone_of_state(r->state), pawl_s(pawl_state_name(r->state)), STATUS_COLUMNS);
    paper_put(p, TONE_NONE, pawl_s(" "));
    int64_t left = r->due_ms - top_now_ms(t);
    pawl_str what = r->due_ms && left > 0 ? pawl_mem_printf(p->mem, "%.*s in %s", PAWL_FMT(r->what),
                                                            seconds(due, left))
                                          : r->what;
    paper_cell(p, TONE_NONE, what,
               width > p->at + SINCE_COLUMNS + 1 ? width - p->at - SINCE_COLUMNS - 1 : 0);
    paper_putf(p, TONE_DIM, " %s",
               age(t, since,
                   r->since_ms     ? r->since_ms
                   : r->updated_ms ? r->updated_ms
                                   : 0));
    paper_line(p);
    p->inverse = false;
}

const struct top_problem *top_problem_at(const struct top *t)
{
    return t->cursor < t->view.problem_count ? &t->view.problems[t->cursor] : NULL;
}

const struct top_row *top_row_at(const struct top *t)
{
    size_t problems = t->view.problem_count;
    return t->cursor >= problems && t->cursor - problems < t->view.row_count
               ? &t->view.rows[t->cursor - problems]
               : NULL;
}

static void keep_in_sight(struct top *t)
{
    size_t problems = t->view.problem_count;
    size_t at = t->cursor >= problems ? t->cursor - problems : 0;
    if (!top_row_at(t))
        t->first = 0;
    else if (at < t->first)
        t->first = at;
    else if (t->row_space && at >= t->first + t->row_space)
        t->first = at - t->row_space + 1;
    if (t->first + t->row_space > t->view.row_count)
        t->first = t->view.row_count > t->row_space ? t->view.row_count - t->row_space : 0;
}

static void put_rows(struct top *t, struct paper *p, unsigned foot)
{
    const char *which = t->state ? pawl_state_name((pawl_state)(t->state - 1)) : "all";
    paper_putf(p, TONE_DIM, "INSTANCES  %s", which);
    if (t->filter[0] || t->filtering)
        paper_putf(p, TONE_YELLOW, "  %s %s", t->filter[0] == '@' ? "orchestration" : "begins with",
                   t->filter + (t->filter[0] == '@'));
    if (t->view.more_rows)
        paper_putf(p, TONE_DIM, "  the newest %u", TOP_ROWS);
    paper_line(p);
    t->row_space = foot > p->lines ? foot - p->lines : 0;
    keep_in_sight(t);
    for (size_t i = t->first; i < t->view.row_count && p->lines < foot; i++)
        put_row(t, p, &t->view.rows[i], i + t->view.problem_count == t->cursor);
    if (!t->view.row_count && p->lines < foot) {
        paper_put(p, TONE_DIM,
                  pawl_s(t->filter[0] ? "  none fits; Esc leaves the filter" : "  none"));
        paper_line(p);
    }
}

/* ---- Other pages ------------------------------------------------------------------------------------ */

static const char *const help[] = {
    "Up Down PgUp PgDn Home End   choose, or scroll",
    "Enter                        open: why it waits, and its steps as bars",
    "                             on a problem: the instances that have it",
    "Esc, Left                    back; leave the filter",
    "/                            filter: the beginning of an id, or @NAME of an orchestration",
    "Tab, Shift-Tab               which state is listed",
    "e                            raise an event",
    "c x                          cancel (its code may compensate), terminate (at once)",
    "s r                          suspend, resume",
    "t                            retry what is blocked",
    "Ctrl-L, Ctrl-Z               draw again, stop for a while",
    "? q                          this page, quit",
    "",
    "Every action asks first. A reason is kept in the history.",
};

static void draw_help(struct paper *p)
{
    for (size_t i = 0; i < COUNT_OF(help); i++) {
        paper_put(p, TONE_NONE, pawl_s(help[i]));
        paper_line(p);
    }
}

static void draw_instance(struct top *t, struct paper *p, unsigned foot)
{
    unsigned room = foot > p->lines ? foot - p->lines : 0;
    unsigned most = t->open.lines > room ? t->open.lines - room : 0;
    if (t->scroll > most)
        t->scroll = most;
    for (unsigned i = 0; i < room && t->scroll + i < t->open.lines; i++) {
        buf_str(&p->ink, paper_row(&t->open, t->scroll + i));
        paper_line(p);
    }
}

/* ---- The foot ----------------------------------------------------------------------------------------- */

static void put_question(struct top *t, struct paper *p)
{
    const struct top_question *q = &t->question;
    const char *word = q->op == PAWL_OP_CANCEL      ? "cancel"
                       : q->op == PAWL_OP_TERMINATE ? "terminate"
                       : q->op == PAWL_OP_SUSPEND   ? "suspend"
                       : q->op == PAWL_OP_RESUME    ? "resume"
                       : q->op == PAWL_OP_RETRY     ? "retry"
                                                    : "raise to";
    paper_putf(p, TONE_BOLD, "%s %.40s? ", word, q->id);
    if (q->op == PAWL_OP_RETRY)
        paper_put(p, TONE_NONE, pawl_s("Enter does it, Esc does not"));
    else if (q->op != PAWL_OP_RAISE)
        paper_putf(p, TONE_NONE, "reason: %s", q->line);
    else if (q->wants_data)
        paper_putf(p, TONE_NONE, "%s, data as JSON: %s", q->event, q->line);
    else
        paper_putf(p, TONE_NONE, "event: %s", q->line);
    if (q->op != PAWL_OP_RETRY)
        paper_put(p, TONE_DIM, pawl_s("_   (Enter: do it, Esc: do not)"));
}

static bool has_message(const struct top *t)
{
    return t->message[0] && clock_mono_ms() < t->message_until;
}

static void put_foot(struct top *t, struct paper *p)
{
    if (t->question.on) {
        if (has_message(t))
            paper_put(p, t->bad_message ? TONE_RED : TONE_GREEN, pawl_s(t->message));
        paper_line(p);
        put_question(t, p);
    } else if (t->filtering) {
        paper_putf(p, TONE_BOLD, "/%s", t->filter);
        paper_put(p, TONE_DIM, pawl_s("_   (Enter: keep it, Esc: leave it; @NAME: orchestration)"));
    } else if (has_message(t)) {
        paper_put(p, t->bad_message ? TONE_RED : TONE_GREEN, pawl_s(t->message));
    } else if (t->page == TOP_INSTANCE) {
        paper_put(p, TONE_DIM,
                  pawl_s("Esc back  e raise  c cancel  x terminate  s suspend  r resume  "
                         "t retry  ? keys"));
    } else if (t->page == TOP_HELP) {
        paper_put(p, TONE_DIM, pawl_s("any key: back  q quit"));
    } else {
        paper_put(p, TONE_DIM,
                  pawl_s("arrows  Enter open  / filter  Tab state  e raise  c cancel  "
                         "? keys  q quit"));
    }
}

/* ---- All of it -------------------------------------------------------------------------------------------- */

void top_draw(struct top *t, struct paper *p, unsigned rows)
{
    if (rows < LEAST_ROWS || p->width < LEAST_COLUMNS) {
        paper_putf(p, TONE_NONE, "%u columns and %u lines are needed", LEAST_COLUMNS, LEAST_ROWS);
        return;
    }
    unsigned foot = rows - (t->question.on ? 2 : 1);
    put_title(t, p);
    if (t->page == TOP_HELP) {
        draw_help(p);
    } else if (t->page == TOP_INSTANCE) {
        draw_instance(t, p, foot);
    } else if (t->view.known) {
        put_states(t, p);
        put_rates(t, p);
        put_problems(t, p);
        put_queues(t, p);
        put_rows(t, p, foot);
    }
    if (t->cli->args.one_screen)
        return;
    while (p->lines < foot)
        paper_line(p);
    put_foot(t, p);
}
