/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_backup.c -- pawl backup and restore: the store as one file, and back.
 *
 * backup works beside the process that owns the store.  restore fills a data directory that has no
 * store yet and that no process owns.  What both promise is in pawl/backup.h.
 */
#include "pawl/backup.h"

#include "base/point.h"
#include "cli/out.h"
#include "cli/session.h"
#include "tables/schemes.h"
#include "view/render.h"
#include "view/units.h"

#include <stdlib.h>
#include <string.h>

/* The database file, or NULL: the reason was printed. */
static const char *sqlite_file(struct cli *cli, int *retstatus)
{
    const char *file = session_file(cli);
    struct store_place place = {0};
    if (file)
        return file;
    (void)store_place_read(cli->args.options.store, &place); /* main.c checked it */
    bool names = place.kind == PLACE_DIRECTORY;
    *retstatus =
        cli_fail(cli, EXIT_USAGE, "'%s' is for sqlite: stores; %s%s%s%s", cli->verb->name,
                 place.copying, names ? " '" : "", names ? place.path : "", names ? "'" : "");
    return NULL;
}

static void report_json(struct cli *cli, const char *where, const pawl_backup_info *info)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "file");
    pawl_json_cstr(w, where);
    render_number(w, "bytes", (int64_t)info->bytes);
    render_number(w, "instances", (int64_t)info->instances);
    render_number(w, "events", (int64_t)info->events);
    render_number(w, "queue_items", (int64_t)info->queue_items);
    render_number(w, "epoch", (int64_t)info->epoch);
    render_number(w, "schema", info->schema);
    pawl_json_end(w);
    out_json(cli, w);
}

static int report(struct cli *cli, const char *done, const char *where,
                  const pawl_backup_info *info)
{
    if (cli->args.output == OUTPUT_IDS)
        out_id(cli, pawl_s(where));
    else if (cli->args.output != OUTPUT_TABLE)
        report_json(cli, where, info);
    else if (!cli->args.quiet)
        printf("%s %s: %llu bytes, instances %llu, events %llu, queue items %llu\n", done, where,
               (unsigned long long)info->bytes, (unsigned long long)info->instances,
               (unsigned long long)info->events, (unsigned long long)info->queue_items);
    return EXIT_OK;
}

int verb_backup(struct cli *cli)
{
    int status = 0;
    pawl_backup_info info;
    pawl_error err = {0};
    const char *file = sqlite_file(cli, &status), *to = cli->words[0];
    if (!file || (status = session_must_exist(cli)))
        return status;
    point_crash_at(getenv("PAWL_CRASH_AT"));
    if (pawl_sqlite_backup(file, to, cli->args.force, &info, &err) != PAWL_OK)
        return cli_fail(cli, cli_exit_of(err.status), "%s", err.text);
    return report(cli, "saved to", to, &info);
}

int verb_restore(struct cli *cli)
{
    int status = 0;
    pawl_backup_info info;
    pawl_error err = {0};
    const char *file = sqlite_file(cli, &status), *from = cli->words[0];
    if (!file)
        return status;
    point_crash_at(getenv("PAWL_CRASH_AT"));
    if (pawl_sqlite_restore(from, file, &info, &err) != PAWL_OK)
        return cli_fail(cli, err.status == PAWL_NOT_FOUND ? EXIT_NO_STORE : cli_exit_of(err.status),
                        "%s", err.text);
    status = report(cli, "restored to", file, &info);
    cli_note(
        cli,
        "leases of workers and locks of queues from before have ended, and tokens are not in a "
        "backup: make new ones with '%s token new'",
        cli->prog);
    return status;
}
