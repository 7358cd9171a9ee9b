/* SPDX-License-Identifier: MIT */
/* tests/scenario/verbs.c -- see scene.h.  What a test does and looks at. */
#include "scene.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Doing -------------------------------------------------------------------- */

struct answer {
    pawl_reply *reply;
    atomic_bool done;
};

static void take_answer(void *arg, const pawl_reply *reply)
{
    struct answer *a = arg;
    *a->reply = *reply;
    atomic_store(&a->done, true);
}

/* Submit and run; time moves only when the store was in trouble. */
pawl_status scene_do(struct scene *s, const pawl_request *request)
{
    struct answer a = {.reply = &s->reply};
    s->reply = (pawl_reply){0};
    scene_up(s);
    pawl_status rc = pawl_client_submit(s->c, request, take_answer, &a, &s->reply.error);
    if (rc != PAWL_OK)
        return rc;
    scene_settle(s);
    for (int i = 0; i < 20000 && !atomic_load(&a.done); i++) {
        if (s->threads)
            usleep(500);
        else if (!scene_hop(s))
            break;
    }
    ck_assert_msg(atomic_load(&a.done), "the call was never answered");
    return s->reply.status;
}

static void must(struct scene *s, pawl_status rc)
{
    ck_assert_msg(rc == PAWL_OK, "%s: %s", pawl_status_code(rc), s->reply.error.text);
}

pawl_status scene_try_start(struct scene *s, const char *flow, const char *id, const char *input)
{
    return scene_do(
        s, PAWL_REQUEST(.op = PAWL_OP_START, .name = flow, .instance = id, .data = pawl_s(input)));
}

void scene_start(struct scene *s, const char *flow, const char *id, const char *input)
{
    must(s, scene_try_start(s, flow, id, input));
}

pawl_status scene_try_raise(struct scene *s, const char *id, const char *event, const char *data)
{
    return scene_do(
        s, PAWL_REQUEST(.op = PAWL_OP_RAISE, .name = event, .instance = id, .data = pawl_s(data)));
}

void scene_raise(struct scene *s, const char *id, const char *event, const char *data)
{
    must(s, scene_try_raise(s, id, event, data));
}

void scene_cancel(struct scene *s, const char *id, const char *reason)
{
    must(s, scene_do(s, PAWL_REQUEST(.op = PAWL_OP_CANCEL, .instance = id, .reason = reason)));
}

pawl_status scene_try_steer(struct scene *s, pawl_op op, const char *id)
{
    return scene_do(s, PAWL_REQUEST(.op = op, .instance = id));
}

void scene_steer(struct scene *s, pawl_op op, const char *id)
{
    must(s, scene_try_steer(s, op, id));
}

/* ---- Looking ------------------------------------------------------------------- */

pawl_info scene_info(struct scene *s, const char *id)
{
    pawl_info info = {0};
    pawl_error err = {0};
    scene_up(s);
    pawl_status rc = pawl_client_get(s->c, id, 0, s->mem, &info, &err);
    ck_assert_msg(rc == PAWL_OK, "%s: %s", id, err.text);
    return info;
}

pawl_row scene_row(struct scene *s, const char *id)
{
    pawl_row row = {0};
    pawl_error err = {0};
    ck_assert_int_eq(s->store->ops->find(s->store, pawl_s(id), s->mem, &row, &err), PAWL_OK);
    return row;
}

void scene_expect(struct scene *s, const char *id, pawl_state state, const char *value)
{
    scene_settle(s);
    pawl_info info = scene_info(s, id);
    pawl_str text = state == PAWL_COMPLETED ? info.output : info.error;
    ck_assert_msg(info.state == state, "%s is %s, not %s; value '%s' finding '%s' history %s", id,
                  pawl_state_name(info.state), pawl_state_name(state),
                  info.output.len  ? info.output.ptr
                  : info.error.ptr ? info.error.ptr
                                   : "",
                  info.finding.len ? info.finding.ptr : "", scene_history(s, id, 0));
    if (value)
        ck_assert_str_eq(text.len ? text.ptr : "", value);
}

const char *scene_history(struct scene *s, const char *id, uint64_t execution)
{
    pawl_error err = {0};
    pawl_str text = pawl_s("");
    for (uint64_t after = 0;;) {
        pawl_history h = {0};
        pawl_status rc = pawl_client_history(s->c, id, execution, after, 0, s->mem, &h, &err);
        ck_assert_msg(rc == PAWL_OK, "%s: %s", id, err.text);
        for (size_t i = 0; i < h.count; i++) {
            const pawl_history_event *e = &h.events[i];
            text = pawl_mem_printf(s->mem, "%s%s%s", text.ptr, text.len ? " " : "", e->kind);
            if (e->ref)
                text = pawl_mem_printf(s->mem, "%s#%llu", text.ptr, (unsigned long long)e->ref);
        }
        if (!h.next)
            return text.ptr;
        after = h.next;
    }
}

void scene_events_of(struct scene *s, const char *id, uint64_t execution, const char *expected)
{
    scene_settle(s);
    ck_assert_str_eq(scene_history(s, id, execution), expected);
}

void scene_events(struct scene *s, const char *id, const char *expected)
{
    scene_events_of(s, id, 0, expected);
}

int scene_kind_count(struct scene *s, const char *id, const char *kind)
{
    int n = 0;
    size_t len = strlen(kind);
    for (const char *at = scene_history(s, id, 0); (at = strstr(at, kind)); at += len)
        n += at[len] == 0 || at[len] == ' ' || at[len] == '#';
    return n;
}

pawl_stats scene_stats(struct scene *s)
{
    pawl_stats stats;
    scene_up(s);
    pawl_runtime_stats(s->rt, &stats);
    return stats;
}

pawl_depths scene_depths(struct scene *s)
{
    pawl_depths depths = {0};
    pawl_error err = {0};
    ck_assert_int_eq(s->store->ops->depths(s->store, s->now, &depths, &err), PAWL_OK);
    return depths;
}

void scene_expect_empty(struct scene *s)
{
    scene_settle(s);
    pawl_depths depths = scene_depths(s);
    ck_assert_msg(depths.messages == 0 && depths.work == 0, "%d messages and %d work rows left",
                  (int)depths.messages, (int)depths.work);
}

bool scene_logged(struct scene *s, const char *text)
{
    pthread_mutex_lock(&s->lock);
    bool found = strstr(s->log, text) != NULL;
    pthread_mutex_unlock(&s->lock);
    return found;
}
