/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_doctor.c -- can this machine run Pawl, and is the store sound?
 *
 * A list of checks; each is one line with a verdict and, where something is
 * wrong, what to do.  Changes nothing, and works beside a running owner (the sync is
 * measured on a file of its own).  Exit status 0 when nothing is bad, 3 when the
 * store cannot be used, else 1.
 */
#include "base/clock.h"
#include "cli/disk.h"
#include "cli/out.h"
#include "cli/session.h"
#include "pawl/provider.h"
#include "pawl/sqlite.h"
#include "view/render.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHECKS_MAX     64
#define SYNC_BUDGET_MS 300
#define SHOWN_MAX      5 /* blocked instances and quarantined messages named */
#define COUNTED_MAX    1000

/* The store calls it with one finding (pawl_finding_fn). */
enum verdict {
    VERDICT_OK = PAWL_VERDICT_OK,
    VERDICT_WARN = PAWL_VERDICT_WARN,
    VERDICT_BAD = PAWL_VERDICT_BAD
};

struct check {
    const char *name;
    enum verdict verdict;
    pawl_str text;
};

struct doctor {
    struct cli *cli;
    struct check checks[CHECKS_MAX];
    size_t count;
    const char *place; /* a directory that exists: the data directory, or above it */
    bool has_store;
    bool store_unusable;
};

static void find(struct doctor *d, const char *name, enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void find(struct doctor *d, const char *name, enum verdict verdict, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (d->count < CHECKS_MAX)
        d->checks[d->count++] =
            (struct check){name, verdict, pawl_mem_dup(d->cli->mem, pawl_s(text))};
}

/* ---- The machine ---------------------------------------------------------------------- */

static void check_disk(struct doctor *d)
{
    char text[UNITS_BYTES];
    uint64_t left = disk_free(d->place);
    enum verdict verdict = left < (100U << 20) ? VERDICT_BAD
                           : left < (1U << 30) ? VERDICT_WARN
                                               : VERDICT_OK;
    find(d, "disk", verdict, "%s free%s", format_size(text, left),
         verdict ? "; new work is refused when it is full: make room" : "");
    const char *kind = disk_kind(d->place);
    if (disk_is_memory(d->place))
        find(d, "file system", VERDICT_BAD,
             "%s forgets everything at power-off; use another --data", kind);
    else if (disk_is_remote(d->place))
        find(d, "file system", VERDICT_WARN,
             "%s may not lock and sync as SQLite needs it; use a local disk for --data", kind);
    else
        find(d, "file system", VERDICT_OK, "%s", kind);
}

static void check_sync(struct doctor *d)
{
    double us = disk_sync_us(d->place, SYNC_BUDGET_MS);
    if (us < 0)
        find(d, "sync", VERDICT_BAD, "cannot write in '%s': %s", d->place, strerror(errno));
    else if (us < 15)
        find(d, "sync", VERDICT_WARN,
             "fdatasync takes %.0f µs: too fast to have reached a disk; is its write cache safe at "
             "power-off?",
             us);
    else if (us > 20000)
        find(d, "sync", VERDICT_WARN,
             "fdatasync takes %.1f ms, and so does every step of a single instance", us / 1000);
    else
        find(d, "sync", VERDICT_OK, "fdatasync takes %.0f µs", us);
}

static void check_sqlite(struct doctor *d)
{
    pawl_error err;
    if (pawl_sqlite_check(&err) != PAWL_OK)
        find(d, "sqlite", VERDICT_BAD, "%s", err.text);
    else
        find(d, "sqlite", VERDICT_OK, "%s", pawl_sqlite_version());
}

static void check_maps(struct doctor *d)
{
    long maps = 0;
    FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
    if (f) {
        if (fscanf(f, "%ld", &maps) != 1)
            maps = 0;
        fclose(f);
    }
    if (!maps)
        return;
    long fibers = maps / 2 - 2000;
    char text[UNITS_BYTES];
    find(d, "memory maps", fibers < 5000 ? VERDICT_WARN : VERDICT_OK,
         "vm.max_map_count is %ld: up to %s instances stay in memory%s", maps,
         format_count(text, fibers > 0 ? (uint64_t)fibers : 0),
         fibers < 5000 ? "; raise it with: sysctl vm.max_map_count=262144" : "");
}

static void check_files(struct doctor *d)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    find(d, "open files", limit.rlim_cur < 256 ? VERDICT_WARN : VERDICT_OK, "the limit is %llu%s",
         (unsigned long long)limit.rlim_cur,
         limit.rlim_cur < 256 ? "; raise it with: ulimit -n 1024" : "");
}

/* ---- The store ------------------------------------------------------------------------ */

/* The nearest directory above `path` that exists. */
static const char *nearest_directory(pawl_mem *mem, const char *path)
{
    size_t size = strlen(path) + 1;
    char *at = pawl_mem_alloc(mem, size), *slash;
    struct stat st;
    memcpy(at, path, size);
    while ((slash = strrchr(at, '/'))) {
        slash[slash == at] = 0; /* "/x" keeps its slash */
        if ((stat(at, &st) == 0 && S_ISDIR(st.st_mode)) || slash == at)
            return at;
    }
    return ".";
}

static void check_directory(struct doctor *d)
{
    struct cli *cli = d->cli;
    const char *data = session_data(cli), *file = session_file(cli);
    struct stat st;
    bool exists = stat(data, &st) == 0, there = exists && S_ISDIR(st.st_mode);
    d->place = there ? data : nearest_directory(cli->mem, data);
    d->has_store = file && access(file, F_OK) == 0;
    d->store_unusable = exists && !there;
    if (d->store_unusable)
        find(d, "data", VERDICT_BAD, "'%s' is not a directory; use another --data", data);
    else if (!there)
        find(d, "data", VERDICT_OK, "'%s' does not exist yet; '%s run' makes it", data, cli->prog);
    else if (st.st_mode & 077)
        find(d, "data", VERDICT_WARN, "others can look into '%s'; close it with: chmod 700 %s",
             data, data);
    else
        find(d, "data", VERDICT_OK, "'%s'%s", data, d->has_store ? "" : ", no store in it yet");
    long owner = session_owner(cli);
    if (d->has_store && owner >= 0)
        find(d, "owner", VERDICT_OK, owner ? "pid %ld has it open" : "no process has it open",
             owner);
}

static void check_quarantine(struct doctor *d, pawl_store *store)
{
    pawl_message_list list;
    if (store->ops->read_quarantine(store, SHOWN_MAX, d->cli->mem, &list, NULL) != PAWL_OK)
        return;
    for (size_t i = 0; i < list.count; i++)
        find(d, "quarantine", VERDICT_WARN, "message %llu of '%.*s' was put aside: %.*s",
             (unsigned long long)list.items[i].id, PAWL_FMT(list.items[i].instance),
             PAWL_FMT(list.items[i].attrs));
}

static void take_finding(void *user, const char *name, pawl_verdict verdict, const char *text)
{
    find(user, name, (enum verdict)verdict, "%s", text);
}

/* Ask the store about the place where it lies. */
static void check_place(struct doctor *d, pawl_store *store)
{
    const pawl_upkeep_ops *upkeep = store->ops->upkeep;
    pawl_error err = {0};
    if (upkeep && upkeep->examine &&
        upkeep->examine(store, clock_wall_ms(), take_finding, d, &err) != PAWL_OK)
        find(d, "server", VERDICT_BAD, "%s", err.text);
}

static void check_queues(struct doctor *d)
{
    pawl_error err = {.status = PAWL_UNAVAILABLE};
    const char *url = session_place(d->cli) == PLACE_SERVER
                          ? d->cli->args.options.store
                          : pawl_mem_printf(d->cli->mem, "sqlite:%s", session_file(d->cli)).ptr;
    pawl_store *store =
        pawl_store_open(url, PAWL_STORE_OPTS(.read_only = true, .now_ms = clock_wall_ms()), &err);
    if (store)
        check_place(d, store);
    pawl_depths depths = {.size = sizeof(depths)};
    if (!store || store->ops->depths(store, clock_wall_ms(), &depths, &err) != PAWL_OK) {
        find(d, "store", VERDICT_BAD, "%s", err.text);
        d->store_unusable = true;
    } else {
        char text[UNITS_BYTES];
        find(d, "store", VERDICT_OK,
             "%s instances; %llu messages, %llu of them timers; %llu activities queued",
             format_count(text, depths.instances), (unsigned long long)depths.messages,
             (unsigned long long)depths.timers, (unsigned long long)depths.work);
        if (depths.quarantine)
            check_quarantine(d, store);
    }
    if (store)
        store->ops->close(store);
}

static void check_state(struct doctor *d, struct session *session, pawl_state state)
{
    pawl_filter filter = {
        .size = sizeof(pawl_filter), .limit = COUNTED_MAX, .state = (int)state + 1};
    pawl_page page;
    if (pawl_client_list(session->client, &filter, d->cli->mem, &page, NULL) != PAWL_OK)
        return;
    const char *name = pawl_state_name(state);
    bool bad = state == PAWL_BLOCKED && page.count;
    if (page.count)
        find(d, name, bad ? VERDICT_WARN : VERDICT_OK, "%zu%s instance%s", page.count,
             page.next.len ? " or more" : "", page.count == 1 ? "" : "s");
    for (size_t i = 0; bad && i < page.count && i < SHOWN_MAX; i++)
        find(d, name, VERDICT_WARN, "'%.*s': %.*s; repair that, then: %s retry %.*s",
             PAWL_FMT(page.items[i].instance), PAWL_FMT(page.items[i].finding), d->cli->prog,
             PAWL_FMT(page.items[i].instance));
}

static void check_instances(struct doctor *d)
{
    struct session session;
    if (session_open(d->cli, SESSION_LOOK, &session) != 0) {
        d->store_unusable = true;
        return;
    }
    check_state(d, &session, PAWL_BLOCKED);
    check_state(d, &session, PAWL_SUSPENDED);
    check_state(d, &session, PAWL_FAILED);
    session_close(&session);
}

/* ---- The report ----------------------------------------------------------------------- */

static const char *const verdicts[] = {"ok", "warn", "bad"};

static void write_check(pawl_json *w, const struct check *check)
{
    pawl_json_object(w);
    pawl_json_key(w, "check");
    pawl_json_cstr(w, check->name);
    pawl_json_key(w, "verdict");
    pawl_json_cstr(w, verdicts[check->verdict]);
    render_text(w, "text", check->text);
    pawl_json_end(w);
}

static void print_json(struct doctor *d)
{
    pawl_json *w = pawl_json_new(d->cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "checks");
    pawl_json_array(w);
    for (size_t i = 0; i < d->count; i++)
        write_check(w, &d->checks[i]);
    pawl_json_end(w);
    pawl_json_end(w);
    out_json(d->cli, w);
}

static void print_line(struct doctor *d, const struct check *check)
{
    static const enum tone tones[] = {TONE_GREEN, TONE_YELLOW, TONE_RED};
    pawl_str text = out_clean(d->cli->mem, check->text);
    printf("%s%-4s%s  %-12s %.*s\n", out_begin(d->cli, stdout, tones[check->verdict]),
           verdicts[check->verdict], out_end(d->cli, stdout), check->name, PAWL_FMT(text));
}

static int report(struct doctor *d)
{
    bool bad = false;
    for (size_t i = 0; i < d->count; i++)
        bad |= d->checks[i].verdict == VERDICT_BAD;
    if (d->cli->args.output == OUTPUT_JSON)
        print_json(d);
    for (size_t i = 0; i < d->count && d->cli->args.output != OUTPUT_JSON; i++) {
        if (d->cli->args.output == OUTPUT_TABLE) {
            print_line(d, &d->checks[i]);
        } else if (d->cli->args.output == OUTPUT_JSONL) {
            pawl_json *w = pawl_json_new(d->cli->mem);
            write_check(w, &d->checks[i]);
            out_json(d->cli, w);
        } else if (d->checks[i].verdict != VERDICT_OK) {
            puts(d->checks[i].name);
        }
    }
    return d->store_unusable ? EXIT_NO_STORE : bad ? EXIT_FAILED : EXIT_OK;
}

int verb_doctor(struct cli *cli)
{
    struct doctor d = {.cli = cli};
    bool on_server = session_place(cli) == PLACE_SERVER;
    if (!on_server && !session_file(cli))
        return cli_fail(cli, EXIT_USAGE,
                        "doctor looks at a store in a file or on a server; use --data DIR");
    find(&d, "pawl", VERDICT_OK, "%s", PAWL_VERSION);
    d.has_store = on_server;
    if (!on_server) {
        check_sqlite(&d);
        check_directory(&d);
        check_disk(&d);
        check_sync(&d);
    }
    check_maps(&d);
    check_files(&d);
    if (d.has_store) {
        check_queues(&d);
        if (!d.store_unusable)
            check_instances(&d);
    }
    return report(&d);
}
