/* SPDX-License-Identifier: MIT */
/*
 * cli/bars.c -- see bars.h.
 *
 * A line is a label, a strip of cells, and a remark.  The strip is an array of glyphs that is filled
 * from back to front: the mark of a cut, then waiting, then work, then how it ended.
 */
#include "cli/bars.h"

#include "view/timeline.h"
#include "view/units.h"

#include <stdlib.h>
#include <string.h>

#define STRIP_MAX   1024 /* cells; a terminal that is wider has a margin */
#define PARTS_MAX   64
#define NOTES_MAX   20
#define LABEL_LEAST 8

/* X(name, as UTF-8, as ASCII, what the legend says; NULL: nothing) */
#define GLYPHS(X)                                                                                  \
    X(NONE, " ", " ", NULL)                                                                        \
    X(CUT, "┊", "~", "quiet time, cut")                                                            \
    X(WORK, "█", "#", "runs")                                                                      \
    X(QUEUED, "░", ":", "queued")                                                                  \
    X(TRY, "▒", "%", "failed try")                                                                 \
    X(PAUSE, "·", ".", "tried again later")                                                        \
    X(TIMER, "─", "-", "timer")                                                                    \
    X(FIRED, "┤", "|", NULL)                                                                       \
    X(EVENT, "┄", "_", "waits for an event")                                                       \
    X(CAME, "◆", "*", NULL)                                                                        \
    X(CHILD, "═", "=", "child")                                                                    \
    X(FAILED, "✗", "x", "failed")                                                                  \
    X(SKY_1, "▁", "1", "how many are open")                                                        \
    X(SKY_2, "▂", "2", NULL)                                                                       \
    X(SKY_3, "▃", "3", NULL)                                                                       \
    X(SKY_4, "▄", "4", NULL)                                                                       \
    X(SKY_5, "▅", "5", NULL)                                                                       \
    X(SKY_6, "▆", "6", NULL)                                                                       \
    X(SKY_7, "▇", "7", NULL)                                                                       \
    X(SKY_8, "█", "8", NULL)

enum glyph {
#define GLYPH_ENUM(name, utf8, ascii, legend) GLYPH_##name,
    GLYPHS(GLYPH_ENUM)
#undef GLYPH_ENUM
        GLYPH_COUNT
};

static const char *const glyphs[][3] = {
#define GLYPH_ROW(name, utf8, ascii, legend) {utf8, ascii, legend},
    GLYPHS(GLYPH_ROW)
#undef GLYPH_ROW
};

struct cell {
    unsigned char glyph, tone;
};

/* A drawing in the making. */
struct bars {
    struct paper *p;
    pawl_str doc;
    struct timeline_part parts[PARTS_MAX];
    size_t part_count;
    int64_t from_ms, now_ms, to_ms;
    unsigned label, width, remark; /* columns: of the label, the strip, the remark */
    struct cell strip[STRIP_MAX];
    bool used[GLYPH_COUNT];
    unsigned notes, notes_left; /* about attempts: written, and not written */
};

/* ---- Reading ------------------------------------------------------------------------------ */

#define MS_MAX (INT64_C(1) << 52)

/* A time or a duration, clamped so that sums and differences do not overflow. */
static int64_t ms_of(pawl_str json, const char *pointer, int64_t otherwise)
{
    int64_t ms = pawl_json_int(json, pointer, otherwise);
    return ms < -MS_MAX ? -MS_MAX : ms > MS_MAX ? MS_MAX : ms;
}

static double place_in(pawl_str json, const char *pointer)
{
    double place = pawl_json_number(json, pointer, 0);
    return place > 0 ? place < 1 ? place : 1 : 0;
}

/* ---- The strip ---------------------------------------------------------------------------- */

static unsigned column_of(const struct bars *b, int64_t ms)
{
    double place = timeline_place(b->parts, b->part_count, ms) * b->width;
    return place < 0 ? 0 : place >= b->width ? b->width - 1 : (unsigned)place;
}

static void fill(struct bars *b, unsigned from, unsigned to, enum glyph glyph, enum tone tone)
{
    for (unsigned i = from; i <= to && i < b->width; i++)
        b->strip[i] = (struct cell){(unsigned char)glyph, (unsigned char)tone};
    b->used[glyph] = true;
}

/* The last column of what ends at `to`: the next step may begin in the column of that time. */
static unsigned last_of(const struct bars *b, int64_t from, int64_t to)
{
    unsigned first = column_of(b, from), next = column_of(b, to);
    return next > first ? next - 1 : first;
}

static void span(struct bars *b, int64_t from, int64_t to, enum glyph glyph, enum tone tone)
{
    fill(b, column_of(b, from), last_of(b, from, to), glyph, tone);
}

static void clear_strip(struct bars *b)
{
    memset(b->strip, 0, sizeof(b->strip));
    for (size_t i = 0; i < b->part_count; i++)
        if (b->parts[i].cut) {
            double middle = (b->parts[i].at + b->parts[i].until) / 2 * b->width;
            fill(b, (unsigned)middle, (unsigned)middle, GLYPH_CUT, TONE_DIM);
        }
}

static void put_strip(struct bars *b)
{
    bool ascii = !out_is_utf8();
    for (unsigned from = 0, to; from < b->width; from = to) {
        char text[STRIP_MAX * 3 + 1] = "", *at = text;
        enum tone tone = (enum tone)b->strip[from].tone;
        for (to = from; to < b->width && (enum tone)b->strip[to].tone == tone; to++)
            at = stpcpy(at, glyphs[b->strip[to].glyph][ascii]);
        paper_put(b->p, tone, pawl_s(text));
    }
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* One bar as the document has it. */
struct drawn_step {
    pawl_str json, kind, name, outcome;
    int64_t at, started, ended, due, attempts;
    bool running, known; /* known: whether it runs */
};

static struct drawn_step read_step(struct bars *b, pawl_str json)
{
    pawl_mem *mem = b->p->mem;
    struct drawn_step s = {.json = json,
                           .kind = pawl_json_text(mem, json, "/kind", ""),
                           .name = pawl_json_text(mem, json, "/name", ""),
                           .outcome = pawl_json_text(mem, json, "/outcome", ""),
                           .at = ms_of(json, "/scheduled_at", 0),
                           .started = ms_of(json, "/started_at", 0),
                           .ended = ms_of(json, "/ended_at", 0),
                           .due = ms_of(json, "/due_at", 0),
                           .attempts = pawl_json_int(json, "/attempts", 1),
                           .running = pawl_json_bool(json, "/running", false),
                           .known = pawl_json_get(json, "/running").ptr != NULL};
    return s;
}

static bool is_open(const struct drawn_step *s)
{
    return pawl_str_is(s->outcome, "open");
}

static enum tone tone_of(const struct drawn_step *s)
{
    return pawl_str_is(s->outcome, "done")     ? TONE_GREEN
           : pawl_str_is(s->outcome, "failed") ? TONE_RED
           : is_open(s)                        ? TONE_BLUE
                                               : TONE_DIM;
}

static void draw_tries(struct bars *b, const struct drawn_step *s, int64_t end)
{
    span(b, s->at, end, GLYPH_PAUSE, TONE_DIM);
    pawl_json_iter it = pawl_json_each(s->json, "/tries");
    while (pawl_json_next(&it)) {
        bool last = pawl_json_bool(it.value, "/last", false),
             guess = pawl_json_bool(it.value, "/estimated", false);
        span(b, ms_of(it.value, "/from", 0), ms_of(it.value, "/to", 0),
             last ? GLYPH_WORK : GLYPH_TRY,
             last    ? tone_of(s)
             : guess ? TONE_DIM
                     : TONE_RED);
    }
}

static void draw_activity(struct bars *b, const struct drawn_step *s, int64_t end)
{
    if (pawl_json_count(s->json, "/tries") > 0) {
        draw_tries(b, s, end);
    } else if (is_open(s) && s->known && !s->running) {
        span(b, s->at, end, GLYPH_QUEUED, TONE_DIM);
    } else {
        if (s->started > s->at)
            span(b, s->at, s->started, GLYPH_QUEUED, TONE_DIM);
        span(b, s->started > s->at ? s->started : s->at, end, GLYPH_WORK, tone_of(s));
    }
}

static void draw_step(struct bars *b, const struct drawn_step *s)
{
    int64_t end = s->ended ? s->ended : b->now_ms;
    unsigned last = last_of(b, s->at, end);
    bool done = pawl_str_is(s->outcome, "done");
    clear_strip(b);
    if (pawl_str_is(s->kind, "activity")) {
        draw_activity(b, s, end);
    } else if (pawl_str_is(s->kind, "timer")) {
        span(b, s->at, end, GLYPH_TIMER, tone_of(s));
        if (done)
            fill(b, last, last, GLYPH_FIRED, tone_of(s));
    } else if (pawl_str_is(s->kind, "event") || pawl_str_is(s->kind, "update")) {
        span(b, s->at, end, GLYPH_EVENT, tone_of(s));
        if (done)
            fill(b, last, last, GLYPH_CAME, tone_of(s));
    } else if (pawl_str_is(s->kind, "child")) {
        span(b, s->at, end, GLYPH_CHILD, tone_of(s));
    } else {
        fill(b, last, last, GLYPH_CAME, tone_of(s));
    }
    if (pawl_str_is(s->outcome, "failed"))
        fill(b, last, last, GLYPH_FAILED, TONE_RED);
}

/* "event Review"; a timer has no name. */
static pawl_str label_of(struct bars *b, pawl_str kind, pawl_str name)
{
    if (pawl_str_is(kind, "activity"))
        return name;
    return pawl_mem_printf(b->p->mem, "%.*s%s%.*s", PAWL_FMT(kind), name.len ? " " : "",
                           PAWL_FMT(name));
}

/* How long it took, or what is to come. */
static pawl_str remark_of(struct bars *b, const struct drawn_step *s)
{
    char took[UNITS_BYTES], due[UNITS_BYTES];
    bool activity = pawl_str_is(s->kind, "activity"), later = s->due > b->now_ms;
    const char *word = !is_open(s) ? pawl_str_is(s->outcome, "done") ? "" : s->outcome.ptr
                       : activity && s->known && !s->running ? "queued"
                                                             : "open";
    format_duration(took, (s->ended ? s->ended : b->now_ms) - s->at);
    format_duration(due, s->due - b->now_ms);
    pawl_mem *mem = b->p->mem;
    pawl_str tries = s->attempts > 1 ? pawl_mem_printf(mem, "%lld tries ", (long long)s->attempts)
                                     : (pawl_str){"", 0};
    if (is_open(s) && later && !s->running)
        return pawl_mem_printf(mem, "%.*s%s in %s", PAWL_FMT(tries), activity ? "again" : "fires",
                               due);
    return pawl_mem_printf(mem, "%.*s%s%s%s", PAWL_FMT(tries), word, word[0] ? " " : "", took);
}

static void put_row(struct bars *b, enum tone tone, pawl_str label, pawl_str remark)
{
    struct paper *p = b->p;
    paper_cell(p, tone, label, b->label);
    paper_to(p, b->label + 1);
    put_strip(b);
    paper_to(p, b->label + 1 + b->width + 1);
    paper_put(p, TONE_DIM, remark);
    paper_line(p);
}

static void put_step(struct bars *b, const struct drawn_step *s)
{
    draw_step(b, s);
    put_row(b, pawl_str_is(s->outcome, "failed") ? TONE_RED : TONE_NONE,
            label_of(b, s->kind, s->name), remark_of(b, s));
}

/* ---- Rows by name ---------------------------------------------------------------------------- */

static pawl_str name_label(struct bars *b, pawl_str json)
{
    char count[UNITS_BYTES];
    pawl_mem *mem = b->p->mem;
    pawl_str kind = pawl_json_text(mem, json, "/kind", ""),
             name = pawl_json_text(mem, json, "/name", "");
    int64_t n = pawl_json_int(json, "/count", 0);
    return pawl_mem_printf(mem, "%.*s x%s", PAWL_FMT(label_of(b, kind, name)),
                           format_count(count, n > 0 ? (uint64_t)n : 0));
}

static pawl_str name_remark(struct bars *b, pawl_str json)
{
    char median[UNITS_BYTES], longest[UNITS_BYTES];
    int64_t failed = pawl_json_int(json, "/failed", 0), most = ms_of(json, "/longest_ms", -1);
    if (most < 0)
        return pawl_s("open");
    format_duration(median, ms_of(json, "/median_ms", 0));
    format_duration(longest, most);
    if (failed)
        return pawl_mem_printf(b->p->mem, "%lld failed, %s", (long long)failed, median);
    return pawl_mem_printf(b->p->mem, "%s to %s", median, longest);
}

static void put_name(struct bars *b, pawl_str json)
{
    int64_t sky[TIMELINE_SKYLINE] = {0}, most = pawl_json_int(json, "/most_at_once", 1);
    bool open = pawl_json_int(json, "/open", 0) > 0;
    pawl_json_iter it = pawl_json_each(json, "/skyline");
    for (size_t i = 0; i < TIMELINE_SKYLINE && pawl_json_next(&it); i++)
        sky[i] = pawl_json_int(it.value, "", 0);
    clear_strip(b);
    for (unsigned i = 0; i < b->width; i++) {
        int64_t n = sky[i * TIMELINE_SKYLINE / b->width];
        if (n <= 0 || most <= 0)
            continue;
        int64_t level = n >= most ? 7 : (int64_t)(((double)n * 8 - 0.5) / (double)most);
        fill(b, i, i, (enum glyph)(GLYPH_SKY_1 + level), open ? TONE_BLUE : TONE_GREEN);
    }
    for (it = pawl_json_each(json, "/failed_in"); pawl_json_next(&it);) {
        int64_t at = pawl_json_int(it.value, "", -1);
        if (at < 0 || at >= TIMELINE_SKYLINE)
            continue;
        unsigned column = (unsigned)at * b->width / TIMELINE_SKYLINE;
        fill(b, column, column, GLYPH_FAILED, TONE_RED);
    }
    b->used[GLYPH_SKY_1] = true;
    put_row(b, TONE_NONE, name_label(b, json), name_remark(b, json));
}

/* ---- Errors of attempts ------------------------------------------------------------------------ */

static void put_note(struct bars *b, const struct drawn_step *s, pawl_str json)
{
    char from[UNITS_BYTES], took[UNITS_BYTES];
    pawl_mem *mem = b->p->mem;
    int64_t at = ms_of(json, "/from", 0), to = ms_of(json, "/to", 0);
    pawl_str worker = pawl_json_text(mem, json, "/worker", ""),
             error = pawl_json_text(mem, json, "/error", "");
    if (!error.len)
        return;
    if (b->notes == NOTES_MAX) {
        b->notes_left++;
        return;
    }
    if (!b->notes++)
        paper_line(b->p);
    paper_putf(b->p, TONE_RED, "%.*s", PAWL_FMT(label_of(b, s->kind, s->name)));
    paper_putf(b->p, TONE_DIM,
               " try %lld at +%s, %s%s%.*s: ", (long long)pawl_json_int(json, "/n", 1),
               format_duration(from, at - b->from_ms), format_duration(took, to - at),
               worker.len ? ", " : "", PAWL_FMT(worker));
    paper_put(b->p, TONE_NONE, error);
    paper_line(b->p);
}

static void put_notes(struct bars *b)
{
    pawl_json_iter it = pawl_json_each(b->doc, "/bars");
    while (pawl_json_next(&it)) {
        struct drawn_step s = read_step(b, it.value);
        pawl_json_iter tries = pawl_json_each(it.value, "/tries");
        bool any = false;
        for (; pawl_json_next(&tries); any = true)
            put_note(b, &s, tries.value);
        if (any || !pawl_str_is(s.outcome, "failed"))
            continue;
        pawl_json *w = pawl_json_new(b->p->mem); /* the only attempt, as one of several */
        pawl_json_object(w);
        pawl_json_key(w, "from");
        pawl_json_num(w, s.started ? s.started : s.at);
        pawl_json_key(w, "to");
        pawl_json_num(w, s.ended);
        pawl_json_key(w, "error");
        pawl_json_str(w, pawl_json_text(b->p->mem, it.value, "/error", ""));
        pawl_json_end(w);
        put_note(b, &s, pawl_json_done(w));
    }
    if (b->notes_left) {
        paper_putf(b->p, TONE_DIM, "and %u more failed attempts", b->notes_left);
        paper_line(b->p);
    }
}

/* ---- All of it ------------------------------------------------------------------------------------ */

static void read_axis(struct bars *b)
{
    pawl_json_iter it = pawl_json_each(b->doc, "/axis");
    while (b->part_count < PARTS_MAX && pawl_json_next(&it))
        b->parts[b->part_count++] =
            (struct timeline_part){.from_ms = ms_of(it.value, "/from", 0),
                                   .to_ms = ms_of(it.value, "/to", 0),
                                   .at = place_in(it.value, "/at"),
                                   .until = place_in(it.value, "/until"),
                                   .cut = pawl_json_bool(it.value, "/cut", false)};
}

/* How wide labels and remarks are; the strip has what is left. */
static void measure(struct bars *b, bool grouped)
{
    unsigned label = LABEL_LEAST, remark = 0, width = b->p->width ? b->p->width : 80;
    pawl_json_iter it = pawl_json_each(b->doc, grouped ? "/names" : "/bars");
    while (pawl_json_next(&it)) {
        struct drawn_step s = read_step(b, it.value);
        pawl_str text = grouped ? name_label(b, it.value) : label_of(b, s.kind, s.name),
                 say = grouped ? name_remark(b, it.value) : remark_of(b, &s);
        unsigned l = out_columns(out_clean(b->p->mem, text)), r = out_columns(say);
        label = l > label ? l : label;
        remark = r > remark ? r : remark;
    }
    width = width < BARS_WIDTH_MIN ? BARS_WIDTH_MIN : width;
    b->label = label < width / 3 ? label : width / 3;
    b->remark = remark < width / 3 ? remark : width / 3;
    b->width = width - b->label - b->remark - 2;
    b->width = b->width < STRIP_MAX ? b->width : STRIP_MAX;
}

/* Where each part begins, as far as there is room, and how long all of it is. */
static void put_axis(struct bars *b)
{
    struct paper *p = b->p;
    unsigned begin = b->label + 1, next = begin;
    char text[UNITS_BYTES];
    for (size_t i = 0; i < b->part_count; i++) {
        const struct timeline_part *part = &b->parts[i];
        unsigned at = begin + (unsigned)(part->at * b->width);
        if (part->cut || at < next)
            continue;
        paper_to(p, at);
        paper_putf(p, TONE_DIM, "%s%s", i ? "+" : "",
                   i ? format_duration(text, part->from_ms - b->from_ms) : "0");
        next = p->at + 2;
    }
    format_duration(text, b->to_ms - b->from_ms);
    if (begin + b->width > p->at + strlen(text) + 2) {
        paper_to(p, begin + b->width - (unsigned)strlen(text));
        paper_putf(p, TONE_DIM, "%s", text);
    }
    paper_line(p);
}

static void put_legend(struct bars *b)
{
    bool ascii = !out_is_utf8();
    paper_line(b->p);
    for (int i = 0; i < GLYPH_COUNT; i++)
        if (b->used[i] && glyphs[i][2]) {
            if (b->p->width && b->p->at + strlen(glyphs[i][2]) + 4 > b->p->width)
                paper_line(b->p);
            paper_putf(b->p, TONE_DIM, "%s %s  ", glyphs[i][ascii], glyphs[i][2]);
        }
    paper_line(b->p);
}

void bars_draw(struct paper *p, pawl_str timeline)
{
    struct bars *b = calloc(1, sizeof(*b));
    assert_that(b);
    b->p = p;
    b->doc = timeline;
    b->from_ms = ms_of(timeline, "/from", 0);
    b->to_ms = ms_of(timeline, "/to", 0);
    b->now_ms = ms_of(timeline, "/ended_at", ms_of(timeline, "/now", 0));
    bool grouped = pawl_json_bool(timeline, "/grouped", false);
    read_axis(b);
    measure(b, grouped);
    put_axis(b);
    pawl_json_iter it = pawl_json_each(timeline, grouped ? "/names" : "/bars");
    while (pawl_json_next(&it)) {
        struct drawn_step s = read_step(b, it.value);
        if (grouped)
            put_name(b, it.value);
        else
            put_step(b, &s);
    }
    put_notes(b);
    put_legend(b);
    free(b);
}
