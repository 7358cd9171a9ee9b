/* SPDX-License-Identifier: MIT */
/* store/jsonl/record.c -- see the header. */
#include "store/jsonl/record.h"

#include "base/attr.h"
#include "base/json.h"
#include "store/jsonl/text.h"
#include "tables/instance_texts.h"

#include <string.h>

#define KEY_BYTES_MAX 40

/* clang-format off */
#define FORM(name, ...)                                                                            \
    static const struct record_member name##_members[] = {__VA_ARGS__};                            \
    const struct record_form record_##name = {name##_members, COUNT_OF(name##_members)}

FORM(event,
    {"seq",    RECORD_U64,        offsetof(pawl_event, seq)},
    {"kind",   RECORD_EVENT_KIND, offsetof(pawl_event, kind)},
    {"ref",    RECORD_U64,        offsetof(pawl_event, ref)},
    {"name",   RECORD_NAME,       offsetof(pawl_event, name)},
    {"data",   RECORD_STR,        offsetof(pawl_event, data)},
    {"attrs",  RECORD_STR,        offsetof(pawl_event, attrs)},
    {"at",     RECORD_TIME,       offsetof(pawl_event, at_ms)},
    {"rid",    RECORD_U64,        offsetof(pawl_event, rid)});

#define ROW_TEXT(field, as, ...) {#field, RECORD_##as, offsetof(pawl_row, field)},
FORM(row,
    {"instance",         RECORD_NAME,  offsetof(pawl_row, id)},
    {"uid",              RECORD_U64,   offsetof(pawl_row, uid)},
    {"orchestration",    RECORD_NAME,  offsetof(pawl_row, orchestration)},
    {"version",          RECORD_NAME,  offsetof(pawl_row, version)},
    {"state",            RECORD_STATE, offsetof(pawl_row, state)},
    {"execution",        RECORD_U64,   offsetof(pawl_row, execution)},
    {"last_seq",         RECORD_U64,   offsetof(pawl_row, last_seq)},
    {"last_rid",         RECORD_U64,   offsetof(pawl_row, last_rid)},
    {"first_rid",        RECORD_U64,   offsetof(pawl_row, first_rid)},
    {"created",          RECORD_TIME,  offsetof(pawl_row, created_ms)},
    {"updated",          RECORD_TIME,  offsetof(pawl_row, updated_ms)},
    {"parent",           RECORD_NAME,  offsetof(pawl_row, parent_id)},
    {"parent_uid",       RECORD_U64,   offsetof(pawl_row, parent_uid)},
    {"parent_execution", RECORD_U64,   offsetof(pawl_row, parent_execution)},
    {"parent_ref",       RECORD_U64,   offsetof(pawl_row, parent_ref)},
    {"output",           RECORD_STR,   offsetof(pawl_row, output)},
    INSTANCE_TEXTS(ROW_TEXT));

FORM(message,
    {"id",        RECORD_U64,          offsetof(pawl_message, id)},
    {"kind",      RECORD_MESSAGE_KIND, offsetof(pawl_message, kind)},
    {"uid",       RECORD_U64,          offsetof(pawl_message, uid)},
    {"instance",  RECORD_NAME,         offsetof(pawl_message, instance)},
    {"execution", RECORD_U64,          offsetof(pawl_message, execution)},
    {"ref",       RECORD_U64,          offsetof(pawl_message, ref)},
    {"name",      RECORD_NAME,         offsetof(pawl_message, name)},
    {"data",      RECORD_STR,          offsetof(pawl_message, data)},
    {"attrs",     RECORD_STR,          offsetof(pawl_message, attrs)},
    {"visible",   RECORD_TIME,         offsetof(pawl_message, visible_ms)},
    {"created",   RECORD_TIME,         offsetof(pawl_message, created_ms)},
    {"attempt",   RECORD_U32,          offsetof(pawl_message, attempt)},
    {"mailbox",   RECORD_BOOL,         offsetof(pawl_message, mailbox)});

FORM(work,
    {"id",         RECORD_U64,  offsetof(pawl_work, id)},
    {"uid",        RECORD_U64,  offsetof(pawl_work, uid)},
    {"instance",   RECORD_NAME, offsetof(pawl_work, instance)},
    {"execution",  RECORD_U64,  offsetof(pawl_work, execution)},
    {"ref",        RECORD_U64,  offsetof(pawl_work, ref)},
    {"name",       RECORD_NAME, offsetof(pawl_work, name)},
    {"data",       RECORD_STR,  offsetof(pawl_work, input)},
    {"attrs",      RECORD_STR,  offsetof(pawl_work, attrs)},
    {"attempt",    RECORD_U32,  offsetof(pawl_work, attempt)},
    {"crashes",    RECORD_U32,  offsetof(pawl_work, crashes)},
    {"visible",    RECORD_TIME, offsetof(pawl_work, visible_ms)},
    {"scheduled",  RECORD_TIME, offsetof(pawl_work, scheduled_ms)},
    {"deadline",   RECORD_TIME, offsetof(pawl_work, deadline_ms)},
    {"last_error", RECORD_NAME, offsetof(pawl_work, last_error)},
    {"epoch",      RECORD_U64,  offsetof(pawl_work, lock_epoch)},
    {"token",      RECORD_NAME, offsetof(pawl_work, lock_token)},
    {"until",      RECORD_TIME, offsetof(pawl_work, lock_until_ms)});

FORM(message_update,
    {"id",      RECORD_U64,  offsetof(pawl_message_update, id)},
    {"visible", RECORD_TIME, offsetof(pawl_message_update, visible_ms)},
    {"attempt", RECORD_U32,  offsetof(pawl_message_update, attempt)},
    {"mailbox", RECORD_BOOL, offsetof(pawl_message_update, mailbox)});

FORM(work_update,
    {"id",         RECORD_U64,  offsetof(pawl_work_update, id)},
    {"attempt",    RECORD_U32,  offsetof(pawl_work_update, attempt)},
    {"crashes",    RECORD_U32,  offsetof(pawl_work_update, crashes)},
    {"visible",    RECORD_TIME, offsetof(pawl_work_update, visible_ms)},
    {"deadline",   RECORD_TIME, offsetof(pawl_work_update, deadline_ms)},
    {"last_error", RECORD_NAME, offsetof(pawl_work_update, last_error)},
    {"epoch",      RECORD_U64,  offsetof(pawl_work_update, lock_epoch)},
    {"token",      RECORD_NAME, offsetof(pawl_work_update, lock_token)},
    {"until",      RECORD_TIME, offsetof(pawl_work_update, lock_until_ms)});

FORM(object,
    {"name",    RECORD_NAME, offsetof(pawl_object, name)},
    {"version", RECORD_U64,  offsetof(pawl_object, version)},
    {"updated", RECORD_TIME, offsetof(pawl_object, updated_ms)},
    {"data",    RECORD_STR,  offsetof(pawl_object, data)});

FORM(fence,
    {"epoch",    RECORD_U64, offsetof(pawl_fence, epoch)},
    {"group",    RECORD_U64, offsetof(pawl_fence, group_no)},
    {"next_id",  RECORD_U64, offsetof(pawl_fence, next_id)},
    {"whole_id", RECORD_U64, offsetof(pawl_fence, whole_id)});
/* clang-format on */

static const char *const message_kinds[] = {
#define MESSAGE_NAME(name, number, text, to) [PAWL_MSG_##name] = (text),
    PAWL_MESSAGE_KINDS(MESSAGE_NAME)
#undef MESSAGE_NAME
};

/* ---- Out ---------------------------------------------------------------------- */

static void put_number(struct buf *b, const char *key, int64_t n)
{
    buf_printf(b, "\"%s\":%lld", key, (long long)n);
}

static void put_name(struct buf *b, const char *key, int number, const char *name)
{
    if (name)
        buf_printf(b, "\"%s\":\"%s\"", key, name);
    else
        put_number(b, key, number);
}

static const char *message_kind_name(int kind)
{
    return kind > 0 && kind < (int)COUNT_OF(message_kinds) ? message_kinds[kind] : NULL;
}

static bool is_zero(const struct record_member *m, const void *at)
{
    switch (m->type) {
    case RECORD_U64:
    case RECORD_TIME:
        return *(const uint64_t *)at == 0;
    case RECORD_U32:
        return *(const uint32_t *)at == 0;
    case RECORD_BOOL:
        return !*(const bool *)at;
    case RECORD_STR:
    case RECORD_NAME:
        return ((const pawl_str *)at)->len == 0;
    case RECORD_EVENT_KIND:
    case RECORD_MESSAGE_KIND:
    case RECORD_STATE:
        return false;
    }
    return false;
}

static void put_member(struct buf *b, const struct record_member *m, const void *at)
{
    switch (m->type) {
    case RECORD_U64:
        put_number(b, m->key, (int64_t) * (const uint64_t *)at);
        break;
    case RECORD_U32:
        put_number(b, m->key, *(const uint32_t *)at);
        break;
    case RECORD_BOOL:
        buf_printf(b, "\"%s\":true", m->key);
        break;
    case RECORD_TIME:
        buf_printf(b, "\"%s\":", m->key);
        text_put_time(b, *(const int64_t *)at);
        break;
    case RECORD_STR:
    case RECORD_NAME:
        text_put(b, m->key, *(const pawl_str *)at, m->type == RECORD_STR);
        break;
    case RECORD_EVENT_KIND:
        put_name(b, m->key, *(const int *)at, pawl_event_kind_name(*(const int *)at));
        break;
    case RECORD_MESSAGE_KIND:
        put_name(b, m->key, *(const int *)at, message_kind_name(*(const int *)at));
        break;
    case RECORD_STATE:
        put_name(b, m->key, *(const int *)at, pawl_state_name(*(const pawl_state *)at));
        break;
    }
}

bool record_put(struct buf *b, const struct record_form *form, const void *item,
                const char *separator)
{
    bool any = false;
    for (size_t i = 0; i < form->count; i++) {
        const struct record_member *m = &form->members[i];
        const void *at = (const char *)item + m->at;
        if (is_zero(m, at))
            continue;
        if (any)
            buf_puts(b, separator);
        put_member(b, m, at);
        any = true;
    }
    return any;
}

/* ---- In ------------------------------------------------------------------------ */

static bool key_is(pawl_str key, const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return key.len == n + m && memcmp(key.ptr, text, n) == 0 && memcmp(key.ptr + n, end, m) == 0;
}

/* The name between the quotes of a raw string. */
static pawl_str inner(pawl_str raw)
{
    return raw.len >= 2 ? (pawl_str){raw.ptr + 1, raw.len - 2} : (pawl_str){0};
}

static bool get_kind(const struct record_member *m, pawl_str raw, int *ret)
{
    int64_t n = 0;
    if (json_type(raw) != JSON_STRING) {
        if (!json_integer(raw, &n) || n < INT32_MIN || n > INT32_MAX)
            return false;
        *ret = (int)n;
        return true;
    }
    pawl_str name = inner(raw);
    if (m->type == RECORD_EVENT_KIND) {
        *ret = pawl_event_kind_of(name);
        return *ret != 0;
    }
    int count = m->type == RECORD_STATE ? PAWL_CONTINUED_AS_NEW + 1 : (int)COUNT_OF(message_kinds);
    for (int i = 0; i < count; i++) {
        const char *text =
            m->type == RECORD_STATE ? pawl_state_name((pawl_state)i) : message_kinds[i];
        if (text && pawl_str_is(name, text)) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool get_member(const struct record_member *m, pawl_str raw, void *at)
{
    int64_t n = 0;
    switch (m->type) {
    case RECORD_U64:
        if (!json_integer(raw, &n))
            return false;
        *(uint64_t *)at = (uint64_t)n;
        return true;
    case RECORD_U32:
        if (!json_integer(raw, &n) || n < 0 || n > UINT32_MAX)
            return false;
        *(uint32_t *)at = (uint32_t)n;
        return true;
    case RECORD_BOOL:
        *(bool *)at = pawl_str_is(raw, "true");
        return true;
    case RECORD_TIME:
        return text_get_time(raw, at);
    case RECORD_STR:
    case RECORD_NAME: /* after all members are seen: its encoding may follow it */
        *(pawl_str *)at = raw;
        return true;
    case RECORD_EVENT_KIND:
    case RECORD_MESSAGE_KIND:
    case RECORD_STATE:
        return get_kind(m, raw, at);
    }
    return false;
}

/* A bit a member: the encodings named in the object. */
static uint32_t encoded(const struct record_form *form, pawl_str key)
{
    for (size_t i = 0; i < form->count; i++) {
        const char *name = form->members[i].key;
        bool data = strcmp(name, "data") == 0;
        if (data ? pawl_str_is(key, "encoding") : key_is(key, name, "_encoding"))
            return UINT32_C(1) << i;
    }
    return 0;
}

bool record_get(const struct record_form *form, pawl_str object, void *item, pawl_mem *mem)
{
    struct json_iter it;
    uint32_t base64 = 0;
    assert_that(form->count <= 32);
    for (json_begin(&it, object); json_next(&it);) {
        size_t i = 0;
        while (i < form->count && !pawl_str_is(it.key, form->members[i].key))
            i++;
        if (i == form->count)
            base64 |= encoded(form, it.key);
        else if (!get_member(&form->members[i], it.value, (char *)item + form->members[i].at))
            return false;
    }
    for (size_t i = 0; i < form->count; i++) {
        pawl_str *s = (pawl_str *)(void *)((char *)item + form->members[i].at);
        if (form->members[i].type != RECORD_STR && form->members[i].type != RECORD_NAME)
            continue;
        if (!s->len)
            continue;
        if (!text_get(*s, base64 >> i & 1, mem, s))
            return false;
    }
    return true;
}
