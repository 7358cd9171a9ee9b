/* SPDX-License-Identifier: MIT */
/* runtime/instance/asked.c -- see asked.h. */
#include "runtime/instance/asked.h"

#include "base/hex.h"
#include "base/json.h"
#include "base/limits.h"
#include "runtime/core/stage.h"
#include "store/store.h"
#include "store/store_object.h"

#include <string.h>

#define PAGE_DEFAULT 100               /* asks in a page */
#define PIECE        100               /* objects read at once */
#define EXAMINED_MAX 5000              /* looked at for one page */
#define BYTES_MAX    ((size_t)4 << 20) /* the same, in bytes */

/* The name of an ask, or with ref 0 the beginning of all names of an instance. */
static pawl_str name_of(pawl_mem *mem, uint64_t uid, uint64_t ref)
{
    char one[17], two[17] = "";
    hex_write_u64(one, uid);
    if (ref)
        hex_write_u64(two, ref);
    return pawl_mem_printf(mem, "%s.%s", one, two);
}

static void put_number(pawl_json *w, const char *key, int64_t number)
{
    pawl_json_key(w, key);
    pawl_json_num(w, number);
}

static void put_text(pawl_json *w, const char *key, pawl_str text)
{
    pawl_json_key(w, key);
    pawl_json_str(w, text);
}

static pawl_str describe(pawl_runtime *rt, const struct stage *s, const pawl_event *e, pawl_str ask)
{
    pawl_json *w = pawl_json_new(&rt->group_mem);
    pawl_json_object(w);
    put_text(w, "instance", s->row.id);
    put_text(w, "orchestration", s->row.orchestration);
    put_number(w, "execution", (int64_t)e->execution);
    put_number(w, "id", (int64_t)e->ref);
    put_text(w, "event", e->name);
    put_number(w, "since", e->at_ms);
    pawl_json_key(w, "ask");
    json_put(w, ask);
    pawl_json_end(w);
    return pawl_json_done(w);
}

static void put(pawl_runtime *rt, struct stage *s, pawl_str name, pawl_str data)
{
    *list_add(&rt->group_mem, &s->objects) = (pawl_object){
        .kind = PAWL_OBJECT_ASK, .name = name, .version = PAWL_VERSION_ANY, .data = data};
}

void asks_open_one(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    pawl_str ask = e->attrs.len ? pawl_json_get(e->attrs, "/ask") : (pawl_str){0};
    if (!ask.len || !rt->caps.objects)
        return;
    stage_set_asks(rt, true);
    put(rt, s, name_of(&rt->group_mem, s->row.uid, e->ref), describe(rt, s, e, ask));
}

void asks_close_one(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    if (rt->caps.objects)
        put(rt, s, name_of(&rt->group_mem, s->row.uid, e->ref), (pawl_str){0});
}

void asks_repair(pawl_runtime *rt, struct stage *s, const pawl_event *e)
{
    if (e->kind == PAWL_EV_EXTERNAL_SUBSCRIBED)
        asks_open_one(rt, s, e);
    else if (stage_asks(rt))
        asks_close_one(rt, s, e);
}

bool asks_look(pawl_runtime *rt, uint64_t uid, pawl_object_list *ret)
{
    pawl_error err;
    pawl_object_list page = {0};
    LIST(pawl_object) all = {0};
    pawl_str after = {0};
    *ret = page;
    if (!stage_asks(rt))
        return true;
    pawl_str prefix = name_of(&rt->group_mem, uid, 0);
    do {
        if (store_list_objects(rt->store, PAWL_OBJECT_ASK, prefix, after, STORE_OBJECTS_PAGE,
                               &rt->group_mem, &page, &err) != PAWL_OK)
            return false;
        for (size_t i = 0; i < page.count; i++)
            *list_add(&rt->group_mem, &all) = page.items[i];
        if (page.count)
            after = page.items[page.count - 1].name;
    } while (page.count == STORE_OBJECTS_PAGE);
    *ret = (pawl_object_list){.items = all.items, .count = all.count};
    return true;
}

void asks_remove(pawl_runtime *rt, struct stage *s, const pawl_object_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        put(rt, s, list->items[i].name, (pawl_str){0});
}

pawl_status asks_open(pawl_runtime *rt, pawl_error *reterr)
{
    pawl_object_list list = {0};
    if (!rt->caps.objects)
        return PAWL_OK;
    arena_reset(&rt->load_mem);
    pawl_status rc = store_list_objects(rt->store, PAWL_OBJECT_ASK, (pawl_str){0}, (pawl_str){0}, 1,
                                        &rt->load_mem, &list, reterr);
    stage_set_asks(rt, list.count > 0);
    return rc;
}

/* ---- The list ------------------------------------------------------------------------- */

static bool has(pawl_mem *mem, pawl_str object, const char *pointer, const char *wanted)
{
    return !wanted || pawl_str_is(pawl_json_text(mem, object, pointer, ""), wanted);
}

/* A page that is being made. */
struct asks_page {
    pawl_json *w;
    uint32_t left;  /* asks that it may still have */
    size_t objects; /* looked at */
    size_t bytes;   /* of them */
    pawl_str after; /* the last one */
};

static bool has_room(const struct asks_page *p)
{
    return p->left && p->objects < EXAMINED_MAX && p->bytes < BYTES_MAX;
}

static void add_piece(pawl_mem *mem, const pawl_ask_filter *f, const pawl_object_list *piece,
                      struct asks_page *p)
{
    for (size_t i = 0; i < piece->count && has_room(p); i++) {
        const pawl_object *o = &piece->items[i];
        p->after = o->name;
        p->objects++;
        p->bytes += o->data.len;
        if (!has(mem, o->data, "/orchestration", f->orchestration) ||
            !has(mem, o->data, "/event", f->event))
            continue;
        json_put(p->w, o->data);
        p->left--;
    }
}

pawl_status asks_list(pawl_runtime *rt, const pawl_ask_filter *f, pawl_mem *mem, pawl_str *ret,
                      pawl_error *reterr)
{
    struct asks_page p = {.w = pawl_json_new(mem),
                          .left = f->limit ? f->limit : PAGE_DEFAULT,
                          .after = pawl_s(f->after)};
    pawl_object_list piece;
    pawl_json_object(p.w);
    pawl_json_key(p.w, "asks");
    pawl_json_array(p.w);
    do {
        piece = (pawl_object_list){0};
        pawl_status rc = store_list_objects(rt->store, PAWL_OBJECT_ASK, (pawl_str){0}, p.after,
                                            PIECE, mem, &piece, reterr);
        if (rc != PAWL_OK)
            return rc;
        add_piece(mem, f, &piece, &p);
    } while (piece.count == PIECE && has_room(&p));
    pawl_json_end(p.w);
    pawl_json_key(p.w, "next");
    bool last = !piece.count ||
                (piece.count < PIECE && pawl_str_eq(p.after, piece.items[piece.count - 1].name));
    if (last)
        pawl_json_null(p.w);
    else
        pawl_json_str(p.w, p.after);
    pawl_json_end(p.w);
    *ret = pawl_json_done(p.w);
    return PAWL_OK;
}
