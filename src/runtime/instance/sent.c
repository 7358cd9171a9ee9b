/* SPDX-License-Identifier: MIT */
/* runtime/instance/sent.c -- see sent.h. */
#include "runtime/instance/sent.h"

#include "runtime/core/peek.h"
#include "runtime/core/stage.h"

/* The key tells the sender's call from all others, also in the copy that is kept for a name. */
static pawl_str attrs_of(pawl_runtime *rt, const struct stage *s, const struct step *step)
{
    return pawl_mem_printf(
        &rt->group_mem, "{\"key\":\"%llu:%llu:%llu\"%s}", (unsigned long long)s->row.uid,
        (unsigned long long)step->event.execution, (unsigned long long)step->event.ref,
        step->await_start ? ",\"await_start\":true" : "");
}

void sent_derive(pawl_runtime *rt, struct stage *s, const struct step *step)
{
    pawl_message *m = list_add(&rt->group_mem, &s->messages);
    *m = (pawl_message){.id = step->event.rid,
                        .instance = step->child,
                        .kind = PAWL_MSG_EXTERNAL_RAISED,
                        .shard = rt_shard_look(rt),
                        .execution = step->event.execution,
                        .ref = step->event.ref,
                        .name = step->event.name,
                        .data = step->event.data,
                        .attrs = attrs_of(rt, s, step),
                        .created_ms = s->now_ms};
}

bool sent_awaits_start(const struct letter *l)
{
    return pawl_json_bool(l->mail.attrs, "/await_start", false);
}

/* A copy of it, in a mailbox; the row by name goes. */
static pawl_message *move(pawl_runtime *rt, struct stage *s, const struct letter *l, uint64_t uid,
                          pawl_str instance)
{
    pawl_message *m = stage_send(rt, s, PAWL_MSG_EXTERNAL_RAISED, uid, instance);
    m->name = l->mail.name;
    m->data = l->mail.data;
    m->mailbox = true;
    stage_drop_message(rt, s, l->mail.id);
    return m;
}

uint64_t sent_take_over(pawl_runtime *rt, struct stage *s, const struct letter *l)
{
    pawl_message *m = move(rt, s, l, s->row.uid, (pawl_str){0});
    peek_adopted(rt, s, m, l->mail.id);
    return m->id;
}

void sent_keep(pawl_runtime *rt, struct stage *s, const struct letter *l)
{
    move(rt, s, l, 0, l->instance)->attrs = l->mail.attrs;
}

struct delivered sent_drop(pawl_runtime *rt, struct letter *l, const char *why)
{
    struct stage *s = stage_bare(rt);
    log_warn(&rt->log, "turn", "event raised by an orchestration is dropped",
             "instance=%.*s event=%.*s why=\"%s\"", PAWL_FMT(l->instance), PAWL_FMT(l->mail.name),
             why);
    COUNT(rt, raises_dropped);
    stage_drop_message(rt, s, l->mail.id);
    stage_take(s, l);
    return verdict_done();
}
