/* SPDX-License-Identifier: MIT */
/* runtime/core/letter.c -- see letter.h.  [engine], except request_create. */
#include "runtime/core/letter.h"

#include "base/limits.h"
#include "base/pack.h"
#include "runtime/core/coming.h"
#include "runtime/core/owed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct letter *letter_create(const struct mail *mail, uint64_t uid, pawl_str instance, pawl_str key)
{
    size_t bytes = mail->name.len + mail->data.len + mail->attrs.len + instance.len + key.len + 5;
    struct letter *l = malloc(sizeof(*l) + bytes);
    if (!l)
        return NULL;
    memset(l, 0, sizeof(*l));
    char *at = (char *)(l + 1);
    l->mail = *mail;
    l->mail.name = pack_str(&at, mail->name);
    l->mail.data = pack_str(&at, mail->data);
    l->mail.attrs = pack_str(&at, mail->attrs);
    l->instance = pack_str(&at, instance);
    l->key = pack_str(&at, key);
    l->uid = uid;
    return l;
}

struct letter *letter_of_row(pawl_runtime *rt, const pawl_message *row)
{
    if (map_get(&rt->letters.inflight, row->id))
        return NULL;
    struct mail mail = {.id = row->id,
                        .kind = row->kind,
                        .execution = row->execution,
                        .ref = row->ref,
                        .name = row->name,
                        .data = row->data,
                        .attrs = row->attrs};
    struct letter *l = letter_create(&mail, row->uid, row->instance, (pawl_str){0});
    /* Its row is taken, and what came after it must not overtake it. */
    need_memory(l && map_put(&rt->letters.inflight, row->id, l));
    l->stored = true;
    l->attempt = row->attempt;
    l->created_ms = row->created_ms;
    if (row->kind == PAWL_MSG_START && !row->uid)
        coming_add(rt, row->instance, row->id);
    return l;
}

void letter_drop(pawl_runtime *rt, struct letter *l, pawl_status status, const char *text)
{
    if (l->stored)
        map_remove(&rt->letters.inflight, l->mail.id);
    if (l->mail.kind == PAWL_MSG_START && !l->uid)
        coming_gone(rt, l);
    if (l->request && status == PAWL_OK)
        request_answer(l->request, &(pawl_reply){.status = PAWL_OK});
    else if (l->request)
        request_refuse(l->request, status, "%s", text);
    free(l);
}

void letter_todo(pawl_runtime *rt, struct letter *l)
{
    l->next = NULL;
    *rt->letters.todo_end = l;
    rt->letters.todo_end = &l->next;
    rt->letters.todo_count++;
}

void letter_later(pawl_runtime *rt, struct letter *l)
{
    l->next = NULL;
    *rt->letters.later_end = l;
    rt->letters.later_end = &l->next;
}

void letter_back(pawl_runtime *rt, struct letter *list)
{
    if (!list)
        return;
    struct letter *last = list;
    size_t n = 1;
    for (; last->next; last = last->next)
        n++;
    last->next = rt->letters.todo;
    if (!rt->letters.todo)
        rt->letters.todo_end = &last->next;
    rt->letters.todo = list;
    rt->letters.todo_count += n;
}

static bool is_on_the_way(const struct letter *l, uint64_t id)
{
    while (l && l->work_id != id)
        l = l->next;
    return l != NULL;
}

bool letter_has_work(const pawl_runtime *rt, uint64_t id)
{
    return is_on_the_way(rt->letters.todo, id) || is_on_the_way(rt->letters.later, id);
}

struct letter *letter_next(pawl_runtime *rt)
{
    struct letter *l = rt->letters.todo;
    if (!l)
        return NULL;
    rt->letters.todo = l->next;
    if (!rt->letters.todo)
        rt->letters.todo_end = &rt->letters.todo;
    rt->letters.todo_count--;
    l->next = NULL;
    return l;
}

static size_t length(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

struct request *request_create(const pawl_request *args, pawl_reply_fn *fn, void *arg)
{
    size_t bytes = length(args->instance) + length(args->name) + length(args->version) +
                   length(args->reason) + length(args->idempotency_key) + args->data.len + 1;
    struct request *req = malloc(sizeof(*req) + bytes);
    if (!req)
        return NULL;
    memset(req, 0, sizeof(*req));
    req->item.kind = ITEM_REQUEST;
    req->args = *args;
    req->fn = fn;
    req->arg = arg;
    char *at = req->text;
    req->args.instance = pack_text(&at, args->instance);
    req->args.name = pack_text(&at, args->name);
    req->args.version = pack_text(&at, args->version);
    req->args.reason = pack_text(&at, args->reason);
    req->args.idempotency_key = pack_text(&at, args->idempotency_key);
    req->args.data = pack_str(&at, args->data);
    return req;
}

void request_answer(struct request *req, const pawl_reply *reply)
{
    owed_done(&req->item);
    if (req->fn)
        req->fn(req->arg, reply);
    free(req);
}

void request_refuse(struct request *req, pawl_status status, const char *format, ...)
{
    pawl_reply reply = {.status = status, .error.status = status};
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reply.error.text, sizeof(reply.error.text), format, args);
    va_end(args);
    request_answer(req, &reply);
}

void letter_open(pawl_runtime *rt)
{
    rt->letters.todo_end = &rt->letters.todo;
    rt->letters.later_end = &rt->letters.later;
    map_init(&rt->letters.inflight);
}

void letter_close(pawl_runtime *rt)
{
    map_deinit(&rt->letters.inflight);
}
