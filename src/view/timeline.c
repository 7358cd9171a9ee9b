/* SPDX-License-Identifier: MIT */
/* view/timeline.c -- see timeline.h: events become bars, and attempts become spans. */
#include "view/timeline.h"

#include "base/result.h"
#include "tables/awaitables.h"

#include <math.h>
#include <string.h>

#define PIECE_FIRST 8         /* events read at first: each may be megabytes */
#define PIECE_MAX   1000      /* events read at once */
#define PIECE_BYTES (1 << 20) /* of payloads read at once, about */
#define KEY_MAX     65536     /* bytes of a kind and a name */
#define INITIAL_MS  1000      /* of a policy that does not say */
#define CAP_MS      60000
#define FACTOR      2.0
#define POLICY_MAX  4096               /* bytes of a policy that is looked at */
#define MS_MAX      (INT64_C(1) << 52) /* times are kept below it, so that sums of them are times */

void timeline_begin(struct timeline *t, pawl_mem *mem)
{
    *t = (struct timeline){.mem = mem};
    map_init(&t->by_ref);
    map_init(&t->by_name);
    buf_init(&t->key, KEY_MAX);
}

void timeline_end(struct timeline *t)
{
    map_deinit(&t->by_ref);
    map_deinit(&t->by_name);
    buf_deinit(&t->key);
}

/* A recorded time. */
static int64_t moment(int64_t ms)
{
    return ms < 0 ? 0 : ms < MS_MAX ? ms : MS_MAX;
}

static int64_t moment_in(pawl_str attrs, const char *pointer)
{
    return moment(pawl_json_int(attrs, pointer, 0));
}

/* ---- Names --------------------------------------------------------------------------- */

static struct timeline_name *add_name(struct timeline *t, const char *kind, pawl_str name)
{
    struct timeline_name *n = pawl_mem_alloc(t->mem, sizeof(*n));
    *n = (struct timeline_name){.kind = kind, .name = pawl_mem_dup(t->mem, name)};
    *list_add(t->mem, &t->names) = n;
    return n;
}

static struct timeline_name *name_of(struct timeline *t, const char *kind, pawl_str name)
{
    buf_reset(&t->key);
    buf_puts(&t->key, kind);
    buf_putc(&t->key, ' ');
    buf_str(&t->key, name);
    pawl_str key = buf_slice(&t->key);
    struct timeline_name *n = map_gets(&t->by_name, key);
    if (!n && t->names.count < TIMELINE_NAMES) {
        n = add_name(t, kind, name);
        if (!map_puts(&t->by_name, pawl_mem_dup(t->mem, key), n))
            n = NULL; /* out of memory: among the further ones */
    }
    if (n)
        return n;
    struct timeline_name *last = t->names.count ? t->names.items[t->names.count - 1] : NULL;
    return last && strcmp(last->kind, "mixed") == 0 ? last : add_name(t, "mixed", (pawl_str){0});
}

/* ---- Bars ----------------------------------------------------------------------------- */

/* The beginning of a text, ending with a whole character. */
static pawl_str keep_text(struct timeline *t, pawl_str text)
{
    if (text.len > TIMELINE_TEXT) {
        text.len = TIMELINE_TEXT;
        while (text.len && (text.ptr[text.len] & 0xC0) == 0x80)
            text.len--;
    }
    return text.len ? pawl_mem_dup(t->mem, text) : (pawl_str){0};
}

static struct timeline_bar *add_bar(struct timeline *t, const char *kind,
                                    const pawl_history_event *e)
{
    if (t->bars.count == TIMELINE_BARS_MAX) {
        t->uncounted++;
        return NULL;
    }
    struct timeline_bar *b = list_add(t->mem, &t->bars);
    bool timer = strcmp(kind, "timer") == 0;
    b->of = name_of(t, kind, !timer ? e->name : (pawl_str){0});
    b->of->count++;
    b->outcome = "open";
    b->ref = e->ref;
    b->seq = e->seq;
    b->at_ms = moment(e->at_ms);
    b->attempts = 1;
    b->due_ms = timer ? moment_in(e->attrs, "/fire_at_ms") : 0;
    if (t->bars.count > TIMELINE_STEPS)
        return b;
    b->more = pawl_mem_alloc(t->mem, sizeof(*b->more));
    *b->more = (struct timeline_detail){.child = pawl_json_text(t->mem, e->attrs, "/instance", "")};
    if (strcmp(kind, "activity") == 0 && e->attrs.len <= POLICY_MAX)
        b->more->policy = pawl_mem_dup(t->mem, e->attrs);
    return b;
}

static void open_bar(struct timeline *t, int kind, const pawl_history_event *e)
{
    if (add_bar(t, awaitable_word(kind), e))
        (void)map_put(&t->by_ref, e->ref, (void *)(uintptr_t)t->bars.count);
}

/* A step that is decided and done at once. */
static void add_moment(struct timeline *t, const char *kind, const pawl_history_event *e)
{
    struct timeline_bar *b = add_bar(t, kind, e);
    if (!b)
        return;
    b->ref = 0;
    b->outcome = pawl_json_get(e->attrs, "/refused").len ? "failed" : "done";
    b->ended_ms = b->at_ms;
    b->end_seq = e->seq;
}

static struct timeline_bar *open_bar_of(const struct timeline *t, uint64_t ref)
{
    uintptr_t at = (uintptr_t)map_get(&t->by_ref, ref);
    struct timeline_bar *b = at ? &t->bars.items[at - 1] : NULL;
    return b && strcmp(b->outcome, "open") == 0 ? b : NULL;
}

static void close_bar(struct timeline *t, int kind, const char *outcome,
                      const pawl_history_event *e)
{
    struct timeline_bar *b = open_bar_of(t, e->ref);
    if (!b) /* it was cancelled, but ended by itself */
        return;
    b->outcome = outcome;
    b->ended_ms = moment(e->at_ms) > b->at_ms ? moment(e->at_ms) : b->at_ms;
    b->end_seq = e->seq;
    if (kind == PAWL_EV_ACTIVITY_COMPLETED || kind == PAWL_EV_ACTIVITY_FAILED) {
        b->attempts = result_of_event(kind, e->attrs).attempts;
        b->started_ms = moment_in(e->attrs, "/started_ms");
    }
    if (!b->more)
        return;
    b->more->worker = pawl_json_text(t->mem, e->attrs, "/worker", "");
    b->more->tries = pawl_mem_dup(t->mem, pawl_json_get(e->attrs, "/tries"));
    if (strcmp(outcome, "failed") == 0)
        b->more->error = keep_text(t, e->data);
}

/* How the event ends its task; NULL: it does not. */
static const char *outcome_of(int kind)
{
#define OUTCOME(word, shown, schedule, done, failed, cancel, ...)                                  \
    if (kind == (done))                                                                            \
        return "done";                                                                             \
    if ((failed) && kind == (failed))                                                              \
        return "failed";                                                                           \
    if (kind == (cancel))                                                                          \
        return "cancelled";
    AWAITABLES(OUTCOME)
#undef OUTCOME
    return NULL;
}

static bool ends_run(int kind)
{
    return kind == PAWL_EV_ORCHESTRATION_COMPLETED || kind == PAWL_EV_ORCHESTRATION_FAILED ||
           kind == PAWL_EV_ORCHESTRATION_CONTINUED_AS_NEW ||
           kind == PAWL_EV_ORCHESTRATION_CANCELLED || kind == PAWL_EV_ORCHESTRATION_TERMINATED;
}

void timeline_add(struct timeline *t, const pawl_history_event *e)
{
    int kind = pawl_event_kind_of(pawl_s(e->kind));
    const char *outcome = outcome_of(kind);
    if (!t->start_ms)
        t->start_ms = moment(e->at_ms);
    t->last_seq = e->seq;
    if (awaitable_opens(kind))
        open_bar(t, kind, e);
    else if (outcome)
        close_bar(t, kind, outcome, e);
    else if (kind == PAWL_EV_QUEUE_PUSHED)
        add_moment(t, "queue", e);
    else if (kind == PAWL_EV_ORCHESTRATION_CHAINED)
        add_moment(t, "detached", e);
    else if (ends_run(kind))
        t->end_ms = moment(e->at_ms);
}

void timeline_waits(struct timeline *t, const pawl_info *info)
{
    t->info = *info;
    for (size_t i = 0; i < info->waiting_count; i++) {
        const pawl_waiting *waits = &info->waiting[i];
        struct timeline_bar *b = open_bar_of(t, waits->id);
        if (!b || strcmp(b->of->kind, "activity") != 0)
            continue;
        b->attempts = waits->attempt ? waits->attempt : 1;
        b->started_ms = moment(waits->started_ms);
        b->due_ms = moment(waits->due_ms);
        b->running = waits->running;
        b->waits = !waits->running;
        if (!b->more)
            continue;
        b->more->worker = waits->worker;
        b->more->error = keep_text(t, waits->last_error);
        b->more->tries = waits->tries;
    }
}

void timeline_finish(struct timeline *t, int64_t now_ms)
{
    if (!t->start_ms)
        t->start_ms = t->info.created_ms ? t->info.created_ms : now_ms;
    t->now_ms = now_ms;
    t->to_ms = t->end_ms ? t->end_ms : now_ms;
    if (t->to_ms <= t->start_ms)
        t->to_ms = t->start_ms + 1;
    for (size_t i = 0; i < t->bars.count && t->end_ms; i++) {
        struct timeline_bar *b = &t->bars.items[i];
        if (strcmp(b->outcome, "open") != 0)
            continue;
        b->outcome = "cancelled"; /* no code waits for it any more */
        b->ended_ms = t->end_ms;
    }
    timeline_scale(t);
}

/* ---- Reading -------------------------------------------------------------------------- */

static uint32_t next_piece(const pawl_history *page)
{
    size_t bytes = 1;
    for (size_t i = 0; i < page->count; i++)
        bytes += page->events[i].data.len + page->events[i].attrs.len;
    size_t fit = page->count ? PIECE_BYTES / (bytes / page->count + 1) + 1 : PIECE_FIRST;
    return fit < PIECE_MAX ? (uint32_t)fit : PIECE_MAX;
}

pawl_status timeline_gather(struct timeline *t, pawl_client *client, const char *id,
                            uint64_t execution, pawl_error *reterr)
{
    pawl_info info = {0};
    pawl_status rc = pawl_client_get(client, id, execution, t->mem, &info, reterr);
    pawl_history page = {0};
    uint32_t piece = PIECE_FIRST;
    pawl_mem *scratch = pawl_mem_new();
    t->execution = info.execution;
    while (rc == PAWL_OK) {
        pawl_mem_reset(scratch);
        rc =
            pawl_client_history(client, id, t->execution, page.next, piece, scratch, &page, reterr);
        for (size_t i = 0; rc == PAWL_OK && i < page.count; i++)
            timeline_add(t, &page.events[i]);
        if (rc != PAWL_OK || !page.next)
            break;
        piece = next_piece(&page);
    }
    pawl_mem_free(scratch);
    if (rc == PAWL_OK)
        timeline_waits(t, &info);
    return rc;
}

/* ---- Attempts -------------------------------------------------------------------------- */

/* Those that were told, at most the last eight that failed. */
static size_t told_tries(const struct timeline *t, const struct timeline_bar *b,
                         struct timeline_try out[TIMELINE_TRIES])
{
    size_t n = 0;
    pawl_json_iter it = pawl_json_each(b->more->tries, "");
    while (n + 1 < TIMELINE_TRIES && pawl_json_next(&it)) {
        int64_t to = moment_in(it.value, "/to"),
                from = moment(pawl_json_int(it.value, "/from", to));
        struct timeline_try *at = &out[n++];
        *at = (struct timeline_try){.n = (uint32_t)pawl_json_int(it.value, "/n", 0),
                                    .from_ms = from < to ? from : to,
                                    .to_ms = to,
                                    .worker = pawl_json_text(t->mem, it.value, "/worker", ""),
                                    .error = pawl_json_text(t->mem, it.value, "/error", "")};
    }
    return n;
}

/* The attempt that ended the task, or that goes on. */
static size_t last_try(const struct timeline *t, const struct timeline_bar *b,
                       struct timeline_try *out, int64_t after_ms)
{
    int64_t end = b->ended_ms ? b->ended_ms : t->now_ms, from = b->started_ms;
    if (!from)
        from = b->due_ms > after_ms ? b->due_ms : after_ms;
    if (!b->ended_ms && from > t->now_ms)
        return 0;
    *out = (struct timeline_try){.n = b->attempts,
                                 .from_ms = from < end ? from : end,
                                 .to_ms = end,
                                 .worker = b->more->worker,
                                 .last = true};
    if (strcmp(b->outcome, "failed") == 0)
        out->error = b->more->error;
    return 1;
}

/* The wait after attempt `n` (1, 2 …), as its policy has it. */
static double back_off(pawl_str policy, uint32_t n)
{
    double delay = (double)pawl_json_int(policy, "/initial_ms", INITIAL_MS);
    double cap = (double)pawl_json_int(policy, "/cap_ms", CAP_MS);
    double factor = pawl_json_number(policy, "/factor", FACTOR);
    pawl_str kind = pawl_json_get(policy, "/backoff");
    if (pawl_str_is(kind, "\"linear\""))
        delay *= n;
    else if (!pawl_str_is(kind, "\"fixed\""))
        delay *= pow(factor, n - 1);
    return delay < cap ? delay < 0 ? 0 : delay : cap;
}

/* None was told: all alike, with the waits of the policy between them. */
static size_t estimated_tries(const struct timeline *t, const struct timeline_bar *b,
                              struct timeline_try out[TIMELINE_TRIES])
{
    bool backing = b->waits && b->due_ms > t->now_ms;
    int64_t end = b->ended_ms ? b->ended_ms : t->now_ms;
    double span = fmax(0, (double)((backing ? b->due_ms : end) - b->at_ms)), sum = 0, from = 0;
    size_t made = backing ? b->attempts - 1 : b->attempts;
    for (uint32_t n = 1; n < b->attempts; n++)
        sum += back_off(b->more->policy, n);
    double each = span > sum ? (span - sum) / (double)made : 0,
           shrink = span < sum ? span / sum : 1;
    for (uint32_t n = 1; n <= made; n++) {
        out[n - 1] = (struct timeline_try){.n = n,
                                           .from_ms = b->at_ms + (int64_t)from,
                                           .to_ms = b->at_ms + (int64_t)(from + each),
                                           .estimated = true,
                                           .last = n == b->attempts};
        from += each + back_off(b->more->policy, n) * shrink;
    }
    if (made && made == b->attempts && strcmp(b->outcome, "failed") == 0)
        out[made - 1].error = b->more->error;
    return made;
}

size_t timeline_tries(const struct timeline *t, const struct timeline_bar *b,
                      struct timeline_try out[TIMELINE_TRIES])
{
    if (!b->more || b->attempts < 2 || strcmp(b->of->kind, "activity") != 0)
        return 0;
    size_t n = told_tries(t, b, out);
    if (n)
        return n + last_try(t, b, &out[n], out[n - 1].to_ms);
    if (b->attempts <= TIMELINE_TRIES)
        return estimated_tries(t, b, out);
    return b->started_ms ? last_try(t, b, out, b->at_ms) : 0;
}
