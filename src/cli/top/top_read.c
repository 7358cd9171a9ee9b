/* SPDX-License-Identifier: MIT */
/*
 * cli/top/top_read.c -- what `top` shows, read from a server or from a store.
 *
 * A server is asked for its overview, its series, a page of instances and its queues; what it says
 * is not trusted beyond being JSON.  On a store the same is read through the client, from pages:
 * counts end at a page, and there are no rates.
 */
#include "base/clock.h"
#include "cli/bars.h"
#include "cli/top/top.h"
#include "cli/views.h"
#include "view/render.h"
#include "view/units.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define COUNT_PAGE 1000
#define LISTED     100 /* instances of a state that are looked at for problems */
#define LATELY_MS  3600000

int64_t top_now_ms(const struct top *t)
{
    return clock_wall_ms() + t->view.skew_ms;
}

static bool fail(struct top *t, const pawl_error *err)
{
    if (t->session->remote && http_alarmed(t->session->remote))
        return false; /* a key was pressed: it is read again */
    if (!t->gone)
        t->gone_ms = clock_wall_ms();
    t->gone = true;
    (void)snprintf(t->trouble, sizeof(t->trouble), "%s", err->text);
    return false;
}

/* ---- From a server ----------------------------------------------------------------------- */

static bool ask(struct top *t, struct top_view *v, const char *path, pawl_str *ret)
{
    struct http_reply answer;
    pawl_error err;
    if (remote_call(t->session->remote, "GET", path, (pawl_str){0}, NULL, v->mem, &answer, &err) !=
        PAWL_OK)
        return fail(t, &err);
    *ret = answer.body;
    return true;
}

static uint64_t count_in(pawl_str json, const char *pointer)
{
    int64_t n = pawl_json_int(json, pointer, 0);
    return n > 0 ? (uint64_t)n : 0;
}

/* A time that is sane enough to compute with. */
static int64_t moment_in(pawl_str json, const char *pointer)
{
    int64_t ms = pawl_json_int(json, pointer, 0);
    return ms > 0 && ms < INT64_C(1) << 52 ? ms : 0;
}

static void read_problems(struct top_view *v, pawl_str overview)
{
    pawl_json_iter it = pawl_json_each(overview, "/problems");
    while (v->problem_count < TOP_PROBLEMS && pawl_json_next(&it))
        v->problems[v->problem_count++] = (struct top_problem){
            .kind = pawl_json_text(v->mem, it.value, "/kind", ""),
            .orchestration = pawl_json_text(v->mem, it.value, "/orchestration", ""),
            .detail = pawl_json_text(v->mem, it.value, "/detail", ""),
            .instance = pawl_json_text(v->mem, it.value, "/instances/0", ""),
            .count = count_in(it.value, "/count"),
            .since_ms = moment_in(it.value, "/since")};
}

static bool read_overview(struct top *t, struct top_view *v)
{
    pawl_str o;
    char pointer[64];
    if (!ask(t, v, "/api/v1/overview", &o))
        return false;
    for (int i = PAWL_PENDING; i < PAWL_CONTINUED_AS_NEW; i++) {
        (void)snprintf(pointer, sizeof(pointer), "/counts/%s", pawl_state_name((pawl_state)i));
        v->counts[i] = count_in(o, pointer);
    }
    v->exact = pawl_json_bool(o, "/exact", true);
    v->read_ms = moment_in(o, "/now");
    v->skew_ms = v->read_ms ? v->read_ms - clock_wall_ms() : 0;
    v->version = pawl_json_text(v->mem, o, "/node/version", "");
    v->started_ms = moment_in(o, "/node/started_at");
    v->rss_bytes = count_in(o, "/node/rss_bytes");
    v->disk_free_bytes = count_in(o, "/node/disk_free_bytes");
    v->trouble = pawl_json_text(v->mem, o, "/node/trouble", "");
    read_problems(v, o);
    return true;
}

/* One number a second, the newest last. */
static void read_rate(struct top_view *v, pawl_str series, const char *name, double to[TOP_SECONDS])
{
    char pointer[64];
    (void)snprintf(pointer, sizeof(pointer), "/series/%s", name);
    pawl_json_iter it = pawl_json_each(series, pointer);
    for (size_t i = 0; pawl_json_next(&it); i++) {
        if (i >= TOP_SECONDS) {
            memmove(to, to + 1, (TOP_SECONDS - 1) * sizeof(*to));
            i = TOP_SECONDS - 1;
        }
        to[i] = pawl_json_number(it.value, "", 0);
        v->has_rates = true;
    }
}

static bool read_series(struct top *t, struct top_view *v)
{
    pawl_str series;
    if (!ask(t, v, "/api/v1/series?seconds=60", &series))
        return false;
#define READ_RATE(name) read_rate(v, series, #name, v->rates[TOP_##name]);
    TOP_RATES(READ_RATE)
#undef READ_RATE
    return true;
}

static bool read_queues(struct top *t, struct top_view *v)
{
    pawl_str queues;
    if (!ask(t, v, "/queue?limit=50", &queues))
        return false;
    pawl_json_iter it = pawl_json_each(queues, "/queues");
    while (v->queue_count < TOP_QUEUES && pawl_json_next(&it)) {
        double oldest = pawl_json_number(it.value, "/oldest_age_seconds", -1);
        v->queues[v->queue_count++] = (struct top_queue){
            .name = pawl_json_text(v->mem, it.value, "/name", ""),
            .ready = count_in(it.value, "/ready"),
            .delayed = count_in(it.value, "/delayed"),
            .locked = count_in(it.value, "/locked"),
            .oldest_ms = oldest < 0 || oldest > 1e9 ? 0 : v->read_ms - (int64_t)(oldest * 1000),
            .paused = pawl_json_bool(it.value, "/paused", false)};
    }
    return true;
}

/* ---- From a store -------------------------------------------------------------------------- */

static bool list(struct top *t, struct top_view *v, pawl_state state, uint32_t limit,
                 pawl_page *ret)
{
    pawl_error err;
    pawl_filter filter = {.size = sizeof(filter), .limit = limit, .state = (int)state + 1};
    return session_list(t->session, &filter, v->mem, ret, &err) == PAWL_OK || fail(t, &err);
}

static void add_problem(struct top_view *v, const pawl_info *info)
{
    pawl_str detail = render_detail(info), kind = pawl_s(pawl_state_name(info->state));
    for (size_t i = 0; i < v->problem_count; i++) {
        struct top_problem *p = &v->problems[i];
        if (!pawl_str_eq(p->kind, kind) || !pawl_str_eq(p->orchestration, info->orchestration) ||
            !pawl_str_eq(p->detail, detail))
            continue;
        p->count++;
        if (info->updated_ms < p->since_ms)
            p->since_ms = info->updated_ms;
        return;
    }
    if (v->problem_count < TOP_PROBLEMS)
        v->problems[v->problem_count++] = (struct top_problem){.kind = kind,
                                                               .orchestration = info->orchestration,
                                                               .detail = detail,
                                                               .instance = info->instance,
                                                               .count = 1,
                                                               .since_ms = info->updated_ms};
}

static bool read_store_problems(struct top *t, struct top_view *v)
{
    static const pawl_state states[] = {PAWL_BLOCKED, PAWL_FAILED, PAWL_SUSPENDED};
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        pawl_page page;
        if (!list(t, v, states[i], LISTED, &page))
            return false;
        for (size_t k = 0; k < page.count; k++)
            if (states[i] != PAWL_FAILED || page.items[k].updated_ms > v->read_ms - LATELY_MS)
                add_problem(v, &page.items[k]);
    }
    return true;
}

static bool read_store(struct top *t, struct top_view *v)
{
    v->exact = true;
    v->read_ms = clock_wall_ms();
    for (int i = PAWL_PENDING; i < PAWL_CONTINUED_AS_NEW; i++) {
        pawl_page page;
        if (!list(t, v, (pawl_state)i, COUNT_PAGE, &page))
            return false;
        v->counts[i] = page.count;
        v->exact = v->exact && !page.next.len;
    }
    pawl_queue_page queues;
    pawl_error err;
    if (!read_store_problems(t, v))
        return false;
    if (pawl_queue_list(t->session->client, NULL, NULL, TOP_QUEUES, v->mem, &queues, &err) !=
        PAWL_OK)
        return true; /* a store without queues */
    for (size_t i = 0; i < queues.count; i++) {
        const pawl_queue_stats *q = &queues.items[i];
        v->queues[v->queue_count++] = (struct top_queue){.name = q->name,
                                                         .ready = q->ready,
                                                         .delayed = q->delayed,
                                                         .locked = q->locked,
                                                         .oldest_ms = q->oldest_ms,
                                                         .paused = q->paused};
    }
    return true;
}

bool top_store_changed(struct top *t)
{
    struct stat db = {0}, log = {0};
    char now[sizeof(t->seen)], wal[PATH_MAX];
    if (!t->file) /* of a store on a server nothing can be seen */
        return true;
    (void)snprintf(wal, sizeof(wal), "%s-wal", t->file);
    (void)stat(t->file, &db);
    (void)stat(wal, &log);
    (void)snprintf(now, sizeof(now), "%lld %lld %ld %ld", (long long)db.st_size,
                   (long long)log.st_size, (long)(db.st_mtim.tv_sec ^ db.st_mtim.tv_nsec),
                   (long)(log.st_mtim.tv_sec ^ log.st_mtim.tv_nsec));
    bool changed = strcmp(now, t->seen) != 0;
    (void)snprintf(t->seen, sizeof(t->seen), "%s", now);
    return changed;
}

/* ---- Instances ------------------------------------------------------------------------------ */

static void describe(struct top_view *v, struct top_row *r, const pawl_info *info)
{
    const pawl_waiting *w = info->waiting_count ? &info->waiting[0] : NULL;
    r->asked = true;
    if (!w) {
        r->what = render_detail(info);
        return;
    }
    bool activity = strcmp(w->kind, "activity") == 0;
    pawl_str more = info->waiting_count > 1
                        ? pawl_mem_printf(v->mem, " +%zu", info->waiting_count - 1)
                        : (pawl_str){"", 0};
    r->what =
        pawl_mem_printf(v->mem, "%s%s%.*s%.*s%s", activity ? "" : w->kind,
                        activity || !w->name.len ? "" : " ", PAWL_FMT(w->name), PAWL_FMT(more),
                        !activity        ? ""
                        : w->running     ? " runs"
                        : w->attempt > 1 ? " failed, tried again"
                                         : " queued");
    r->since_ms = w->since_ms;
    r->due_ms = w->due_ms;
}

/* Take over the earlier reading of this instance if it has not changed. */
static void remember(const struct top *t, struct top_view *v, struct top_row *r)
{
    for (size_t i = 0; i < t->view.row_count; i++) {
        const struct top_row *old = &t->view.rows[i];
        if (!old->asked || old->updated_ms != r->updated_ms || !pawl_str_eq(old->id, r->id))
            continue;
        r->what = pawl_mem_dup(v->mem, old->what);
        r->since_ms = old->since_ms;
        r->due_ms = old->due_ms;
    }
}

static bool read_rows(struct top *t, struct top_view *v)
{
    bool by_name = t->filter[0] == '@';
    pawl_filter filter = {.size = sizeof(filter),
                          .limit = TOP_ROWS,
                          .state = t->state,
                          .prefix = by_name || !t->filter[0] ? NULL : t->filter,
                          .orchestration = by_name && t->filter[1] ? t->filter + 1 : NULL};
    pawl_page page;
    pawl_error err;
    (void)snprintf(t->asked_filter, sizeof(t->asked_filter), "%s", t->filter);
    if (session_list(t->session, &filter, v->mem, &page, &err) != PAWL_OK)
        return fail(t, &err);
    v->rows = pawl_mem_alloc(v->mem, (page.count + 1) * sizeof(*v->rows));
    v->more_rows = page.next.len > 0;
    for (size_t i = 0; i < page.count; i++) {
        const pawl_info *info = &page.items[i];
        struct top_row *r = &v->rows[v->row_count++];
        *r = (struct top_row){.id = info->instance,
                              .orchestration = info->orchestration,
                              .state = info->state,
                              .created_ms = info->created_ms,
                              .updated_ms = info->updated_ms};
        if (info->state == PAWL_RUNNING && !info->waiting_count)
            remember(t, v, r);
        else
            describe(v, r, info);
    }
    return true;
}

void top_read_waits(struct top *t)
{
    struct top_view *v = &t->view;
    for (size_t i = t->first; i < v->row_count && i < t->first + t->row_space && !t->gone; i++) {
        struct top_row *r = &v->rows[i];
        pawl_info info;
        pawl_error err;
        if (r->asked)
            continue;
        pawl_status rc = session_fetch(t->session, r->id.ptr, 0, v->mem, &info, &err);
        if (rc == PAWL_OK)
            describe(v, r, &info);
        else if (rc == PAWL_NOT_FOUND)
            r->asked = true; /* it was removed: the stream says so */
        else if (!fail(t, &err))
            return;
    }
}

/* ---- All of it -------------------------------------------------------------------------------- */

bool top_read(struct top *t)
{
    pawl_mem *mem = pawl_mem_new();
    struct top_view *v = pawl_mem_alloc(mem, sizeof(*v));
    *v = (struct top_view){.mem = mem};
    bool ok = t->session->remote ? read_overview(t, v) && read_series(t, v) && read_queues(t, v)
                                 : read_store(t, v);
    if (!ok || !read_rows(t, v)) {
        pawl_mem_free(mem);
        return false;
    }
    v->known = true;
    pawl_mem *before = t->view.mem;
    t->view = *v;
    pawl_mem_free(before);
    t->gone = false;
    return true;
}

bool top_read_instance(struct top *t)
{
    pawl_error err;
    pawl_str why, timeline;
    pawl_mem *mem = pawl_mem_new();
    if (views_why(t->session, t->open_id, mem, &why, &err) != PAWL_OK ||
        views_timeline(t->session, t->open_id, 0, mem, &timeline, &err) != PAWL_OK) {
        pawl_mem_free(mem);
        if (err.status != PAWL_NOT_FOUND)
            return fail(t, &err);
        t->page = TOP_MAIN;
        top_say(t, true, "%s", err.text);
        return true;
    }
    struct paper p;
    paper_open(&p, t->cli, mem, t->screen.columns);
    paper_flow(&p, TONE_NONE, pawl_json_text(mem, why, "/sentence", ""), 0);
    paper_line(&p);
    bars_draw(&p, timeline);
    paper_close(&t->open);
    pawl_mem_free(t->open_mem);
    t->open = p;
    t->open_mem = mem;
    t->why = why;
    t->open_ms = top_now_ms(t);
    t->gone = false;
    return true;
}
