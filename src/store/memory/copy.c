/* SPDX-License-Identifier: MIT */
/* store/memory/copy.c -- see the header. */
#include "store/memory/copy.h"

#include "base/attr.h"
#include "store/sql/columns.h"

#include <stdlib.h>
#include <string.h>

/* The strings of a row, from the list of its columns. */
/* clang-format off */
#define STRINGS_PRIMARY(of, column)
#define STRINGS_ID(of, column)
#define STRINGS_I64(of, column)
#define STRINGS_INT(of, column)
#define STRINGS_U32(of, column)
#define STRINGS_BOOL(of, column)
#define STRINGS_STATE(of, column)
#define STRINGS_KIND(of, column)
#define STRINGS_LEASE(of, column)
#define STRINGS_SUM(of, column)
#define STRINGS_JOINED(of, column)
#define STRINGS_TEXT(of, column)  offsetof(of, column),
#define STRINGS_NAME(of, column)  offsetof(of, column),
#define STRINGS_BYTES(of, column) offsetof(of, column),

#define ROW_STRINGS(position, use, type, column, note)     STRINGS_##type(pawl_row, column)
#define MESSAGE_STRINGS(position, use, type, column, note) STRINGS_##type(pawl_message, column)
#define WORK_STRINGS(position, use, type, column, note)    STRINGS_##type(pawl_work, column)
#define EVENT_STRINGS(position, use, type, column, note)   STRINGS_##type(pawl_event, column)

#define SHAPE(of, ...) {sizeof(of), sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), {__VA_ARGS__}}
const struct row_shape shape_row = SHAPE(pawl_row, SQL_INSTANCE(ROW_STRINGS) SQL_HEAD(ROW_STRINGS));
const struct row_shape shape_message = SHAPE(pawl_message, SQL_MESSAGE(MESSAGE_STRINGS));
const struct row_shape shape_work = SHAPE(pawl_work, SQL_WORK(WORK_STRINGS));
const struct row_shape shape_event = SHAPE(pawl_event, SQL_HISTORY(EVENT_STRINGS));
/* clang-format on */

static pawl_str *string_at(const struct row_shape *shape, void *item, size_t i)
{
    return (pawl_str *)(void *)((char *)item + shape->at[i]);
}

static pawl_str keep(pawl_str s)
{
    if (s.len == 0)
        return (pawl_str){0};
    char *ptr = copy_alloc(s.len);
    memcpy(ptr, s.ptr, s.len);
    return (pawl_str){.ptr = ptr, .len = s.len};
}

static void drop(pawl_str s)
{
    free((void *)(uintptr_t)s.ptr);
}

void *copy_alloc(size_t size)
{
    void *p = calloc(1, size);
    need_memory(p != NULL);
    return p;
}

void copy_keep(const struct row_shape *shape, void *to, const void *from)
{
    memcpy(to, from, shape->size);
    for (size_t i = 0; i < shape->count; i++)
        *string_at(shape, to, i) = keep(*string_at(shape, to, i));
}

void copy_drop(const struct row_shape *shape, void *kept)
{
    for (size_t i = 0; i < shape->count; i++)
        drop(*string_at(shape, kept, i));
}

void copy_give(const struct row_shape *shape, void *to, const void *from, pawl_mem *mem)
{
    memcpy(to, from, shape->size);
    for (size_t i = 0; i < shape->count; i++)
        *string_at(shape, to, i) = pawl_mem_dup(mem, *string_at(shape, to, i));
}

void copy_set(pawl_str *kept, pawl_str value)
{
    pawl_str old = *kept;
    *kept = keep(value);
    drop(old);
}
