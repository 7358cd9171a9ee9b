/* SPDX-License-Identifier: MIT */
/* cli/deed_object.c -- see deed_object.h. */
#include "cli/deed_object.h"

#include "base/json.h"

#define PAGE_MAX 1000

pawl_str object_path(struct cli *cli, const struct object_kind *kind, const char *rest)
{
    return pawl_mem_printf(cli->mem, "%s/%s%s", kind->path,
                           http_escape(cli->mem, cli->words[1]).ptr, rest);
}

const char *object_condition(struct cli *cli)
{
    if (!cli->args.if_revision)
        return NULL;
    return pawl_mem_printf(cli->mem, "If-Match: \"%llu\"\r\n",
                           (unsigned long long)cli->args.if_revision)
        .ptr;
}

void object_report(struct cli *cli, pawl_str answer, const char *done)
{
    if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(cli->words[1]));
    else if (cli->args.output != OUTPUT_TABLE)
        out_value(cli, answer);
    else if (!cli->args.quiet)
        printf("%s: %s\n", out_clean(cli->mem, pawl_s(cli->words[1])).ptr, done);
}

int object_show(struct cli *cli, struct session *s, const struct object_kind *kind)
{
    pawl_str answer;
    int status = deed_call(cli, s, "GET", object_path(cli, kind, ""), (pawl_str){0}, NULL, &answer);
    if (status)
        return status;
    if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(cli->words[1]));
    else if (cli->args.output == OUTPUT_TABLE)
        kind->print(cli, answer);
    else
        out_value(cli, answer);
    return EXIT_OK;
}

/* ---- Pages ----------------------------------------------------------------------------- */

/* Objects as the output wants them. */
struct object_pages {
    struct cli *cli;
    const struct object_kind *kind;
    struct table table;
    pawl_json *w; /* one document of all pages; NULL: a table, or a line each */
    uint64_t count;
};

static void pages_begin(struct object_pages *p)
{
    table_init(&p->table, p->cli, p->kind->columns, p->kind->column_count);
    if (p->cli->args.output != OUTPUT_JSON)
        return;
    p->w = pawl_json_new(p->cli->mem);
    pawl_json_object(p->w);
    pawl_json_key(p->w, p->kind->list);
    pawl_json_array(p->w);
}

static void pages_add(struct object_pages *p, pawl_str page)
{
    pawl_mem *mem = p->cli->mem;
    pawl_json_iter it = pawl_json_each(page, pawl_mem_printf(mem, "/%s", p->kind->list).ptr);
    for (; pawl_json_next(&it); p->count++)
        if (p->w)
            pawl_json_raw(p->w, it.value);
        else if (p->cli->args.output == OUTPUT_JSONL)
            out_value(p->cli, it.value);
        else if (p->cli->args.output == OUTPUT_IDS)
            out_id(p->cli, pawl_json_text(mem, it.value, "/name", ""));
        else
            p->kind->put_row(p->cli, &p->table, it.value);
}

static void pages_end(struct object_pages *p, const char *next)
{
    bool table = p->cli->args.output == OUTPUT_TABLE;
    if (p->w) {
        pawl_json_end(p->w);
        pawl_json_key(p->w, "next");
        pawl_json_cstr(p->w, next);
        pawl_json_end(p->w);
        out_json(p->cli, p->w);
        return;
    }
    if (table && p->count)
        table_print(&p->table);
    else if (table)
        cli_note(p->cli, "no %s%s", p->kind->list,
                 p->cli->args.prefix ? " with that prefix" : " yet");
    if (next)
        cli_note(p->cli, "there is more: --after %s, or --all", next);
}

/* Ask for `left` objects; 0: the server chooses how many. */
static int page_of(struct object_pages *p, struct session *s, const char *after, uint64_t left,
                   pawl_str *ret)
{
    pawl_str path = pawl_s(p->kind->path);
    if (left)
        path = deed_with_number(p->cli, path, "limit", left < PAGE_MAX ? left : PAGE_MAX);
    if (p->cli->args.prefix)
        path = deed_with(p->cli, path, "prefix", p->cli->args.prefix);
    if (after)
        path = deed_with(p->cli, path, "after", after);
    return deed_call(p->cli, s, "GET", path, (pawl_str){0}, NULL, ret);
}

int object_ls(struct cli *cli, struct session *s, const struct object_kind *kind)
{
    struct object_pages p = {.cli = cli, .kind = kind};
    const char *after = cli->args.after;
    uint64_t limit = cli->args.limit;
    pages_begin(&p);
    do {
        pawl_str page;
        int status = page_of(&p, s, after, cli->args.all ? PAGE_MAX : limit - p.count, &page);
        if (status)
            return status;
        pages_add(&p, page);
        pawl_str next = pawl_json_text(cli->mem, page, "/next", "");
        after = next.len ? next.ptr : NULL;
    } while (after && (cli->args.all || p.count < limit));
    pages_end(&p, after);
    return EXIT_OK;
}
