/* SPDX-License-Identifier: MIT */
/* runtime/core/letter.c -- see letter.h.  [engine], except letter_of_request(). */
#include "runtime/core/letter.h"

#include "base/limits.h"
#include "base/pack.h"
#include "base/rand.h"
#include "runtime/core/coming.h"
#include "runtime/core/owed.h"
#include "tables/operations.h"

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
    /* Nothing was read ahead and no client asked: the rest is not looked at. */
    memset(&l->next, 0, offsetof(struct letter, known) - offsetof(struct letter, next));
    l->known.pass = 0;
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

static void end(struct letter *l)
{
    free(l->attrs);
    free(l->raises);
    free(l);
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
    l->shard = row->shard;
    l->created_ms = row->created_ms;
    if (row->kind == PAWL_MSG_START && !row->uid)
        coming_add(rt, row);
    return l;
}

void letter_drop(pawl_runtime *rt, struct letter *l, pawl_status status, const char *text)
{
    if (l->stored)
        map_remove(&rt->letters.inflight, l->mail.id);
    if (l->mail.kind == PAWL_MSG_START && !l->uid)
        coming_gone(rt, l);
    if (l->asked && status == PAWL_OK)
        letter_answer(l, &(pawl_reply){.status = PAWL_OK});
    else if (l->asked)
        letter_refuse(l, status, "%s", text);
    end(l);
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

/* ---- Clients' calls --------------------------------------------------------------- */

#define VERSION_ATTRS "{\"version\":\"%s\"}"
#define ID_BYTES      37 /* of an id that the engine makes up */

/* An operation without a message carries its data. */
static pawl_str data_of(const struct operation *o, const pawl_request *q)
{
    if (o->reason)
        return pawl_s(q->reason ? q->reason : o->reason);
    return q->data.ptr ? q->data : (pawl_str){0};
}

static pawl_str pack_version(char **at, const char *version)
{
    if (!version)
        return (pawl_str){0};
    pawl_str attrs = {*at, (size_t)sprintf(*at, VERSION_ATTRS, version)};
    *at += attrs.len + 1;
    return attrs;
}

static pawl_str pack_update_key(char **at, pawl_str id)
{
    pawl_str key = {*at, sizeof(UPDATE_KEY) - 1 + id.len};
    *at = mempcpy(*at, UPDATE_KEY, sizeof(UPDATE_KEY) - 1);
    (void)pack_str(at, id);
    return key;
}

#define START_UPDATE "start" /* id of the update that comes with a start, unless it has a key */

/* {"update":"ID"}; an id is UTF-8. */
static pawl_str pack_update_attrs(char **at, pawl_str id)
{
    char *to = *at;
    to = stpcpy(to, "{\"update\":\"");
    for (size_t i = 0; i < id.len; i++) {
        if (id.ptr[i] == '"' || id.ptr[i] == '\\')
            *to++ = '\\';
        if ((unsigned char)id.ptr[i] < ' ')
            to += sprintf(to, "\\u%04x", id.ptr[i]);
        else
            *to++ = id.ptr[i];
    }
    to = stpcpy(to, "\"}");
    pawl_str attrs = {*at, (size_t)(to - *at)};
    *at = to + 1;
    return attrs;
}

static struct letter_raise pack_start_update(char **at, const pawl_request *q, pawl_str id)
{
    return (struct letter_raise){.event = pack_str(at, pawl_s(q->update)),
                                 .data = pack_str(at, q->update_data),
                                 .key = pack_update_key(at, id),
                                 .attrs = pack_update_attrs(at, id)};
}

/* The events of a start, then its update.  False: no memory. */
static bool pack_raises(struct letter *l, const pawl_request *q)
{
    if (LIKELY(!q->raise_count && !q->update) || q->op != PAWL_OP_START)
        return true;
    pawl_str id = pawl_s(q->update_key ? q->update_key : START_UPDATE);
    size_t count = q->raise_count + (q->update != NULL);
    size_t bytes =
        pawl_s(q->update).len + q->update_data.len + 7 * id.len + sizeof(UPDATE_KEY) + 40;
    for (size_t i = 0; i < q->raise_count; i++)
        bytes += pawl_s(q->raises[i].event).len + q->raises[i].data.len +
                 pawl_s(q->raises[i].idempotency_key).len + 3;
    l->raises = malloc(sizeof(*l->raises) + count * sizeof(l->raises->items[0]) + bytes);
    if (!l->raises)
        return false;
    l->raises->count = count;
    char *at = (char *)&l->raises->items[count];
    for (size_t i = 0; i < q->raise_count; i++)
        l->raises->items[i] =
            (struct letter_raise){.event = pack_str(&at, pawl_s(q->raises[i].event)),
                                  .data = pack_str(&at, q->raises[i].data),
                                  .key = pack_str(&at, pawl_s(q->raises[i].idempotency_key))};
    if (q->update)
        l->raises->items[count - 1] = pack_start_update(&at, q, id);
    return true;
}

struct letter *letter_of_request(const pawl_request *q, pawl_reply_fn *fn, void *arg)
{
    const struct operation *o = operation_at(q->op);
    bool starts = q->op == PAWL_OP_START || q->op == PAWL_OP_RERUN, keyed = o->fields & OP_KEY;
    pawl_str instance = pawl_s(q->instance), data = data_of(o, q);
    bool named = !o->reason && q->op != PAWL_OP_RERUN;
    pawl_str name = named ? pawl_s(q->name) : (pawl_str){0}; /* fields it does not use: nothing */
    pawl_str key = keyed ? pawl_s(q->idempotency_key) : (pawl_str){0};
    bool asks = key.len && q->op == PAWL_OP_UPDATE;
    const char *asked = starts ? q->version : NULL;
    size_t version = asked ? strlen(asked) + sizeof(VERSION_ATTRS) : 0;
    struct letter *l =
        malloc(sizeof(*l) + instance.len + name.len + data.len + key.len + 4 + version + ID_BYTES +
               (asks ? sizeof(UPDATE_KEY) : 0) + (starts ? q->attributes.len + 1 : 0));
    if (!l)
        return NULL;
    char *at = (char *)(l + 1);
    *l = (struct letter){
        .item.kind = ITEM_REQUEST,
        .mail = {.kind = o->message, .execution = q->op == PAWL_OP_START},
        .asked = true,
        .ask = { .op = q->op,
                 .await_start = q->await_start,
                 .force = q->force,
                 .failed = q->failed,
                 .final = q->final,
                 .limit = q->limit,
                 .before_ms = q->before_ms,
                 .if_revision = q->if_revision,
                 .start_ms = q->op == PAWL_OP_START ? q->start_at_ms : 0,
                 .delay_ms = q->op == PAWL_OP_START ? q->delay_ms : 0,
                 .deadline_ms = starts ? q->deadline_ms : 0,
                 .if_exists = q->op == PAWL_OP_START ? q->if_exists : PAWL_IF_EXISTS_RERUN,
                 .keeps_input = q->op == PAWL_OP_RERUN && !q->data.ptr,
                 .wait_ms = q->wait_ms,
                 .fn = fn,
                 .arg = arg}
    };
    l->mail.name = pack_str(&at, name);
    l->mail.data = pack_str(&at, data);
    l->mail.attrs = pack_version(&at, asked);
    l->key = asks ? pack_update_key(&at, key) : pack_str(&at, key);
    if (starts && q->attributes.len)
        l->ask.attributes = pack_str(&at, q->attributes);
    l->instance = pack_str(&at, instance); /* last: behind it is room for one that is made up */
    if (pack_raises(l, q))
        return l;
    free(l);
    return NULL;
}

void letter_name(struct letter *l, int64_t now_ms, const uint8_t bits[10])
{
    assert_that(l->ask.op == PAWL_OP_START && !l->instance.len);
    char *room = (char *)(l + 1) + (l->instance.ptr - (const char *)(l + 1));
    uuid7_format(room, now_ms, bits);
    l->instance.len = ID_BYTES - 1;
}

void letter_completes(struct letter *l, const struct mail *mail, uint64_t uid)
{
    assert_that(!letter_is_mail(l) && mail->data.ptr == l->mail.data.ptr);
    l->mail = *mail;
    l->uid = uid;
    if (mail->attrs.len)
        letter_set_attrs(l, mail->attrs);
}

void letter_set_attrs(struct letter *l, pawl_str attrs)
{
    assert_that(!l->attrs);
    l->attrs = malloc(attrs.len + 1);
    need_memory(l->attrs);
    l->mail.attrs = pack_str(&(char *){l->attrs}, attrs);
}

void letter_answer(struct letter *l, const pawl_reply *reply)
{
    assert_that(l->asked);
    l->asked = false;
    owed_done(&l->item);
    if (l->ask.fn)
        l->ask.fn(l->ask.arg, reply);
}

PAWL_PRINTF(3, 0)
static void refuse(struct letter *l, pawl_status status, const char *format, va_list args)
{
    pawl_reply reply = {.status = status, .error.status = status};
    (void)vsnprintf(reply.error.text, sizeof(reply.error.text), format, args);
    letter_answer(l, &reply);
}

void letter_refuse(struct letter *l, pawl_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(l, status, format, args);
    va_end(args);
}

void request_answer(struct letter *call, const pawl_reply *reply)
{
    letter_answer(call, reply);
    end(call);
}

void request_refuse(struct letter *call, pawl_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(call, status, format, args);
    va_end(args);
    end(call);
}

void letter_open(pawl_runtime *rt)
{
    rt->letters.todo_end = &rt->letters.todo;
    rt->letters.later_end = &rt->letters.later;
    map_init(&rt->letters.inflight);
    arena_init(&rt->letters.known_mem);
    rt->letters.pass = 1;
}

void letter_close(pawl_runtime *rt)
{
    map_deinit(&rt->letters.inflight);
    arena_deinit(&rt->letters.known_mem);
}
