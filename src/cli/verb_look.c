/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_look.c -- ls and show: what is there, and what happened to it.
 *
 * Both work beside a running owner.  Pages are read until the limit is reached
 * or nothing is left: a store may answer with a short page.
 */
#include "base/clock.h"
#include "cli/out.h"
#include "cli/session.h"
#include "view/render.h"
#include "view/units.h"

#include <string.h>

#define LIST_DEFAULT 100
#define PAGE_MAX     1000
#define NAMES_MAX    100000

/* ---- ls ------------------------------------------------------------------------ */

/* One listing on its way to the output. */
struct listing {
    struct cli *cli;
    struct table table;
    pawl_json *w; /* -o json: the document */
    uint64_t count;
    int64_t now_ms;
};

static const struct table_column list_columns[] = {
    {.head = "INSTANCE",      .flex = true },
    {.head = "ORCHESTRATION", .flex = true },
    {.head = "VERSION",       .spare = true},
    {.head = "STATUS"       },
    {.head = "EXEC",          .right = true,              .spare = true},
    {.head = "CREATED",       .spare = true},
    {.head = "DETAIL",        .flex = true},
};

static void begin_listing(struct listing *l, struct cli *cli)
{
    *l = (struct listing){.cli = cli, .now_ms = clock_wall_ms()};
    table_init(&l->table, cli, list_columns, COUNT_OF(list_columns));
    if (cli->args.output != OUTPUT_JSON)
        return;
    l->w = pawl_json_new(cli->mem);
    pawl_json_object(l->w);
    pawl_json_key(l->w, "instances");
    pawl_json_array(l->w);
}

static void list_row(struct listing *l, const pawl_info *info)
{
    char text[UNITS_BYTES];
    table_put(&l->table, info->instance, TONE_NONE);
    table_put(&l->table, info->orchestration, TONE_NONE);
    table_put(&l->table, info->version, TONE_NONE);
    table_putf(&l->table, tone_of_state(info->state), "%s", pawl_state_name(info->state));
    table_putf(&l->table, TONE_NONE, "%llu", (unsigned long long)info->execution);
    table_putf(&l->table, TONE_DIM, "%.19sZ", format_time(text, info->created_ms));
    table_put(&l->table, render_detail(info), TONE_NONE);
}

static void list_one(struct listing *l, const pawl_info *info)
{
    l->count++;
    switch ((enum cli_output)l->cli->args.output) {
    case OUTPUT_TABLE:
        list_row(l, info);
        return;
    case OUTPUT_IDS:
        printf("%.*s\n", PAWL_FMT(info->instance));
        return;
    case OUTPUT_JSON:
    case OUTPUT_JSONL:
        break;
    }
    pawl_json *w = l->w ? l->w : pawl_json_new(l->cli->mem);
    pawl_json_object(w);
    render_instance_members(w, l->cli->mem, info);
    pawl_json_end(w);
    if (!l->w)
        out_json(l->cli, w);
}

static void end_listing(struct listing *l, pawl_str next)
{
    struct cli *cli = l->cli;
    if (l->w) {
        pawl_json_end(l->w);
        render_text(l->w, "next", next);
        pawl_json_end(l->w);
        out_json(cli, l->w);
    } else if (cli->args.output == OUTPUT_TABLE && l->count) {
        table_print(&l->table);
    }
    const struct args *a = &cli->args;
    if (next.len && !l->w)
        cli_note(cli, "there is more: --after %.*s", PAWL_FMT(next));
    else if (l->count == 0 &&
             (a->status || a->orchestration || a->prefix || a->parent || a->since_ms))
        cli_note(cli, "no instance fits; all of them: %s ls", cli->prog);
    else if (!l->count)
        cli_note(cli, "no instances yet; begin with: %s run NAME --load FILE.so", cli->prog);
}

static int list_pages(struct listing *l, struct session *session, uint32_t limit)
{
    struct args *a = &l->cli->args;
    pawl_filter filter = {
        .size = sizeof(pawl_filter),
        .after = a->after,
        .state = a->status,
        .orchestration = a->orchestration,
        .prefix = a->prefix,
        .parent = a->parent,
        .created_after_ms = a->since_ms ? l->now_ms - a->since_ms : 0,
    };
    pawl_page page;
    do {
        uint64_t left = limit - l->count;
        filter.limit = left < PAGE_MAX ? (uint32_t)left : PAGE_MAX;
        pawl_error err;
        if (session_list(session, &filter, l->cli->mem, &page, &err) != PAWL_OK)
            return cli_fail_error(l->cli, &err);
        for (size_t i = 0; i < page.count; i++)
            list_one(l, &page.items[i]);
        filter.after = page.next.ptr;
    } while (page.next.len && l->count < limit);
    end_listing(l, page.next);
    return EXIT_OK;
}

int verb_ls(struct cli *cli)
{
    struct session session;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    struct listing listing;
    begin_listing(&listing, cli);
    status = list_pages(&listing, &session, cli->args.limit ? cli->args.limit : LIST_DEFAULT);
    session_close(&session);
    return status;
}

/* ---- show ------------------------------------------------------------------------ */

static const struct table_column event_columns[] = {
    {.head = "SEQ",  .right = true},
    {.head = "AT",   .right = true, .spare = true},
    {.head = "EVENT"             },
    {.head = "REF",  .right = true            },
    {.head = "NAME", .flex = true},
    {.head = "DATA", .flex = true },
};

/* One history on its way to the output. */
struct telling {
    struct cli *cli;
    struct table table;
    pawl_json *w; /* -o json */
    int64_t first_ms;
    pawl_str *names; /* of tasks, by ref - 1: completions do not repeat them */
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
    return t->names[e->ref - 1] = e->name;
}

static void event_row(struct telling *t, const pawl_history_event *e)
{
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

static void tell_one(struct telling *t, const pawl_history_event *e)
{
    switch ((enum cli_output)t->cli->args.output) {
    case OUTPUT_TABLE:
        event_row(t, e);
        return;
    case OUTPUT_IDS:
        printf("%llu\n", (unsigned long long)e->seq);
        return;
    case OUTPUT_JSON:
    case OUTPUT_JSONL:
        break;
    }
    pawl_json *w = t->w ? t->w : pawl_json_new(t->cli->mem);
    render_event(w, t->cli->mem, e);
    if (!t->w)
        out_json(t->cli, w);
}

static int tell_pages(struct telling *t, struct session *session, uint64_t *retnext)
{
    struct args *a = &t->cli->args;
    uint64_t after = a->after_seq, count = 0, limit = a->limit ? a->limit : UINT64_MAX;
    pawl_history page = {0};
    do {
        uint32_t want = limit - count < PAGE_MAX ? (uint32_t)(limit - count) : PAGE_MAX;
        pawl_error err;
        if (session_history(session, t->cli->words[0], a->execution, after, want, t->cli->mem,
                            &page, &err) != PAWL_OK)
            return cli_fail_error(t->cli, &err);
        for (size_t i = 0; i < page.count; i++)
            tell_one(t, &page.events[i]);
        count += page.count;
        after = page.next;
    } while (page.next && count < limit);
    *retnext = page.next;
    return 0;
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

static void print_head(const struct cli *cli, const pawl_info *info)
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
    print_field(cli, "created", pawl_s(format_time(created, info->created_ms)));
    print_field(cli, "updated", pawl_s(format_time(updated, info->updated_ms)));
    print_field(cli, "input", info->input);
    print_field(cli, "output", info->output);
    print_field(cli, "error", info->error);
    print_field(cli, "custom status", info->custom_status);
    print_field(cli, "finding", info->finding);
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
        print_head(t->cli, info);
        table_print(&t->table);
    }
    if (next && !t->w)
        cli_note(t->cli, "there is more: --after-seq %llu", (unsigned long long)next);
}

int verb_show(struct cli *cli)
{
    struct session session;
    int status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    pawl_info info;
    status = session_get(cli, &session, cli->words[0], cli->args.execution, &info);
    if (!status) {
        struct telling telling;
        uint64_t next = 0;
        begin_telling(&telling, cli, &info);
        status = tell_pages(&telling, &session, &next);
        if (!status)
            end_telling(&telling, &info, next);
    }
    session_close(&session);
    return status;
}
