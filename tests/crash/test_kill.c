/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/test_kill.c -- kill -9 at random moments, under load.
 *
 * Children start instance after instance (four kinds, children of their own among
 * them) and write an id down once its start has returned.  The parent kills them
 * when it likes.  At last one child is left in peace: everything acknowledged
 * must have ended as it should, exactly once in its history.  The seed is
 * printed; PAWL_CRASH_SEED repeats it as far as a scheduler repeats anything.
 */
#include "../harness.h"
#include "crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned seed;

static unsigned draw(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

/* ---- The load ---------------------------------------------------------------------------- */

/* A parent with two children and a timer. */
static pawl_result family(pawl_ctx *ctx, pawl_str input)
{
    pawl_task kids[] = {
        pawl_start_child(ctx, "Heartbeat", pawl_s("{\"every_ms\":0,\"until\":7}"), NULL),
        pawl_start_child(ctx, "ProvisionEnvironment", input, NULL),
    };
    pawl_ignore(pawl_sleep(ctx, 3));
    pawl_result all = pawl_await_all(ctx, kids, 2);
    if (!all.ok)
        return all;
    return pawl_donef(ctx, "beats %s", pawl_await(ctx, kids[0]).value.ptr);
}

static void app_load(pawl_app *app)
{
    app_examples(app);
    pawl_register_orchestration(app, "Family", "1.0.0", family);
}

static const struct plan_item kinds[] = {
    {"ProcessOrder",         "order",  "{\"id\":\"o\",\"return_window_ms\":4}", "FraudReview", "{}"},
    {"BookTrip",             "trip",   "{\"trip\":\"Oslo\"}",                   "Confirm",     "{}"},
    {"BookTrip",             "undone", "{\"fail\":\"BookHotel\"}",              NULL,          NULL},
    {"Family",               "family", "{\"name\":\"f\"}",                      NULL,          NULL},
    {"ProvisionEnvironment", "env",    "{\"name\":\"e\"}",                      NULL,          NULL},
};
static const char *const outcomes[] = {
    "completed Order completed successfully",
    "completed booked: 3 legs",
    "failed BookHotel: sold out; 1 bookings undone",
    "completed beats 7",
    ("completed Environment ready: VM=e.vm.local.example, Storage=e.storage.local.example, "
     "DB=e.db.local.example"),
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void begin(pawl_client *c, unsigned n)
{
    const struct plan_item *kind = &kinds[n % KINDS];
    char id[40];
    pawl_reply reply;
    pawl_error err;
    (void)snprintf(id, sizeof(id), "%s-%u", kind->id, n);
    if (pawl_client_start(c, kind->orchestration, pawl_s(kind->input),
                          PAWL_START_OPTS(.instance = id), &reply) != PAWL_OK) {
        fprintf(stderr, "start %s: %s\n", id, reply.error.text);
        _exit(2);
    }
    append_record("acks", "%s", id);
    if (kind->event &&
        pawl_client_raise(c, id, kind->event, pawl_s(kind->data),
                          PAWL_RAISE_OPTS(.idempotency_key = "k"), &err) != PAWL_OK &&
        err.status != PAWL_CONFLICT) {
        fprintf(stderr, "raise %s: %s\n", id, err.text);
        _exit(2);
    }
}

#define STARTS_MAX 30 /* a child */

struct load {
    unsigned first; /* number of the first instance */
    bool last;      /* start nothing: end what there is */
};

/* Start again what was acknowledged last, in case its event was not. */
static void end_all(pawl_client *c, unsigned count)
{
    pawl_mem *mem = pawl_mem_new();
    for (unsigned n = 0; n < count; n++) {
        const struct plan_item *kind = &kinds[n % KINDS];
        pawl_info info;
        pawl_error err;
        char id[40];
        (void)snprintf(id, sizeof(id), "%s-%u", kind->id, n);
        begin(c, n);
        pawl_mem_reset(mem);
        if (pawl_client_wait(c, id, 0, 20000, mem, &info, &err) != PAWL_OK) {
            fprintf(stderr, "wait %s: %s\n", id, err.text);
            _exit(3);
        }
        append_line("out", "%s %s %.*s", id, pawl_state_name(info.state),
                    PAWL_FMT(info.state == PAWL_COMPLETED ? info.output : info.error));
    }
    pawl_mem_free(mem);
}

static int carry(void *arg)
{
    const struct load *load = arg;
    pawl_error err;
    pawl_app *app = pawl_app_new();
    app_load(app);
    pawl_runtime *rt =
        pawl_runtime_open(app, PAWL_OPTIONS(.data = in_scratch("data"), .workers = 8), &err);
    if (!rt || pawl_runtime_start(rt, &err) != PAWL_OK) {
        fprintf(stderr, "open: %s\n", err.text);
        return 1;
    }
    if (load->last)
        end_all(pawl_runtime_client(rt), load->first);
    for (unsigned n = load->first; !load->last; n++) {
        if (n == load->first + STARTS_MAX)
            (void)pause(); /* until we are killed */
        begin(pawl_runtime_client(rt), n);
    }
    pawl_runtime_close(rt);
    pawl_app_free(app);
    return 0;
}

/* ---- The loop ------------------------------------------------------------------------------ */

static unsigned count_acks(void)
{
    char *text = read_text("acks");
    unsigned n = 0;
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        n++;
    free(text);
    return n;
}

TEST(S7_killed_at_random_under_load_everything_acknowledged_completes_once)
{
    const char *given = getenv("PAWL_CRASH_SEED");
    unsigned start = seed = given ? (unsigned)strtoul(given, NULL, 10) : (unsigned)time(NULL);
    time_t end = time(NULL) + (full_matrix() ? 120 : 4);
    unsigned kills = 0, count = 0;
    scratch_make();
    do {
        struct load load = {.first = count};
        pid_t pid = child_start(carry, &load);
        nap_ms((int)draw(draw(4) ? 60 : 400) + 1);
        (void)kill(pid, draw(5) ? SIGKILL : SIGTERM); /* which nobody handles here */
        int status = child_wait(pid, 10000);
        ck_assert_msg(killed_by(status, SIGKILL) || killed_by(status, SIGTERM), "seed %u: %s",
                      start, status_words(status));
        kills++;
        count = count_acks();
        if (kills % 10 == 0) {
            const char *wrong = wrong_in_history();
            ck_assert_msg(!wrong, "seed %u, kill %u: %s", start, kills, wrong);
        }
    } while (time(NULL) < end);
    ck_assert_uint_gt(count, 0);

    /* The one whose start was on its way when the last child died may be there too:
     * it is started like the others, so that its event comes. */
    struct load last = {.first = ++count, .last = true};
    int status = child_run(carry, &last, 60000);
    ck_assert_msg(exited_with(status, 0), "seed %u: %s", start, status_words(status));
    const char *wrong = wrong_at_rest();
    ck_assert_msg(!wrong, "seed %u after %u kills: %s", start, kills, wrong);
    wrong = wrong_in_ledger((int)kills * 8);
    ck_assert_msg(!wrong, "seed %u after %u kills: %s", start, kills, wrong);
    char *text = read_text("out"), *rest = text;
    unsigned n = 0;
    for (char *line; (line = strsep(&rest, "\n")) && *line; n++) {
        const char *said = strchr(line, ' ') + 1;
        ck_assert_msg(strcmp(said, outcomes[n % KINDS]) == 0, "seed %u: %s", start, line);
    }
    ck_assert_uint_eq(n, count);
    free(text);
    printf("| random: seed %u, %u kills, %u instances, %lld events\n", start, kills, count,
           ask("SELECT count(*) FROM history"));
    scratch_drop();
}

/* ---- Checkpoints ------------------------------------------------------------------------------ */

/* Enough history for the WAL to be moved into the database a few times. */
TEST(S7_dies_around_a_checkpoint)
{
    static const char *const points[] = {"sqlite.checkpoint.before", "sqlite.checkpoint.after"};
    static char ids[60][16];
    static char input[120000];
    struct plan_item items[60];
    int deaths = 0;
    memset(input, 'x', sizeof(input) - 1);
    memcpy(input, "{\"name\":\"", 9);
    memcpy(input + sizeof(input) - 3, "\"}", 3);
    for (size_t i = 0; i < 60; i++) {
        (void)snprintf(ids[i], sizeof(ids[i]), "big-%zu", i);
        items[i] = (struct plan_item){"BookTrip", ids[i], input, "Confirm", "{}"};
    }
    for (size_t p = 0; p < 2; p++) {
        for (int n = 1; n <= 2; n++) {
            char at[64];
            (void)snprintf(at, sizeof(at), "%s:%d", points[p], n);
            struct plan plan = {.items = items, .count = 60, .crash_at = at};
            scratch_make();
            int status = child_run(plan_run, &plan, 30000);
            ck_assert_msg(killed_by(status, SIGKILL), "%s: %s", at, status_words(status));
            plan.crash_at = NULL;
            status = child_run(plan_run, &plan, 30000);
            ck_assert_msg(exited_with(status, 0), "%s: %s", at, status_words(status));
            const char *wrong = wrong_at_rest();
            ck_assert_msg(!wrong, "%s: %s", at, wrong);
            deaths++;
            scratch_drop();
        }
    }
    printf("| checkpoints: 2 points, %d deaths\n", deaths);
}
