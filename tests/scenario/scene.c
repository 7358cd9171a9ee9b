/* SPDX-License-Identifier: MIT */
/* tests/scenario/scene.c -- see scene.h.  Opening, dying, the clock; verbs in verbs.c. */
#include "scene.h"

#include "../scratch.h"

#include "runtime/core/resident.h"
#include "runtime/core/runtime.h"
#include "runtime/life/close.h"

#include "runtime/loop/loop.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void share_server(void)
{
    scratch_share();
}

/* ---- The world ---------------------------------------------------------------- */

static int64_t virtual_now(void *user)
{
    return ((struct scene *)user)->now;
}

static int64_t virtual_mono(void *user)
{
    return ((struct scene *)user)->mono;
}

/* Seeded, so that a failing test fails again. */
static void virtual_random(void *user, void *to, size_t n)
{
    struct scene *s = user;
    for (size_t i = 0; i < n; i++) {
        s->dice = s->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((unsigned char *)to)[i] = (unsigned char)(s->dice >> 56);
    }
}

static void keep_log(void *user, pawl_log_level level, const char *area, const char *text)
{
    struct scene *s = user;
    pthread_mutex_lock(&s->lock);
    size_t room = sizeof(s->log) - s->log_len;
    int n = snprintf(s->log + s->log_len, room, "%d %s %s\n", (int)level, area, text);
    if (n > 0)
        s->log_len += (size_t)n < room ? (size_t)n : room - 1;
    pthread_mutex_unlock(&s->lock);
}

/* The fault of scene_fail(), while it lasts; under the lock. */
static struct fault take_fault(struct scene_fault *f, enum fault_op op)
{
    if (op == FAULT_OP_load_histories && f->left && !f->skip && f->op == FAULT_OP_read_history)
        return (struct fault){FAULT_BEFORE,
                              f->status}; /* what cannot be read cannot be read ahead */
    if (!f->left || f->op != op)
        return (struct fault){.kind = FAULT_NONE};
    if (f->skip > 0) {
        f->skip--;
        return (struct fault){.kind = FAULT_NONE};
    }
    f->left--;
    return (struct fault){f->kind, f->status};
}

static struct fault decide(void *user, enum fault_op op, uint64_t call)
{
    struct scene *s = user;
    (void)call;
    if (op == FAULT_OP_commit && s->before_commit)
        s->before_commit(s);
    if (op == FAULT_OP_read_messages && s->before_mail) {
        void (*before)(struct scene *) = s->before_mail;
        s->before_mail = NULL;
        before(s);
    }
    if (op == FAULT_OP_outcome && !s->answers) /* UNKNOWN means: the process ended there */
        return (struct fault){FAULT_BEFORE, PAWL_UNKNOWN};
    if (op == FAULT_OP_outcome && ++s->asked % s->answers)
        return (struct fault){FAULT_BEFORE, PAWL_UNAVAILABLE};
    pthread_mutex_lock(&s->lock);
    struct fault fault = take_fault(&s->fault, op);
    pthread_mutex_unlock(&s->lock);
    return fault;
}

void scene_fail(struct scene *s, enum fault_op op, int skip, int count, enum fault_kind kind,
                pawl_status status)
{
    pthread_mutex_lock(&s->lock);
    s->fault = (struct scene_fault){op, skip, count, kind, status};
    pthread_mutex_unlock(&s->lock);
}

/* ---- Built-in activities -------------------------------------------------------- */

struct scene *scene_of(pawl_activity *act)
{
    return pawl_activity_user(act);
}

void scene_count(pawl_activity *act)
{
    struct scene *s = scene_of(act);
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < SCENE_RUNS; i++) {
        if (s->runs[i].name[0] && !pawl_str_is(pawl_activity_name(act), s->runs[i].name))
            continue;
        snprintf(s->runs[i].name, sizeof(s->runs[i].name), "%s", pawl_activity_name(act).ptr);
        s->runs[i].count++;
        break;
    }
    pthread_mutex_unlock(&s->lock);
}

int scene_ran(struct scene *s, const char *activity)
{
    int count = 0;
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < SCENE_RUNS; i++)
        if (strcmp(s->runs[i].name, activity) == 0)
            count = s->runs[i].count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

static pawl_result echo(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_ok_str(act, input);
}

static pawl_result fail_with(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    return pawl_err(act, input.ptr);
}

static pawl_result flaky(pawl_activity *act, pawl_str input)
{
    scene_count(act);
    if (pawl_activity_attempt(act) < (uint32_t)atoi(input.ptr))
        return pawl_err(act, "not yet");
    return pawl_okf(act, "attempt %u", pawl_activity_attempt(act));
}

void scene_activity(struct scene *s, const char *name, pawl_activity_fn *fn)
{
    ck_assert_int_eq(pawl_register_activity_with(s->app, name, fn, PAWL_REGISTER_OPTS(.user = s)),
                     PAWL_OK);
}

void scene_flow_at(struct scene *s, const char *name, const char *version,
                   pawl_orchestration_fn *fn)
{
    ck_assert_int_eq(
        pawl_register_orchestration_with(s->app, name, version, fn, PAWL_REGISTER_OPTS(.user = s)),
        PAWL_OK);
}

void scene_flow(struct scene *s, const char *name, pawl_orchestration_fn *fn)
{
    scene_flow_at(s, name, "1.0.0", fn);
}

static void new_app(struct scene *s)
{
    pawl_app_free(s->app);
    s->app = pawl_app_new();
    scene_activity(s, "Echo", echo);
    scene_activity(s, "Fail", fail_with);
    scene_activity(s, "Flaky", flaky);
}

/* ---- The store -------------------------------------------------------------------- */

static void open_store(struct scene *s, pawl_store *inner)
{
    pawl_error err = {0};
    if (!inner && s->kind == SCENE_SQLITE)
        inner = pawl_sqlite_store(s->file, PAWL_STORE_OPTS(.now_ms = s->now), &err);
    else if (!inner && s->kind == SCENE_JSONL)
        inner = pawl_jsonl_store(s->file, PAWL_STORE_OPTS(.now_ms = s->now), &err);
    else if (!inner && s->kind == SCENE_POSTGRES)
        inner = pawl_postgres_store(s->file, PAWL_STORE_OPTS(.now_ms = s->now), &err);
    else if (!inner)
        inner = pawl_memory_store();
    ck_assert_msg(inner, "store: %s", err.text);
    s->store = fault_store(inner, decide, s);
    if (s->kind == SCENE_HOSTILE || s->kind == SCENE_POSTGRES)
        fault_store_far(s->store); /* where instances come into memory most often */
    s->plain_ops = s->store->ops;
    if (s->decorate)
        s->decorate(s->store);
}

/* Take the data out of the wrappers as a dead process leaves it. */
static pawl_store *leave_store(struct scene *s)
{
    s->store->ops = s->plain_ops;
    pawl_store *inner = fault_store_release(s->store);
    s->store = NULL;
    if (s->kind == SCENE_MEMORY || s->kind == SCENE_HOSTILE)
        return inner;
    inner->ops->close(inner);
    return NULL;
}

static void make_dir(struct scene *s)
{
    const char *base = getenv("TMPDIR");
    if (!base)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(s->dir, sizeof(s->dir), "%s/pawl-scenario-XXXXXX", base);
    ck_assert_ptr_nonnull(mkdtemp(s->dir));
    snprintf(s->file, sizeof(s->file), "%s/pawl.db", s->dir);
    if (s->kind == SCENE_POSTGRES) {
        struct scratch schema;
        scratch_same(&schema);
        snprintf(s->file, sizeof(s->file), "%s", schema.url);
    }
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void remove_dir(const char *dir)
{
    (void)nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- Life -------------------------------------------------------------------------- */

struct scene *scene_open(enum scene_kind kind)
{
    struct scene *s = calloc(1, sizeof(*s));
    ck_assert_ptr_nonnull(s);
    s->kind = kind;
    s->now = SCENE_T0;
    s->mono = 1000000;
    s->dice = 1;
    s->mem = pawl_mem_new();
    s->env = (pawl_env){
        .user = s, .now_ms = virtual_now, .mono_ms = virtual_mono, .random = virtual_random};
    s->opts = (pawl_options){.size = sizeof(s->opts),
                             .hostile = kind == SCENE_HOSTILE,
                             .paranoid = getenv("PAWL_TEST_PARANOID") != NULL,
                             .log_level = PAWL_LOG_DEBUG,
                             .log = keep_log,
                             .log_user = s};
    pthread_mutex_init(&s->lock, NULL);
    make_dir(s);
    new_app(s);
    return s;
}

void scene_up(struct scene *s)
{
    pawl_error err = {0};
    if (s->rt)
        return;
    if (!s->store && !s->opts.store)
        open_store(s, NULL);
    s->opts.opened_store = s->opts.store ? NULL : s->store;
    s->opts.env = s->threads ? NULL : &s->env;
    s->rt = pawl_runtime_open(s->app, &s->opts, &err);
    ck_assert_msg(s->rt, "open: %s", err.text);
    s->c = pawl_runtime_client(s->rt);
    if (s->threads)
        ck_assert_msg(pawl_runtime_start(s->rt, &err) == PAWL_OK, "start: %s", err.text);
}

void scene_threads(struct scene *s)
{
    ck_assert_ptr_null(s->rt);
    s->threads = true;
}

void scene_down(struct scene *s)
{
    if (!s->rt)
        return;
    if (s->threads)
        pawl_runtime_close(s->rt);
    else
        runtime_discard(s->rt);
    s->rt = NULL;
    if (s->store)
        open_store(s, leave_store(s));
}

void scene_crash(struct scene *s)
{
    scene_up(s);
    scene_down(s);
    scene_up(s);
    scene_settle(s);
}

void scene_restart(struct scene *s)
{
    scene_up(s);
    pawl_runtime_close(s->rt);
    s->rt = NULL;
    if (s->store)
        open_store(s, leave_store(s));
    scene_up(s);
    scene_settle(s);
}

void scene_new_code(struct scene *s)
{
    scene_down(s);
    new_app(s);
}

void scene_close(struct scene *s)
{
    pawl_runtime_close(s->rt);
    if (s->store) {
        s->store->ops = s->plain_ops;
        s->store->ops->close(s->store);
    }
    pawl_app_free(s->app);
    pawl_mem_free(s->mem);
    pthread_mutex_destroy(&s->lock);
    remove_dir(s->dir);
    free(s);
}

void scene_inject(struct scene *s, pawl_message m)
{
    pawl_fence fence = {0};
    pawl_error err = {0};
    scene_up(s);
    scene_down(s);
    ck_assert_int_eq(s->store->ops->take(s->store, s->now, &fence, &err), PAWL_OK);
    m.id = fence.next_id++;
    pawl_round round = {.messages = &m, .message_count = 1};
    ck_assert_int_eq(s->store->ops->commit(s->store, &fence, &round, 1, s->now, &err), PAWL_OK);
    ck_assert_int_eq(round.result, PAWL_OK);
    scene_up(s);
    scene_settle(s);
}

/* ---- The clock ---------------------------------------------------------------------- */

void scene_settle(struct scene *s)
{
    scene_up(s);
    if (s->threads)
        return;
    for (int i = 0; i < 200000; i++) {
        int done = pawl_runtime_step(s->rt, 0);
        resident_check(s->rt);
        if (done < 0)
            return;
        if (!done && !s->rt->shares.queued && !s->rt->inbox.first &&
            loop_idle_until(s->rt) > s->mono)
            return;
    }
    ck_abort_msg("the scene does not come to rest");
}

static void move_clock(struct scene *s, int64_t ms)
{
    s->now += ms;
    s->mono += ms;
}

bool scene_hop(struct scene *s)
{
    scene_settle(s);
    int64_t until = loop_idle_until(s->rt);
    if (until == INT64_MAX || s->rt->health.dead != PAWL_OK)
        return false;
    move_clock(s, until - s->mono);
    scene_settle(s);
    return true;
}

void scene_advance(struct scene *s, int64_t ms)
{
    scene_settle(s);
    for (int64_t end = s->mono + ms; s->mono < end;) {
        int64_t until = loop_idle_until(s->rt);
        move_clock(s, (until < end ? until : end) - s->mono);
        scene_settle(s);
    }
}

void scene_finish(struct scene *s, const char *id)
{
    scene_settle(s);
    for (int i = 0; i < 100000; i++)
        if (pawl_state_is_terminal(scene_row(s, id).state) || !scene_hop(s))
            return;
    ck_abort_msg("%s does not end: %s", id, scene_history(s, id, 0));
}
