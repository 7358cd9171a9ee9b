/* SPDX-License-Identifier: MIT */
/*
 * server/openapi_schema.c -- fields and shapes as JSON Schema (2020-12, as OpenAPI 3.1
 * has it).
 *
 * What a request may have is closed: a member that is not in its schema is refused.
 * An answer is open: it may get further members.  Called by openapi.c.
 */
#include "server/openapi.h"

#include <stdlib.h>
#include <string.h>

void openapi_put(pawl_json *w, const char *key, const char *text)
{
    pawl_json_key(w, key);
    pawl_json_cstr(w, text);
}

static void put_number(pawl_json *w, const char *key, int64_t n)
{
    pawl_json_key(w, key);
    pawl_json_num(w, n);
}

void schema_ref(pawl_json *w, pawl_mem *mem, const struct shape *shape)
{
    pawl_json_object(w);
    openapi_put(w, "$ref", pawl_mem_printf(mem, "#/components/schemas/%s", shape->name).ptr);
    pawl_json_end(w);
}

/* ---- A field ---------------------------------------------------------------------- */

static void write_type(pawl_json *w, const char *type, bool or_null)
{
    pawl_json_key(w, "type");
    if (!or_null) {
        pawl_json_cstr(w, type);
        return;
    }
    pawl_json_array(w);
    pawl_json_cstr(w, type);
    pawl_json_cstr(w, "null");
    pawl_json_end(w);
}

static void write_words(pawl_json *w, const struct field *f)
{
    pawl_json_key(w, "enum");
    pawl_json_array(w);
    for (const char *at = f->words; *at;) {
        size_t n = strcspn(at, " ");
        pawl_json_str(w, (pawl_str){at, n});
        at += n + (at[n] == ' ');
    }
    if (f->flags & OR_NULL)
        pawl_json_null(w);
    pawl_json_end(w);
}

static void write_bounds(pawl_json *w, const struct field *f, const char *least, const char *most)
{
    if (!f->min && !f->max)
        return;
    if (f->min || f->kind == KIND_WHOLE || f->kind == KIND_NUMBER)
        put_number(w, least, f->min);
    if (f->max && f->max < INT64_MAX)
        put_number(w, most, f->max);
    else if (f->max) /* exactly what a whole number here can be */
        put_number(w, most, INT64_MAX);
}

static void write_text(pawl_json *w, const struct field *f)
{
    write_bounds(w, f, "minLength", "maxLength");
    if (f->pattern)
        openapi_put(w, "pattern", f->pattern);
}

static void write_items(pawl_json *w, pawl_mem *mem, const struct field *f)
{
    write_bounds(w, f, "minItems", "maxItems");
    pawl_json_key(w, "items");
    if (f->kind == KIND_LIST) {
        schema_ref(w, mem, f->inside);
        return;
    }
    pawl_json_object(w);
    if (f->kind == KIND_TEXTS) {
        openapi_put(w, "type", "string");
        put_number(w, "minLength", 1);
        if (f->pattern)
            openapi_put(w, "pattern", f->pattern);
    } else if (f->kind == KIND_NUMBERS) {
        openapi_put(w, "type", "number");
        put_number(w, "minimum", 0);
        if (f->each_max)
            put_number(w, "maximum", f->each_max);
    }
    pawl_json_end(w);
}

/* Names that people choose, with a text, a whole number or null each: as attributes.c reads them. */
static void write_attributes(pawl_json *w)
{
    put_number(w, "maxProperties", PAWL_ATTRIBUTES_MAX);
    pawl_json_key(w, "propertyNames");
    pawl_json_raw(w, pawl_s("{\"pattern\":\"^(?!pawl[.])[a-z][a-z0-9_.-]{0,62}$\"}"));
    pawl_json_key(w, "additionalProperties");
    pawl_json_object(w);
    pawl_json_key(w, "type");
    pawl_json_raw(w, pawl_s("[\"string\",\"integer\",\"null\"]"));
    put_number(w, "maxLength", PAWL_ATTRIBUTE_TEXT_MAX);
    openapi_put(w, "pattern", "^[^\\u0000-\\u001f\\u007f]*$");
    put_number(w, "minimum", INT64_MIN);
    put_number(w, "maximum", INT64_MAX);
    pawl_json_end(w);
}

static void write_members(pawl_json *w, pawl_mem *mem, const struct field *f)
{
    static const char *const types[] = {
        [KIND_TEXT] = "string",   [KIND_WHOLE] = "integer", [KIND_NUMBER] = "number",
        [KIND_TRUTH] = "boolean", [KIND_OBJECT] = "object", [KIND_ATTRIBUTES] = "object",
        [KIND_LIST] = "array",    [KIND_TEXTS] = "array",   [KIND_VALUES] = "array",
        [KIND_NUMBERS] = "array"};
    if (f->kind != KIND_ANY)
        write_type(w, types[f->kind], f->flags & OR_NULL);
    if (f->words && f->kind == KIND_TEXT)
        write_words(w, f);
    else if (
        f->words) { /* a truth that can only be false: an enum of one would puzzle generators */
        pawl_json_key(w, "not");
        pawl_json_raw(w, pawl_s("{\"const\":true}"));
    }
    if (f->kind == KIND_TEXT)
        write_text(w, f);
    else if (f->kind == KIND_WHOLE || f->kind == KIND_NUMBER)
        write_bounds(w, f, "minimum", "maximum");
    if (f->kind == KIND_ATTRIBUTES)
        write_attributes(w);
    if (f->kind >= KIND_LIST)
        write_items(w, mem, f);
    if (f->kind == KIND_NUMBER)
        openapi_put(w, "format", "double");
    else if (f->kind == KIND_WHOLE && f->max) /* unbounded: of any size, and clamped to the range */
        openapi_put(w, "format", "int64");
}

/* An object of a shape of its own: a reference, or that or null. */
static void write_inside(pawl_json *w, pawl_mem *mem, const struct field *f)
{
    if (!(f->flags & OR_NULL)) {
        openapi_put(w, "$ref",
                    pawl_mem_printf(mem, "#/components/schemas/%s", f->inside->name).ptr);
        return;
    }
    pawl_json_key(w, "anyOf");
    pawl_json_array(w);
    schema_ref(w, mem, f->inside);
    pawl_json_object(w);
    openapi_put(w, "type", "null");
    pawl_json_end(w);
    pawl_json_end(w);
}

void schema_field(pawl_json *w, pawl_mem *mem, const struct field *f, bool described)
{
    pawl_json_object(w);
    if (f->kind == KIND_OBJECT && f->inside)
        write_inside(w, mem, f);
    else
        write_members(w, mem, f);
    if (f->otherwise && (!f->words || f->kind != KIND_TEXT)) { /* Go cannot have one of an enum */
        pawl_json_key(w, "default");
        pawl_json_raw(w, pawl_s(f->otherwise));
    }
    if (described)
        openapi_put(w, "description", f->about);
    pawl_json_end(w);
}

/* ---- A shape ---------------------------------------------------------------------------- */

static void write_required(pawl_json *w, const struct shape *s)
{
    bool any = false;
    for (const struct field *f = s->fields; f->name; f++)
        any = any || (f->flags & NEEDED);
    if (!any)
        return;
    pawl_json_key(w, "required");
    pawl_json_array(w);
    for (const struct field *f = s->fields; f->name; f++)
        if (f->flags & NEEDED)
            pawl_json_cstr(w, f->name);
    pawl_json_end(w);
}

/* The field contradicts one that comes later: each pair is met once. */
static bool is_first_of_pair(const struct field *f)
{
    const struct field *other = f + 1;
    while (f->not_with && other->name && strcmp(other->name, f->not_with) != 0)
        other++;
    return f->not_with && other->name;
}

static void write_pair(pawl_json *w, const struct field *f)
{
    pawl_json_object(w);
    pawl_json_key(w, "required");
    pawl_json_array(w);
    pawl_json_cstr(w, f->name);
    pawl_json_cstr(w, f->not_with);
    pawl_json_end(w);
    pawl_json_end(w);
}

/* "not": both of two that contradict each other, for each such pair, and what is never right. */
static void write_contradictions(pawl_json *w, const struct shape *s)
{
    bool any = s->never;
    for (const struct field *f = s->fields; f->name; f++)
        any = any || is_first_of_pair(f);
    if (!any)
        return;
    pawl_json_key(w, "not");
    pawl_json_object(w);
    pawl_json_key(w, "anyOf");
    pawl_json_array(w);
    for (const struct field *f = s->fields; f->name; f++)
        if (is_first_of_pair(f))
            write_pair(w, f);
    if (s->never)
        pawl_json_raw(w, pawl_s(s->never));
    pawl_json_end(w);
    pawl_json_end(w);
}

/* Nothing else: as the names there may be.  "additionalProperties":false says the same, but
 * openapi-generator takes it for true in 3.1, and its clients send every member twice. */
static void write_closed(pawl_json *w, const struct shape *s)
{
    if (!s->fields->name) {
        put_number(w, "maxProperties", 0);
        return;
    }
    pawl_json_key(w, "propertyNames");
    pawl_json_object(w);
    pawl_json_key(w, "enum");
    pawl_json_array(w);
    for (const struct field *f = s->fields; f->name; f++)
        pawl_json_cstr(w, f->name);
    pawl_json_end(w);
    pawl_json_end(w);
}

static void write_object(pawl_json *w, pawl_mem *mem, const struct shape *s, const char *title,
                         bool closed)
{
    pawl_json_object(w);
    openapi_put(w, "title", title);
    openapi_put(w, "type", "object");
    pawl_json_key(w, "properties");
    pawl_json_object(w);
    for (const struct field *f = s->fields; f->name; f++) {
        pawl_json_key(w, f->name);
        schema_field(w, mem, f, true);
    }
    pawl_json_end(w);
    write_required(w, s);
    write_contradictions(w, s);
    if (closed)
        write_closed(w, s);
    pawl_json_end(w);
}

static void write_shape(pawl_json *w, pawl_mem *mem, const struct shape *s, bool closed)
{
    pawl_json_key(w, s->name);
    if (!s->instead) {
        write_object(w, mem, s, s->name, closed);
        return;
    }
    struct shape one = *s; /* a name for the first of two: generators want one */
    one.name = pawl_mem_printf(mem, "%sOne", s->name).ptr;
    pawl_json_object(w);
    pawl_json_key(w, "oneOf");
    pawl_json_array(w);
    schema_ref(w, mem, &one);
    schema_ref(w, mem, s->instead);
    pawl_json_end(w);
    pawl_json_end(w);
    pawl_json_key(w, one.name);
    write_object(w, mem, s, one.name, closed);
}

/* ---- All of them -------------------------------------------------------------------------- */

static void collect(struct schemas *all, const struct shape *s, bool closed)
{
    if (!s || s->presence == BODY_VALUE)
        return;
    for (size_t i = 0; i < all->list.count; i++)
        if (all->list.items[i].shape == s)
            return;
    *list_add(all->mem, &all->list) = (struct schema){s, closed};
    collect(all, s->instead, closed);
    for (const struct field *f = s->fields; f->name; f++)
        collect(all, f->inside, closed);
}

void schemas_of_route(struct schemas *all, const struct route *r)
{
    collect(all, r->body, true);
    collect(all, gives_of(r, 400), false);
    for (const char *at = r->statuses; *at; at += strspn(at, " ")) {
        collect(all, gives_of(r, (unsigned)strtoul(at, NULL, 10)), false);
        at += strcspn(at, " ");
    }
}

void schemas_write(const struct schemas *all, pawl_json *w)
{
    pawl_json_object(w);
    for (size_t i = 0; i < all->list.count; i++)
        write_shape(w, all->mem, all->list.items[i].shape, all->list.items[i].closed);
    pawl_json_end(w);
}
