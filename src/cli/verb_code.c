/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_code.c -- code: what the program and the modules loaded register.
 *
 * Opens no store; the list says under which names `run`, `start` and workers find
 * what was written.
 */
#include "cli/out.h"
#include "cli/session.h"
#include "view/render.h"

static const struct table_column code_columns[] = {
    {.head = "KIND"},
    {              .head = "NAME",  .flex = true},
    {              .head = "VERSION"             },
    { .head = "FILE",              .flex = true},
};

static const char *kind_of(const pawl_code *code)
{
    return code->version ? "orchestration" : "activity";
}

static void write_code(struct cli *cli, pawl_json *w, const pawl_code *code)
{
    pawl_json_object(w);
    render_text(w, "kind", pawl_s(kind_of(code)));
    render_text(w, "name", pawl_s(code->name));
    render_text(w, "version", pawl_s(code->version));
    render_text(w, "file", pawl_s(code->file ? code->file : cli->prog));
    pawl_json_end(w);
}

static void print_document(struct cli *cli, const pawl_code *list, size_t count)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "code");
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++)
        write_code(cli, w, &list[i]);
    pawl_json_end(w);
    pawl_json_end(w);
    out_json(cli, w);
}

static void print_table(struct cli *cli, const pawl_code *list, size_t count)
{
    struct table table;
    table_init(&table, cli, code_columns, COUNT_OF(code_columns));
    for (size_t i = 0; i < count; i++) {
        table_put(&table, pawl_s(kind_of(&list[i])), TONE_DIM);
        table_put(&table, pawl_s(list[i].name), TONE_NONE);
        table_put(&table, pawl_s(list[i].version), TONE_NONE);
        table_put(&table, pawl_s(list[i].file ? list[i].file : cli->prog), TONE_DIM);
    }
    table_print(&table);
}

int verb_code(struct cli *cli)
{
    const pawl_code *list;
    int status = session_load(cli);
    if (status)
        return status;
    size_t count = pawl_app_code(cli->app, cli->mem, &list);
    if (!count)
        return cli_fail(cli, EXIT_NOT_THERE,
                        "nothing is registered; load a module: %s code --load FILE.so", cli->prog);
    switch ((enum cli_output)cli->args.output) {
    case OUTPUT_TABLE:
        print_table(cli, list, count);
        break;
    case OUTPUT_JSON:
        print_document(cli, list, count);
        break;
    case OUTPUT_JSONL:
        for (size_t i = 0; i < count; i++) {
            pawl_json *w = pawl_json_new(cli->mem);
            write_code(cli, w, &list[i]);
            out_json(cli, w);
        }
        break;
    case OUTPUT_IDS:
        for (size_t i = 0; i < count; i++)
            out_id(cli, pawl_s(list[i].name));
        break;
    }
    return EXIT_OK;
}
