/* SPDX-License-Identifier: MIT */
/*
 * tests/scenario/scene.h -- a stage for scenarios: store, app, runtime, clock.
 *
 *     SCENARIO(s01_a_sentence_about_what_holds)
 *     {
 *         scene_flow(s, "Flow", flow);
 *         scene_start(s, "Flow", "i", "input");
 *         scene_expect(s, "i", PAWL_COMPLETED, "output");
 *         scene_events(s, "i", "OrchestrationStarted OrchestrationCompleted");
 *     }
 *
 * becomes five tests: on the memory store, on sqlite, hostile (memory, the fiber
 * dropped at every await), on jsonl (no atomic rounds, no delayed visibility) and,
 * where PAWL_TEST_PG names a server, on postgres, with the same answers.  The runtime is driven by pawl_runtime_step() under a
 * clock that only the test moves, so nothing here sleeps.  scene_threads()
 * switches to real threads and the real clock.  With PAWL_TEST_PARANOID set every
 * turn is replayed and compared, too (tests that count entries then fail).
 *
 * The runtime opens with the first verb: register code and set s->opts before.
 * Verbs check that the call succeeded; the scene_try_ ones give the status.
 */
#ifndef PAWL_TESTS_SCENE_H
#define PAWL_TESTS_SCENE_H

#include "../harness.h"

#include "pawl/provider.h"
#include "pawl/runtime.h"
#include "store/fault/fault.h"

#include <pthread.h>
#include <string.h>

enum scene_kind { SCENE_MEMORY, SCENE_SQLITE, SCENE_HOSTILE, SCENE_JSONL, SCENE_POSTGRES };

#define SCENE_T0   INT64_C(1700000000000) /* the clock at the beginning */
#define SCENE_RUNS 16

struct scene_runs {
    char name[40];
    int count;
};

/* The next `left` calls of `op` fail. */
struct scene_fault {
    enum fault_op op;
    int skip, left; /* let `skip` calls pass first */
    enum fault_kind kind;
    pawl_status status;
};

struct scene {
    enum scene_kind kind;
    char dir[200];
    char file[400];                         /* what the store is opened with: a path, or a URL */
    pawl_store *store;                      /* the fault decorator around the real one */
    const pawl_store_ops *plain_ops;        /* its operations before `decorate` */
    void (*decorate)(pawl_store *outer);    /* put other operations on it; NULL: nothing */
    void (*before_commit)(struct scene *s); /* on the thread that commits; NULL: nothing */
    void (*before_mail)(struct scene *s);   /* once, before mail is read; NULL: nothing */
    pawl_app *app;
    pawl_options opts;
    pawl_env env;
    pawl_runtime *rt; /* NULL: down */
    pawl_client *c;
    bool threads;
    int64_t now, mono; /* the virtual clock */
    uint64_t dice;     /* of env.random */
    pawl_mem *mem;
    struct scene_fault fault;
    int answers; /* the store tells at every so-manyth question what became of a commit; 0: never */
    int asked;
    pthread_mutex_t lock; /* guards the fault, and the two below */
    struct scene_runs runs[SCENE_RUNS];
    char log[32768];
    size_t log_len;
    pawl_reply reply; /* of the last writing verb */
};

struct scene *scene_open(enum scene_kind kind);
void scene_close(struct scene *s);

#define SCENE_TEST(name, variant, kind)                                                            \
    TEST(name##_##variant)                                                                         \
    {                                                                                              \
        struct scene *s = scene_open(kind);                                                        \
        scene_##name(s);                                                                           \
        scene_close(s);                                                                            \
    }

#define SCENARIO(name)                                                                             \
    static void scene_##name(struct scene *s);                                                     \
    SCENE_TEST(name, memory, SCENE_MEMORY)                                                         \
    SCENE_TEST(name, sqlite, SCENE_SQLITE)                                                         \
    SCENE_TEST(name, hostile, SCENE_HOSTILE)                                                       \
    SCENE_TEST(name, jsonl, SCENE_JSONL)                                                           \
    SCENE_TEST(name, postgres, SCENE_POSTGRES)                                                     \
    static void scene_##name(struct scene *s)

/* ---- Building -------------------------------------------------------------- */

/* Built in: Echo gives its input back, Fail fails with its input, Flaky fails
 * with "not yet" until the attempt its input names.  All are counted. */
void scene_flow(struct scene *s, const char *name, pawl_orchestration_fn *fn);
void scene_flow_at(struct scene *s, const char *name, const char *version,
                   pawl_orchestration_fn *fn);
/* Registered with `s` as user: fn calls scene_count(act). */
void scene_activity(struct scene *s, const char *name, pawl_activity_fn *fn);
void scene_count(pawl_activity *act);
struct scene *scene_of(pawl_activity *act);
int scene_ran(struct scene *s, const char *activity);

void scene_up(struct scene *s);      /* open the runtime, if it is down */
void scene_threads(struct scene *s); /* real threads and clock from the next opening on */
/* Die without a trace and come back on the same store (sqlite: file opened anew). */
void scene_crash(struct scene *s);
void scene_down(struct scene *s);     /* die; the next verb opens again */
void scene_restart(struct scene *s);  /* close in order, open again */
void scene_new_code(struct scene *s); /* die; an app with the built-in activities only */

/* The next `count` calls of an operation fail, after `skip` that pass. */
void scene_fail(struct scene *s, enum fault_op op, int skip, int count, enum fault_kind kind,
                pawl_status status);
/* Put a message into the store behind the runtime's back (which dies and comes back). */
void scene_inject(struct scene *s, pawl_message m);

/* ---- Verbs ------------------------------------------------------------------ */

pawl_status scene_do(struct scene *s, const pawl_request *request); /* reply in s->reply */
void scene_start(struct scene *s, const char *flow, const char *id, const char *input);
pawl_status scene_try_start(struct scene *s, const char *flow, const char *id, const char *input);
void scene_raise(struct scene *s, const char *id, const char *event, const char *data);
pawl_status scene_try_raise(struct scene *s, const char *id, const char *event, const char *data);
void scene_cancel(struct scene *s, const char *id, const char *reason);
void scene_steer(struct scene *s, pawl_op op, const char *id); /* suspend, resume, retry … */
pawl_status scene_try_steer(struct scene *s, pawl_op op, const char *id);

void scene_settle(struct scene *s);                 /* until nothing is ready */
void scene_advance(struct scene *s, int64_t ms);    /* move the clock, due by due */
bool scene_hop(struct scene *s);                    /* to the next due time; false: there is none */
void scene_finish(struct scene *s, const char *id); /* hop until the instance has ended */

/* ---- Looking ----------------------------------------------------------------- */

/* "i7": a name that lives as long as the scene. */
#define scene_id(s, word, n) pawl_mem_printf((s)->mem, "%s%d", (word), (int)(n)).ptr
pawl_info scene_info(struct scene *s, const char *id);
pawl_row scene_row(struct scene *s, const char *id);
/* State and, for ended ones, output or error text. */
void scene_expect(struct scene *s, const char *id, pawl_state state, const char *value);
/* The whole history as "Kind#ref Kind …". */
void scene_events(struct scene *s, const char *id, const char *expected);
void scene_events_of(struct scene *s, const char *id, uint64_t execution, const char *expected);
const char *scene_history(struct scene *s, const char *id, uint64_t execution);
int scene_kind_count(struct scene *s, const char *id, const char *kind);
pawl_stats scene_stats(struct scene *s);
pawl_depths scene_depths(struct scene *s);
/* Nothing waits in either queue. */
void scene_expect_empty(struct scene *s);
bool scene_logged(struct scene *s, const char *text);

#define expect_is(a, b) ck_assert_int_eq((intmax_t)(a), (intmax_t)(b))
#define expect_text(text, words)                                                                   \
    ck_assert_msg(strstr((text), (words)), "\"%s\" is not in: %s", (words), (text))

#endif
