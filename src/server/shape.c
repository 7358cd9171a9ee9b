/* SPDX-License-Identifier: MIT */
/*
 * server/shape.c -- a body against its shape.
 *
 * An unknown member is refused with the list of the known ones: if it were ignored, a
 * misspelt "priority" would purge a whole queue instead of a part of it.  For the same
 * reason a member may be there only once, and not together with one that contradicts it.
 * --lenient ignores such members, as earlier versions did.
 *
 * Called by call.c for every body, and by handlers for objects inside.
 */
#include "server/shape.h"

#include "base/json.h"
#include "base/near.h"
#include "server/server.h"

#include <string.h>

#define SHOWN      100 /* bytes of an unknown name: what is known must have room behind it */
#define FIELDS_MAX 32  /* of a shape */

static bool is_called(pawl_str key, const char *name)
{
    return strncmp(key.ptr, name, key.len) == 0 && !name[key.len];
}

static const struct field *find(const struct shape *shape, pawl_str key)
{
    for (const struct field *f = shape->fields; f->name; f++)
        if (is_called(key, f->name))
            return f;
    return NULL;
}

/* Where the object is, for people; made only when something is wrong there. */
struct json_place {
    const char *where;
    size_t at;
};

static const char *place_text(struct call *c, struct json_place p)
{
    if (!p.where)
        return "";
    if (p.at == NOWHERE)
        return pawl_mem_printf(c->mem, " in %s", p.where).ptr;
    return pawl_mem_printf(c->mem, " in %s[%zu]", p.where, p.at).ptr;
}

static bool refuse_unknown(struct call *c, const struct shape *shape, pawl_str key,
                           struct json_place p)
{
    const char *words[FIELDS_MAX], *known = "";
    size_t count = 0;
    for (const struct field *f = shape->fields; f->name; f++) {
        words[count++] = f->name;
        known = pawl_mem_printf(c->mem, "%s%s%s", known, known[0] ? ", " : "", f->name).ptr;
    }
    if (key.len > SHOWN)
        key.len = SHOWN;
    const char *near = nearest_word(pawl_mem_dup(c->mem, key).ptr, words, count);
    answer_error(c, 400, "invalid", "unknown field '%.*s'%s%s%s%s; known here: %s", PAWL_FMT(key),
                 place_text(c, p), near ? " (did you mean '" : "", near ? near : "",
                 near ? "'?)" : "", count ? known : "none");
    return false;
}

static bool refuse_both(struct call *c, const char *a, const char *b, struct json_place p)
{
    answer_error(c, 400, "invalid", "'%s' and '%s' contradict each other%s; give one of them", a, b,
                 place_text(c, p));
    return false;
}

/* A member that is known; `seen`: the others. */
static bool check_member(struct call *c, const struct field *f, bool seen, struct json_place p)
{
    if (seen)
        answer_error(c, 400, "invalid", "'%s' is given twice%s; give it once", f->name,
                     place_text(c, p));
    return !seen;
}

static bool check_contradictions(struct call *c, const struct shape *shape, uint64_t seen,
                                 struct json_place p)
{
    for (const struct field *f = shape->fields; f->name; f++) {
        if (!f->not_with || !(seen >> (f - shape->fields) & 1))
            continue;
        const struct field *other = find(shape, pawl_s(f->not_with));
        assert_that(other);
        if (seen >> (other - shape->fields) & 1)
            return refuse_both(c, f->name, other->name, p);
    }
    return true;
}

static bool check_members(struct call *c, const struct fields *members, const struct shape *shape,
                          struct json_place p)
{
    uint64_t seen = 0;
    /* with more members than the index holds, at least one is unknown or doubled */
    for (size_t i = 0; i < members->count; i++) {
        const struct field *f = find(shape, members->items[i].name);
        if (!f)
            return refuse_unknown(c, shape, members->items[i].name, p);
        uint64_t bit = UINT64_C(1) << (f - shape->fields);
        if (!check_member(c, f, seen & bit, p))
            return false;
        seen |= bit;
    }
    return check_contradictions(c, shape, seen, p);
}

bool shape_check(struct call *c, pawl_str object, const struct shape *shape, const char *where,
                 size_t at)
{
    const struct shape *instead = shape->instead;
    struct json_place p = {where, at};
    if (c->srv->opts.lenient && !shape->always)
        return true;
    if (instead && call_field(c, object, instead->fields->name).ptr) {
        if (call_field(c, object, shape->fields->name).ptr)
            return refuse_both(c, shape->fields->name, instead->fields->name, p);
        shape = instead;
    }
    return check_members(c, call_fields(c, object), shape, p);
}
