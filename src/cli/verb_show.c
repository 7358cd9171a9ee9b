/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_show.c -- show: what happened to an instance.
 *
 * Works beside a running owner.  --follow prints events as they come, over
 * continue-as-new, until the instance has ended.  --timeline draws its steps as bars.
 */
#include "cli/bars.h"
#include "cli/views.h"
#include "cli/watch.h"
#include "tables/instance_texts.h"
#include "view/render.h"
#include "view/schedule_view.h"
#include "view/units.h"

#include <string.h>

#define PAGE_MAX      1000
#define NAMES_MAX     100000
#define LOOK_FIRST_MS 20
#define LOOK_LAST_MS  500

static const struct table_column event_columns[] = {
    {.head = "SEQ",  .right = true},
    {.head = "AT",   .right = true, .spare = true},
    {.head = "EVENT"             },
    {.head = "REF",  .right = true            },
    {.head = "NAME", .flex = true},
    {.head = "DATA", .flex = true },
};

/* One history while it is printed. */
struct telling {
    struct cli *cli;
    struct table table;
    pawl_json *w; /* -o json */
    int64_t first_ms;
    pawl_str schedule; /* the schedule that started it, and its occurrence; empty: none */
    pawl_str *names;   /* of tasks, by ref - 1: completions do not repeat them */
    size_t name_cap;
};

static enum tone tone_of_event(const char *kind)
{
    size_t len = strlen(kind);
    if (len > 6 && strcmp(kind + len - 6, "Failed") == 0)
        return TONE_RED;
    if (len > 9 && strcmp(kind + len - 9, "Completed") == 0)
        return TONE_GREEN;
    return strstr(kind, "Cancel") || strstr(kind, "Terminated") ? TONE_YELLOW : TONE_NONE;
}

/* The name of an event, or of the task it belongs to. */
static pawl_str name_of(struct telling *t, const pawl_history_event *e)
{
    if (e->ref == 0 || e->ref > NAMES_MAX)
        return e->name;
    if (!e->name.len)
        return e->ref <= t->name_cap ? t->names[e->ref - 1] : e->name;
    if (e->ref > t->name_cap) {
        size_t cap = e->ref > t->name_cap * 2 ? e->ref + 64 : t->name_cap * 2;
        pawl_str *names = pawl_mem_alloc(t->cli->mem, cap * sizeof(*names));
        if (t->name_cap)
            memcpy(names, t->names, t->name_cap * sizeof(*names));
        t->names = names;
        t->name_cap = cap;
    }
    return t->names[e->ref - 1] = pawl_mem_dup(t->cli->mem, e->name);
}

static void note_schedule(struct telling *t, const pawl_history_event *e)
{
    pawl_mem *mem = t->cli->mem;
    char at[UNITS_BYTES];
    pawl_str name;
    int64_t at_ms;
    if (e->seq == 1 && view_scheduled(mem, e, &name, &at_ms))
        t->schedule = pawl_mem_printf(mem, "%.*s, for %s", PAWL_FMT(name), format_time(at, at_ms));
}

static void event_row(struct telling *t, const pawl_history_event *e)
{
    note_schedule(t, e);
    char text[UNITS_BYTES];
    if (!t->first_ms)
        t->first_ms = e->at_ms;
    table_putf(&t->table, TONE_DIM, "%llu", (unsigned long long)e->seq);
    table_putf(&t->table, TONE_DIM, "+%s", format_duration(text, e->at_ms - t->first_ms));
    table_putf(&t->table, tone_of_event(e->kind), "%s", e->kind);
    if (e->ref)
        table_putf(&t->table, TONE_NONE, "%llu", (unsigned long long)e->ref);
    else
        table_put(&t->table, pawl_s(""), TONE_NONE);
    table_put(&t->table, name_of(t, e), e->name.len ? TONE_NONE : TONE_DIM);
    bool shows_attrs = !e->data.len && strncmp(e->kind, "Timer", 5) == 0;
    table_put(&t->table, shows_attrs ? e->attrs : e->data, TONE_NONE);
}

/* Print one row.  The width of later rows is not known yet. */
static void event_line(struct telling *t, pawl_mem *mem, const pawl_history_event *e)
{
    char at[UNITS_BYTES], ref[24] = "";
    unsigned width = out_width();
    if (!t->first_ms)
        t->first_ms = e->at_ms;
    if (e->ref)
        (void)snprintf(ref, sizeof(ref), "%llu", (unsigned long long)e->ref);
    bool shows_attrs = !e->data.len && strncmp(e->kind, "Timer", 5) == 0;
    pawl_str data = shows_attrs ? e->attrs : e->data;
    if (width && data.len > 4096)
        data.len = 4096;
    pawl_str row = pawl_mem_printf(
        mem, "%5llu  +%-9s %-28s %4s  %-20s %s", (unsigned long long)e->seq,
        format_duration(at, e->at_ms - t->first_ms), out_clean(mem, pawl_s(e->kind)).ptr, ref,
        out_clean(mem, name_of(t, e)).ptr, out_clean(mem, data).ptr);
    row = width ? out_cut(mem, row, width) : row;
    const char *begin = out_begin(t->cli, stdout, tone_of_event(e->kind));
    out_line("%s%.*s%s", begin, PAWL_FMT(row), begin[0] ? out_end(t->cli, stdout) : "");
}

static void tell_one(struct telling *t, pawl_mem *mem, const pawl_history_event *e)
{
    switch ((enum cli_output)t->cli->args.output) {
    case OUTPUT_TABLE:
        if (t->cli->args.follow)
            event_line(t, mem, e);
        else
            event_row(t, e);
        return;
    case OUTPUT_IDS:
        printf("%llu\n", (unsigned long long)e->seq);
        return;
    case OUTPUT_JSON:
    case OUTPUT_JSONL:
        break;
    }
    pawl_json *w = t->w ? t->w : pawl_json_new(mem);
    render_event(w, t->w ? t->cli->mem : mem, e);
    if (!t->w)
        out_json(t->cli, w);
}

/* Print the events after *after, at most *left of them; 0 or an exit status. */
static int tell_pages(struct telling *t, struct session *session, uint64_t execution,
                      uint64_t *after, uint64_t *left, bool *retmore)
{
    pawl_mem *mem = pawl_mem_new();
    pawl_history page = {0};
    int status = 0;
    do {
        uint32_t want = *left < PAGE_MAX ? (uint32_t)*left : PAGE_MAX;
        pawl_error err;
        pawl_mem_reset(mem);
        if (session_history(session, t->cli->words[0], execution, *after, want, mem, &page, &err) !=
            PAWL_OK) {
            status = cli_fail_error(t->cli, &err);
            break;
        }
        for (size_t i = 0; i < page.count; i++) {
            tell_one(t, mem, &page.events[i]);
            *after = page.events[i].seq;
        }
        *left -= page.count < *left ? page.count : *left;
    } while (page.next && *left);
    *retmore = page.next != 0;
    pawl_mem_free(mem);
    return status;
}

static void print_field(const struct cli *cli, const char *name, pawl_str value)
{
    if (!value.len)
        return;
    unsigned width = out_width();
    pawl_str clean = out_clean(cli->mem, value);
    pawl_str shown = width > 20 ? out_cut(cli->mem, clean, width - 15) : clean;
    printf("%s%-14s%s %.*s\n", out_begin(cli, stdout, TONE_DIM), name, out_end(cli, stdout),
           PAWL_FMT(shown));
}

static void print_head(const struct cli *cli, const pawl_info *info, pawl_str schedule)
{
    char created[UNITS_BYTES], updated[UNITS_BYTES];
    enum tone tone = tone_of_state(info->state);
    print_field(cli, "instance", info->instance);
    printf("%s%-14s%s %s%s%s\n", out_begin(cli, stdout, TONE_DIM), "status", out_end(cli, stdout),
           out_begin(cli, stdout, tone), pawl_state_name(info->state), out_end(cli, stdout));
    print_field(cli, "orchestration",
                pawl_mem_printf(cli->mem, "%.*s %.*s", PAWL_FMT(info->orchestration),
                                PAWL_FMT(info->version)));
    print_field(cli, "execution",
                pawl_mem_printf(cli->mem, "%llu", (unsigned long long)info->execution));
    print_field(cli, "parent", info->parent);
    print_field(cli, "schedule", schedule);
    print_field(cli, "created", pawl_s(format_time(created, info->created_ms)));
    print_field(cli, "updated", pawl_s(format_time(updated, info->updated_ms)));
    if (info->deadline_ms)
        print_field(cli, "deadline", pawl_s(format_time(created, info->deadline_ms)));
    if (info->start_ms)
        print_field(cli, "starts", pawl_s(format_time(updated, info->start_ms)));
    print_field(cli, "input", info->input);
    print_field(cli, "output", info->output);
    print_field(cli, "error", info->error);
#define PRINT(field, as, presence, label, ...) print_field(cli, label, info->field);
    INSTANCE_TEXTS(PRINT)
#undef PRINT
    putchar('\n');
}

static void begin_telling(struct telling *t, struct cli *cli, const pawl_info *info)
{
    *t = (struct telling){.cli = cli};
    table_init(&t->table, cli, event_columns, COUNT_OF(event_columns));
    if (cli->args.output != OUTPUT_JSON)
        return;
    t->w = pawl_json_new(cli->mem);
    pawl_json_object(t->w);
    render_instance_members(t->w, cli->mem, info);
    pawl_json_key(t->w, "events");
    pawl_json_array(t->w);
}

static void end_telling(struct telling *t, const pawl_info *info, uint64_t next)
{
    if (t->w) {
        pawl_json_end(t->w);
        render_number(t->w, "next", (int64_t)next);
        pawl_json_end(t->w);
        out_json(t->cli, t->w);
    } else if (t->cli->args.output == OUTPUT_TABLE) {
        print_head(t->cli, info, t->schedule);
        table_print(&t->table);
    }
    if (next && !t->w)
        cli_note(t->cli, "there is more: --after-seq %llu", (unsigned long long)next);
}

/* ---- As it comes ------------------------------------------------------------------- */

static int follow_until(struct telling *t, struct session *session, struct watch *watch,
                        uint64_t execution)
{
    struct args *a = &t->cli->args;
    uint64_t after = a->after_seq, left = a->limit ? a->limit : UINT64_MAX;
    int64_t pause = LOOK_FIRST_MS;
    pawl_mem *mem = pawl_mem_new();
    int status = 0;
    while (!status && left && !ferror(stdout)) {
        pawl_info info;
        pawl_error err;
        bool more;
        uint64_t before = after;
        int signal_number;
        pawl_mem_reset(mem); /* first the state, then the events: none is missed at the end */
        if (session_fetch(session, t->cli->words[0], a->execution, mem, &info, &err) != PAWL_OK) {
            status = cli_fail_error(t->cli, &err);
            break;
        }
        status = tell_pages(t, session, execution, &after, &left, &more);
        fflush(stdout);
        if (status || (info.execution == execution && pawl_state_is_terminal(info.state)))
            break;
        if (info.execution > execution && !a->execution) {
            execution++;
            after = 0;
            t->name_cap = 0;
            continue;
        }
        pause = after != before            ? LOOK_FIRST_MS
                : pause * 2 < LOOK_LAST_MS ? pause * 2
                                           : LOOK_LAST_MS;
        if (watch_next(watch, pause, &signal_number) == WATCH_SIGNAL)
            status = EXIT_INTERRUPTED + signal_number;
    }
    pawl_mem_free(mem);
    return status;
}

static int follow(struct cli *cli, struct session *session, const pawl_info *info)
{
    struct telling telling;
    struct watch watch;
    if (cli->args.output == OUTPUT_JSON)
        return cli_fail(cli, EXIT_USAGE,
                        "--follow prints as it comes, and -o json is one document; use -o jsonl");
    int status = watch_open(&watch, cli);
    if (status)
        return status;
    begin_telling(&telling, cli, info);
    if (cli->args.output == OUTPUT_TABLE)
        print_head(cli, info, (pawl_str){0});
    status = follow_until(&telling, session, &watch, info->execution);
    watch_close(&watch);
    return status;
}

static int show(struct cli *cli, struct session *session, const pawl_info *info)
{
    struct telling telling;
    uint64_t after = cli->args.after_seq, left = cli->args.limit ? cli->args.limit : UINT64_MAX;
    bool more;
    begin_telling(&telling, cli, info);
    int status = tell_pages(&telling, session, cli->args.execution, &after, &left, &more);
    if (!status)
        end_telling(&telling, info, more ? after : 0);
    return status;
}

/* ---- As bars ------------------------------------------------------------------------ */

static void print_timeline(struct cli *cli, pawl_str doc)
{
    struct paper paper;
    char took[UNITS_BYTES], steps[UNITS_BYTES];
    unsigned width = out_width();
    int64_t count = pawl_json_int(doc, "/steps", 0);
    pawl_str status = pawl_json_text(cli->mem, doc, "/status", "");
    paper_open(&paper, cli, cli->mem, width ? width : 80);
    paper_putf(&paper, TONE_BOLD, "%s", cli->words[0]);
    paper_putf(
        &paper, TONE_NONE, " (%.*s %.*s) is %.*s: %s step%s in %s",
        PAWL_FMT(pawl_json_text(cli->mem, doc, "/orchestration", "")),
        PAWL_FMT(pawl_json_text(cli->mem, doc, "/version", "")), PAWL_FMT(status),
        format_count(steps, count > 0 ? (uint64_t)count : 0), count == 1 ? "" : "s",
        format_duration(took, pawl_json_int(doc, "/to", 0) - pawl_json_int(doc, "/from", 0)));
    paper_line(&paper);
    bars_draw(&paper, doc);
    (void)fwrite(paper.ink.ptr, 1, paper.ink.len, stdout);
    paper_close(&paper);
}

static int show_timeline(struct cli *cli, struct session *session)
{
    pawl_str doc;
    pawl_error err;
    if (views_timeline(session, cli->words[0], cli->args.execution, cli->mem, &doc, &err) !=
        PAWL_OK)
        return cli_fail_error(cli, &err);
    if (cli->args.output == OUTPUT_TABLE)
        print_timeline(cli, doc);
    else if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(cli->words[0]));
    else
        out_value(cli, doc);
    return EXIT_OK;
}

int verb_show(struct cli *cli)
{
    struct session session;
    pawl_info info;
    if (cli->args.json)
        cli->args.output = OUTPUT_JSON;
    if (cli->args.timeline && (cli->args.follow || cli->args.after_seq || cli->args.limit))
        return cli_fail(cli, EXIT_USAGE,
                        "--timeline draws all steps; leave out --follow, --after-seq and --limit");
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (cli->args.timeline) {
        status = show_timeline(cli, &session);
        session_close(&session);
        return status;
    }
    status = session_get(cli, &session, cli->words[0], cli->args.execution, &info);
    if (!status)
        status = cli->args.follow ? follow(cli, &session, &info) : show(cli, &session, &info);
    session_close(&session);
    return status;
}
