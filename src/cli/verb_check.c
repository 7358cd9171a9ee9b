/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_check.c -- check: does new code fit every open history?
 *
 * Reads only, also beside a running owner or through a server.  One history is
 * in memory at a time and is replayed in a process of its own, so that memory
 * stays small and code that crashes is one more line of the report.
 */
#include "base/near.h"
#include "cli/load_history.h"
#include "cli/out.h"
#include "view/render.h"

#include <string.h>

#define PAGE 200

/* The instances that have not ended, in the order in which they are checked. */
static const pawl_state open_states[] = {PAWL_RUNNING, PAWL_BLOCKED, PAWL_SUSPENDED, PAWL_PENDING};

struct checking {
    struct cli *cli;
    struct session *session;
    pawl_json *w; /* -o json: the document */
    uint64_t checked, bad, skipped, never_ran;
    struct sites sites;
};

/* ---- Printing -------------------------------------------------------------------------- */

static void tell_json(struct checking *c, const pawl_info *info, const pawl_replay_report *r)
{
    pawl_json *w = c->w ? c->w : pawl_json_new(c->cli->mem);
    pawl_json_object(w);
    render_text(w, "instance", info->instance);
    render_text(w, "orchestration", info->orchestration);
    render_text(w, "version", info->version);
    pawl_json_key(w, "execution");
    pawl_json_num(w, (int64_t)info->execution);
    pawl_json_key(w, "outcome");
    pawl_json_cstr(w, pawl_replay_outcome_name(r->outcome));
    render_number(w, "seq", (int64_t)r->seq);
    render_text(w, "recorded", pawl_s(r->recorded));
    render_text(w, "attempted", pawl_s(r->attempted));
    render_text(w, "site", pawl_s(r->site));
    render_text(w, "text", pawl_s(r->text));
    pawl_json_end(w);
    if (!c->w)
        out_json(c->cli, w);
}

static void line(const struct checking *c, const char *label, const char *text)
{
    if (text[0])
        printf("    %s%-10s%s %s\n", out_begin(c->cli, stdout, TONE_DIM), label,
               out_end(c->cli, stdout), out_clean(c->cli->mem, pawl_s(text)).ptr);
}

static void tell_table(const struct checking *c, const pawl_info *info, const pawl_replay_report *r)
{
    printf("%s%s%s  %s %s", out_begin(c->cli, stdout, TONE_RED),
           out_clean(c->cli->mem, info->instance).ptr, out_end(c->cli, stdout),
           out_clean(c->cli->mem, info->orchestration).ptr,
           out_clean(c->cli->mem, info->version).ptr);
    if (r->seq)
        printf("  event %llu", (unsigned long long)r->seq);
    putchar('\n');
    line(c, "recorded", r->recorded);
    line(c, "attempted", r->attempted);
    line(c, "at", r->site);
    line(c, "finding", r->text);
}

static void tell(struct checking *c, const pawl_info *info, pawl_replay_report *r)
{
    (void)snprintf(r->site, sizeof(r->site), "%s", sites_text(&c->sites, c->cli->mem, r->address));
    c->bad++;
    switch ((enum cli_output)c->cli->args.output) {
    case OUTPUT_TABLE:
        tell_table(c, info, r);
        break;
    case OUTPUT_IDS:
        out_id(c->cli, info->instance);
        break;
    case OUTPUT_JSON:
    case OUTPUT_JSONL:
        tell_json(c, info, r);
        break;
    }
}

/* ---- Checking ------------------------------------------------------------------------- */

static bool is_open(const struct loaded_history *h, size_t at)
{
    for (size_t i = at + 1; i < h->count; i++)
        if (h->events[i].ref == h->events[at].ref && strncmp(h->events[i].kind, "Activity", 8) == 0)
            return false;
    return true;
}

static size_t activity_names(struct checking *c, pawl_mem *mem, const char ***ret)
{
    const pawl_code *code;
    size_t n = 0, count = pawl_app_code(c->cli->app, mem, &code);
    *ret = pawl_mem_alloc(mem, (count + 1) * sizeof(**ret));
    for (size_t i = 0; i < count; i++)
        if (!code[i].version)
            (*ret)[n++] = code[i].name;
    return n;
}

/* Warn of calls that wait for an activity whose name no module has, but one that is nearly the same:
 * such a history fits the code, and its instance waits for ever.  A name that resembles none may be
 * that of a worker outside, so it is not reported. */
static void look_for_misspelt(struct checking *c, const pawl_info *info,
                              const struct loaded_history *h, pawl_mem *mem)
{
    const char **words;
    size_t count = activity_names(c, mem, &words);
    for (size_t i = 0; i < h->count; i++) {
        const pawl_history_event *e = &h->events[i];
        if (strcmp(e->kind, "ActivityScheduled") != 0 ||
            pawl_app_has_activity(c->cli->app, e->name.ptr))
            continue;
        const char *near = nearest_word(e->name.ptr, words, count);
        if (near && is_open(h, i))
            cli_trouble(c->cli,
                        "instance %s waits for activity '%s', which no module loaded has; did you "
                        "mean '%s'?",
                        out_clean(mem, info->instance).ptr, out_clean(mem, e->name).ptr, near);
    }
}

/* 0 or an exit status. */
static int check_one(struct checking *c, const pawl_info *info, pawl_mem *mem)
{
    struct loaded_history h;
    pawl_error err = {0};
    pawl_replay_report report = {0};
    if (!pawl_app_has_orchestration(c->cli->app, info->orchestration.ptr, NULL)) {
        c->skipped++;
        return 0;
    }
    pawl_status rc = history_events(c->session, info, mem, &h, &err);
    if (rc == PAWL_NOT_FOUND)
        return 0; /* removed meanwhile */
    if (rc == PAWL_OK && !h.count) {
        c->never_ran++; /* any code fits */
        return 0;
    }
    if (rc == PAWL_CORRUPT) {
        report.outcome = PAWL_REPLAY_DAMAGED;
        (void)snprintf(report.text, sizeof(report.text), "%.390s", err.text);
    } else if (rc != PAWL_OK) {
        return cli_fail_error(c->cli, &err);
    } else if (!history_replay_apart(
                   c->cli, &h,
                   PAWL_REPLAY_OPTS(.no_site = true,
                                    .strict_await = c->cli->args.options.strict_await),
                   &report, &err)) {
        return cli_fail_error(c->cli, &err);
    }
    c->checked++;
    if (rc == PAWL_OK)
        look_for_misspelt(c, info, &h, mem);
    if (report.outcome != PAWL_REPLAY_WAITS && report.outcome != PAWL_REPLAY_ENDED)
        tell(c, info, &report);
    return 0;
}

static int check_state(struct checking *c, pawl_state state)
{
    const struct args *a = &c->cli->args;
    char cursor[64] = "";
    int status = 0;
    do {
        pawl_mem *mem = pawl_mem_new(), *one = pawl_mem_new();
        pawl_page page = {0};
        pawl_error err;
        pawl_filter filter = {.size = sizeof(filter),
                              .after = cursor[0] ? cursor : NULL,
                              .limit = PAGE,
                              .state = (int)state + 1,
                              .orchestration = a->orchestration,
                              .prefix = a->prefix};
        if (session_list(c->session, &filter, mem, &page, &err) != PAWL_OK)
            status = cli_fail_error(c->cli, &err);
        for (size_t i = 0; !status && i < page.count; i++) {
            status = check_one(c, &page.items[i], one);
            pawl_mem_reset(one);
        }
        (void)snprintf(cursor, sizeof(cursor), "%.*s", PAWL_FMT(page.next));
        pawl_mem_free(one);
        pawl_mem_free(mem);
    } while (!status && cursor[0]);
    return status;
}

/* No open instance was checked: the status must not say that all fit. */
static bool is_blind(const struct checking *c)
{
    return c->skipped && !c->checked && !c->never_ran;
}

static void conclude(struct checking *c)
{
    struct cli *cli = c->cli;
    unsigned long long checked = c->checked, bad = c->bad, skipped = c->skipped;
    if (c->w) {
        pawl_json_end(c->w);
        pawl_json_key(c->w, "checked");
        pawl_json_num(c->w, (int64_t)c->checked);
        pawl_json_key(c->w, "fits");
        pawl_json_num(c->w, (int64_t)(c->checked - c->bad));
        pawl_json_key(c->w, "skipped");
        pawl_json_num(c->w, (int64_t)c->skipped);
        pawl_json_end(c->w);
        out_json(cli, c->w);
    } else if (cli->args.output == OUTPUT_TABLE) {
        if (is_blind(c))
            printf("0 of %llu open histories checked\n", skipped);
        else if (bad)
            printf("%llu of %llu open histories do not fit this code\n", bad, checked);
        else
            printf("all %llu open histories fit this code\n", checked);
    }
    if (skipped && cli->args.output == OUTPUT_TABLE)
        printf("%llu open instances left alone: their orchestrations are in no module loaded\n",
               skipped);
}

int verb_check(struct cli *cli)
{
    struct session session;
    struct checking c = {.cli = cli, .session = &session};
    int status = session_load(cli);
    if (!status && !pawl_app_has_code(cli->app))
        status = cli_fail(cli, EXIT_USAGE, "say which code to check: %s check --load FILE.so",
                          cli->prog);
    if (!status)
        status = session_open(cli, SESSION_LOOK, &session);
    if (status)
        return status;
    if (cli->args.output == OUTPUT_JSON) {
        c.w = pawl_json_new(cli->mem);
        pawl_json_object(c.w);
        pawl_json_key(c.w, "mismatches");
        pawl_json_array(c.w);
    }
    for (size_t i = 0; !status && i < COUNT_OF(open_states); i++)
        status = check_state(&c, open_states[i]);
    if (!status)
        conclude(&c);
    session_close(&session);
    return status ? status : c.bad || is_blind(&c) ? EXIT_FAILED : EXIT_OK;
}
