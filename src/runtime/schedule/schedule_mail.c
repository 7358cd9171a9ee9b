/* SPDX-License-Identifier: MIT */
/* runtime/schedule/schedule_mail.c -- see the header. */
#include "runtime/schedule/schedule_mail.h"

#include "schedule/look.h"

pawl_message *schedule_wake_at(pawl_runtime *rt, struct stage *s, pawl_str name, int64_t at_ms)
{
    pawl_message *m = stage_send(rt, s, PAWL_MSG_SCHEDULE, SCHEDULE_UID, (pawl_str){0});
    m->name = name;
    m->shard = rt_shard_of(rt, name);
    m->visible_ms = at_ms;
    return m;
}

void schedule_run_ended(pawl_runtime *rt, struct stage *s, pawl_str id, const char *how)
{
    pawl_str name;
    if (LIKELY(!look_is_run(id, &name)) || !schedule_works(rt))
        return;
    pawl_message *m = schedule_wake_at(rt, s, arena_dup(&rt->group_mem, name), 0);
    m->data = arena_dup(&rt->group_mem, id);
    m->attrs = pawl_mem_printf(&rt->group_mem, "{\"ended\":\"%s\"}", how);
}
