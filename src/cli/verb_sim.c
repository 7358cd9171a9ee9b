/* SPDX-License-Identifier: MIT */
/*
 * cli/verb_sim.c -- sim: the author's code under seeded faults.
 *
 * Words of the command line become pawl_sim_opts, the report becomes text or JSON.
 * Nothing is read from or written to a store.
 */
#include "base/clock.h"
#include "cli/out.h"
#include "cli/session.h"
#include "pawl/sim.h"
#include "view/render.h"
#include "view/units.h"

#include <string.h>
#include <unistd.h>

#define ALL_FAULTS                                                                                 \
    (PAWL_SIM_CRASH | PAWL_SIM_DUPLICATE | PAWL_SIM_DELAY | PAWL_SIM_CLOCK |                       \
     PAWL_SIM_ACTIVITY_FAILURE)

static const struct {
    const char *word;
    unsigned bit;
} fault_words[] = {
#define FAULT_WORD(name, bit, word) {word, bit},
    PAWL_SIM_FAULTS(FAULT_WORD)
#undef FAULT_WORD
};

/* ---- The command line ------------------------------------------------------------------------- */

static unsigned fault_of(pawl_str word)
{
    for (size_t i = 0; i < COUNT_OF(fault_words); i++)
        if (pawl_str_is(word, fault_words[i].word))
            return fault_words[i].bit;
    return 0;
}

static int read_faults(struct cli *cli, unsigned *ret)
{
    const char *at = cli->args.faults;
    *ret = at ? 0 : ALL_FAULTS;
    if (at && strcmp(at, "none") == 0)
        return 0;
    while (at && *at) {
        pawl_str word = {at, strcspn(at, ",")};
        unsigned bit = pawl_str_is(word, "all") ? ALL_FAULTS | PAWL_SIM_CANCEL : fault_of(word);
        if (!bit)
            return cli_fail(cli, EXIT_USAGE,
                            "--faults takes crash, duplicate, delay, clock, activity-failure and "
                            "cancel, separated by commas, or all, or none; not '%.*s'",
                            PAWL_FMT(word));
        *ret |= bit;
        at += word.len + (at[word.len] == ',');
    }
    return 0;
}

static const char *cut(struct cli *cli, const char *text, size_t len)
{
    return pawl_mem_dup(cli->mem, (pawl_str){text, len}).ptr;
}

/* NAME=ok:JSON, NAME=fail:TEXT or NAME=any. */
static int read_activity(struct cli *cli, const char *text, pawl_sim_activity *ret)
{
    const char *equals = strchr(text, '=');
    size_t offset = 0;
    if (equals && equals > text) {
        ret->name = cut(cli, text, (size_t)(equals - text));
        if (strcmp(equals + 1, "any") == 0)
            return 0;
        ret->answer = strncmp(equals + 1, "ok:", 3) == 0 ? PAWL_SIM_OK : PAWL_SIM_FAIL;
        ret->text = strchr(equals, ':') ? strchr(equals, ':') + 1 : "";
        if (strncmp(equals + 1, "fail:", 5) == 0)
            return 0;
        if (ret->answer == PAWL_SIM_OK) {
            if (pawl_json_valid(pawl_s(ret->text), &offset))
                return 0;
            return cli_fail(cli, EXIT_USAGE,
                            "--activity %s: the result is not JSON at byte %zu; a text needs its "
                            "quotes: '%s=ok:\"text\"'",
                            ret->name, offset, ret->name);
        }
    }
    return cli_fail(cli, EXIT_USAGE,
                    "--activity takes NAME=ok:JSON, NAME=fail:TEXT or NAME=any, not '%s'", text);
}

static int read_event(struct cli *cli, const char *text, pawl_sim_event *ret)
{
    const char *equals = strchr(text, '=');
    pawl_str data;
    if (equals == text || !text[0])
        return cli_fail(cli, EXIT_USAGE, "--event takes NAME=JSON, not '%s'", text);
    ret->name = cut(cli, text, equals ? (size_t)(equals - text) : strlen(text));
    ret->data = equals ? equals + 1 : "";
    int status = session_payload(cli, "--event", ret->data, &data);
    ret->data = pawl_mem_dup(cli->mem, data).ptr;
    return status;
}

static int read_lists(struct cli *cli, pawl_sim_opts *o)
{
    const struct args *a = &cli->args;
    pawl_sim_activity *activities =
        pawl_mem_alloc(cli->mem, (a->activity.count + 1) * sizeof(*activities));
    pawl_sim_event *events = pawl_mem_alloc(cli->mem, (a->event.count + 1) * sizeof(*events));
    int status = 0;
    for (uint32_t i = 0; !status && i < a->activity.count; i++)
        status = read_activity(cli, a->activity.items[i], &activities[i]);
    for (uint32_t i = 0; !status && i < a->event.count; i++)
        status = read_event(cli, a->event.items[i], &events[i]);
    o->activities = activities;
    o->activity_count = a->activity.count;
    o->events = events;
    o->event_count = a->event.count;
    return status;
}

static int read_stubs(struct cli *cli, pawl_sim_opts *o)
{
    pawl_error err;
    for (uint32_t i = 0; i < cli->args.stub.count; i++) {
        if (!o->stubs)
            o->stubs = pawl_app_new();
        if (pawl_app_load(o->stubs, cli->args.stub.items[i], &err) != PAWL_OK)
            return cli_fail(cli, EXIT_USAGE, "%s", err.text);
    }
    return 0;
}

static void show_progress(void *user, uint64_t done)
{
    const struct cli *cli = user;
    if (done % 50 == 0)
        fprintf(stderr, "\r%llu seeds%s", (unsigned long long)done, cli->args.quiet ? "" : " ");
}

static int read_opts(struct cli *cli, pawl_sim_opts *o)
{
    const struct args *a = &cli->args;
    *o = (pawl_sim_opts){.size = sizeof(*o),
                         .orchestration = a->orchestration,
                         .version = a->version,
                         .seeds = a->seed ? 1 : a->seeds,
                         .first_seed = a->seed,
                         .horizon_ms = a->horizon_ms,
                         .user = cli};
    if (!cli->args.quiet && isatty(2))
        o->progress = show_progress;
    if (!o->orchestration)
        return cli_fail(cli, EXIT_USAGE, "say what to simulate: --orchestration NAME");
    int status = read_faults(cli, &o->faults);
    if (!status)
        status = session_payload(cli, "--input", a->input, &o->input);
    if (!status)
        status = read_lists(cli, o);
    return status ? status : read_stubs(cli, o);
}

/* ---- The report --------------------------------------------------------------------------------- */

static pawl_str fault_list(struct cli *cli, unsigned faults)
{
    pawl_str text = pawl_s("");
    for (size_t i = 0; i < COUNT_OF(fault_words); i++)
        if (faults & fault_words[i].bit)
            text = pawl_mem_printf(cli->mem, "%s%s%s", text.ptr, text.len ? "," : "",
                                   fault_words[i].word);
    return text.len ? text : pawl_s("none");
}

static void number(pawl_json *w, const char *key, uint64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, (int64_t)n);
}

static void line_json(struct cli *cli, pawl_json *w, const pawl_sim_line *l)
{
    (void)cli;
    pawl_json_object(w);
    pawl_json_key(w, "at_ms");
    pawl_json_num(w, l->at_ms);
    if (l->is_fault) {
        render_text(w, "fault", l->kind);
        render_text(w, "text", l->data);
    } else {
        render_text(w, "instance", l->instance);
        number(w, "seq", l->seq);
        render_text(w, "kind", l->kind);
        render_number(w, "ref", (int64_t)l->ref);
        render_text(w, "name", l->name);
        render_text(w, "data", l->data);
    }
    pawl_json_end(w);
}

static void report_json(struct cli *cli, const pawl_sim_report *r, int64_t took_ms)
{
    pawl_json *w = pawl_json_new(cli->mem);
    pawl_json_object(w);
    pawl_json_key(w, "ok");
    pawl_json_truth(w, r->problem == PAWL_SIM_NONE);
    number(w, "seeds", r->seeds);
    render_number(w, "seed", (int64_t)r->seed);
    pawl_json_key(w, "problem");
    pawl_json_cstr(w, r->problem ? pawl_sim_problem_name(r->problem) : NULL);
    render_text(w, "instance", r->instance);
    render_text(w, "text", r->text);
    if (r->problem)
        render_text(w, "faults", fault_list(cli, r->faults));
    number(w, "completed", r->completed);
    number(w, "failed", r->failed);
    number(w, "cancelled", r->cancelled);
    number(w, "unfinished", r->unfinished);
    number(w, "crashes", r->crashes);
    number(w, "events", r->events);
    number(w, "commits", r->commits);
    number(w, "virtual_ms", (uint64_t)r->virtual_ms);
    number(w, "took_ms", (uint64_t)took_ms);
    if (r->problem) {
        pawl_json_key(w, "lines");
        pawl_json_array(w);
        for (size_t i = 0; i < r->line_count; i++)
            line_json(cli, w, &r->lines[i]);
        pawl_json_end(w);
    }
    pawl_json_end(w);
    out_json(cli, w);
}

static void print_line(struct cli *cli, const pawl_sim_line *l)
{
    char text[UNITS_BYTES], ref[32] = "";
    if (l->ref)
        (void)snprintf(ref, sizeof(ref), "#%llu ", (unsigned long long)l->ref);
    format_duration(text, l->at_ms);
    pawl_str data = out_clean(cli->mem, l->data);
    if (l->is_fault)
        printf("  +%-10s %s-- %s: %s%s\n", text, out_begin(cli, stdout, TONE_YELLOW), l->kind.ptr,
               data.ptr, out_end(cli, stdout));
    else
        out_line("  +%-10s %-8s %4llu  %-26s %s%s %s", text, out_clean(cli->mem, l->instance).ptr,
                 (unsigned long long)l->seq, l->kind.ptr, ref, out_clean(cli->mem, l->name).ptr,
                 data.ptr);
}

static void print_failure(struct cli *cli, const pawl_sim_report *r)
{
    printf("%sseed %llu fails: %s%s\n", out_begin(cli, stdout, TONE_RED),
           (unsigned long long)r->seed, pawl_sim_problem_name(r->problem), out_end(cli, stdout));
    if (r->instance.len)
        printf("  instance %s: ", out_clean(cli->mem, r->instance).ptr);
    printf("%s%s\n", r->instance.len ? "" : "  ", out_clean(cli->mem, r->text).ptr);
    if (r->problem == PAWL_SIM_HANG && strstr(r->text.ptr, "which nothing raises"))
        printf("  the simulation raises it with: --event NAME=JSON\n");
    printf("  again: --seed %llu --faults %s\n", (unsigned long long)r->seed,
           fault_list(cli, r->faults).ptr);
    for (size_t i = 0; i < r->line_count; i++)
        print_line(cli, &r->lines[i]);
    if (r->cut)
        printf("  … and more\n");
}

static void print_sum(const pawl_sim_report *r, int64_t took_ms)
{
    char virtual[UNITS_BYTES], took[UNITS_BYTES];
    printf("%llu seeds, %d failures: %llu completed, %llu failed, %llu cancelled, %llu unfinished; "
           "%llu crashes, %llu events, %s of virtual time in %s\n",
           (unsigned long long)r->seeds, r->problem != 0, (unsigned long long)r->completed,
           (unsigned long long)r->failed, (unsigned long long)r->cancelled,
           (unsigned long long)r->unfinished, (unsigned long long)r->crashes,
           (unsigned long long)r->events, format_duration(virtual, r->virtual_ms),
           format_duration(took, took_ms));
}

int verb_sim(struct cli *cli)
{
    pawl_sim_opts opts;
    pawl_sim_report report;
    pawl_error err;
    int status = session_load(cli);
    if (!status)
        status = read_opts(cli, &opts);
    if (status)
        return status;
    int64_t began = clock_mono_ms();
    pawl_status rc = pawl_sim(cli->app, &opts, cli->mem, &report, &err);
    int64_t took = clock_mono_ms() - began;
    if (opts.progress)
        fprintf(stderr, "\r                    \r");
    pawl_app_free(opts.stubs);
    if (rc != PAWL_OK)
        return cli_fail_error(cli, &err);
    if (cli->args.output == OUTPUT_JSON || cli->args.output == OUTPUT_JSONL) {
        report_json(cli, &report, took);
    } else if (cli->args.output == OUTPUT_IDS) {
        if (report.problem)
            printf("%llu\n", (unsigned long long)report.seed);
    } else {
        if (report.problem)
            print_failure(cli, &report);
        print_sum(&report, took);
    }
    return report.problem ? EXIT_FAILED : EXIT_OK;
}
