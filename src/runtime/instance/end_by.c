/* SPDX-License-Identifier: MIT */
/* runtime/instance/end_by.c -- see deadline.h. */
#include "runtime/instance/end_by.h"

#include "runtime/core/letter.h"
#include "runtime/core/stage.h"
#include "store/store.h"

#define INHERITED "the deadline of its parent passed"

void deadline_fix(pawl_runtime *rt, struct letter *l)
{
    int64_t from = l->ask.start_ms > rt->now_ms ? l->ask.start_ms : rt->now_ms;
    if (!l->ask.deadline_ms)
        return;
    int64_t until = from + l->ask.deadline_ms;
    pawl_str version = pawl_json_get(l->mail.attrs, "/version");
    letter_set_attrs(l, pawl_mem_printf(&rt->group_mem,
                                        "{%s%.*s%s\"deadline_ms\":%lld,\"limit_ms\":%lld}",
                                        version.len ? "\"version\":" : "", PAWL_FMT(version),
                                        version.len ? "," : "", (long long)until,
                                        (long long)l->ask.deadline_ms));
}

int64_t deadline_of(const struct letter *l)
{
    return l->mail.attrs.len ? pawl_json_int(l->mail.attrs, "/deadline_ms", 0) : 0;
}

/* "1h30m", exactly. */
static pawl_str duration(pawl_mem *mem, int64_t ms)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {
        {"d",  86400000},
        {"h",  3600000 },
        {"m",  60000   },
        {"s",  1000    },
        {"ms", 1       }
    };
    pawl_str text = {"", 0};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (ms >= units[i].ms)
            text = pawl_mem_printf(mem, "%.*s%lld%s", PAWL_FMT(text), (long long)(ms / units[i].ms),
                                   units[i].name);
        ms %= units[i].ms;
    }
    return text;
}

static void send(pawl_runtime *rt, struct stage *s, int64_t at_ms, pawl_str reason)
{
    pawl_message *m = stage_send(rt, s, PAWL_MSG_CANCEL, s->row.uid, (pawl_str){0});
    m->visible_ms = at_ms > 0 ? at_ms : 1;
    m->data = reason;
}

void deadline_set(pawl_runtime *rt, struct stage *s, const struct letter *l)
{
    int64_t at_ms = deadline_of(l);
    if (!at_ms)
        return;
    int64_t limit_ms = pawl_json_int(l->mail.attrs, "/limit_ms", 0);
    pawl_str reason = pawl_s(INHERITED);
    if (limit_ms)
        reason = pawl_mem_printf(&rt->group_mem, "deadline of %s passed",
                                 duration(&rt->group_mem, limit_ms).ptr);
    send(rt, s, at_ms, reason);
}

/* Is it the message of a deadline?  Any other cancel is due at once. */
static bool is_deadline(const pawl_message *m)
{
    return m->kind == PAWL_MSG_CANCEL && m->visible_ms > 0;
}

/* False: the store did not answer. */
static bool read_messages(pawl_runtime *rt, const struct stage *s, pawl_message_list *ret)
{
    pawl_error err;
    arena_reset(&rt->load_mem);
    return store_read_messages(rt->store, s->row.uid, (pawl_str){0}, &rt->load_mem, ret, &err) ==
           PAWL_OK;
}

void deadline_drop(pawl_runtime *rt, struct stage *s)
{
    pawl_message_list list = {0};
    for (size_t i = s->messages.count; i-- > 0;)
        if (is_deadline(&s->messages.items[i]))
            stage_drop_message(rt, s, s->messages.items[i].id);
    if (s->change == PAWL_ROW_INSERT || !read_messages(rt, s, &list))
        return;
    for (size_t i = 0; i < list.count; i++)
        if (is_deadline(&list.items[i]))
            stage_drop_message(rt, s, list.items[i].id);
}

void deadline_again(pawl_runtime *rt, struct stage *s, int64_t at_ms)
{
    pawl_message_list list = {0};
    bool there = !at_ms || !read_messages(rt, s, &list);
    for (size_t i = 0; i < list.count; i++)
        there = there || is_deadline(&list.items[i]);
    if (!there)
        send(rt, s, at_ms, pawl_s("deadline passed"));
}
