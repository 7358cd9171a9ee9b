/* SPDX-License-Identifier: MIT */
/* tests/scenario/schedule_verbs.h -- what scenarios do with schedules: put one, look at it. */
#ifndef PAWL_TESTS_SCHEDULE_VERBS_H
#define PAWL_TESTS_SCHEDULE_VERBS_H

#include "scene.h"

#include "pawl/json.h"
#include "pawl/schedule.h"

#define MINUTE    INT64_C(60000)
#define RUN(time) "n@2023-11-14T" time "Z" /* the id of a run of "n" */

static inline pawl_status try_put(struct scene *s, const char *name, const char *json)
{
    return scene_do(s,
                    PAWL_REQUEST(.op = PAWL_OP_SCHEDULE_PUT, .name = name, .data = pawl_s(json)));
}

static inline void put(struct scene *s, const char *name, const char *json)
{
    pawl_status rc = try_put(s, name, json);
    ck_assert_msg(rc == PAWL_OK, "%s", s->reply.error.text);
}

static inline const char *show(struct scene *s, const char *name)
{
    pawl_error err = {0};
    pawl_str text;
    scene_up(s);
    pawl_status rc = pawl_schedule_get(s->c, name, s->mem, &text, &err);
    return rc == PAWL_OK ? text.ptr : "none";
}

static inline int64_t number(struct scene *s, const char *name, const char *pointer)
{
    return pawl_json_int(pawl_s(show(s, name)), pointer, 0);
}

static inline void sleep_through(struct scene *s, int64_t ms)
{
    scene_down(s);
    s->now += ms;
    s->mono += ms;
    scene_up(s);
    scene_settle(s);
}

static inline bool is_there(struct scene *s, const char *id)
{
    pawl_state state;
    pawl_error err;
    scene_up(s);
    return pawl_client_state(s->c, id, s->mem, &state, &err) == PAWL_OK;
}

#endif
