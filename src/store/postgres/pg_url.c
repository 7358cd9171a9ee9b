/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/pg_url.c -- our own parameters in the URL of a store.
 *
 * A URL is libpq's, with parameters of ours in its query (pawl_…).  They are taken out before
 * libpq sees it, because it refuses what it does not know.  No error repeats the URL, which may
 * hold a password.
 *
 * Called by pg_open.c and pg_schema.c.
 */
#include "base/near.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

#define SCHEMA_MAX 41

static bool is_schema_name(pawl_str name)
{
    if (name.len == 0 || name.len > SCHEMA_MAX || (name.ptr[0] >= '0' && name.ptr[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return true;
}

static bool take_schema(struct pg_place *p, pawl_str value)
{
    if (!is_schema_name(value))
        return false;
    free(p->schema);
    p->schema = strndup(value.ptr, value.len);
    return true;
}

static bool take_lossy(struct pg_place *p, pawl_str value)
{
    p->allow_lossy = pawl_str_is(value, "1");
    return p->allow_lossy || pawl_str_is(value, "0");
}

static bool take_prepare(struct pg_place *p, pawl_str value)
{
    p->no_prepare = pawl_str_is(value, "off");
    return p->no_prepare || pawl_str_is(value, "on");
}

static bool take_pooler(struct pg_place *p, pawl_str value)
{
    p->pooled = pawl_str_is(value, "transaction");
    return p->pooled || pawl_str_is(value, "none");
}

static const struct {
    const char *name;
    bool (*take)(struct pg_place *p, pawl_str value);
    const char *values;
} ours[] = {
    {"pawl_schema",      take_schema,
     "a lower-case letter or _, then letters, digits and _, at most 41"},
    {"pawl_allow_lossy", take_lossy,   "1 or 0"                        },
    {"pawl_prepare",     take_prepare, "on or off"                     },
    {"pawl_pooler",      take_pooler,  "transaction or none"           },
};

static pawl_status unknown(pawl_str name, pawl_error *reterr)
{
    const char *names[COUNT_OF(ours)];
    char word[61];

    for (size_t i = 0; i < COUNT_OF(ours); i++)
        names[i] = ours[i].name;
    (void)snprintf(word, sizeof word, "%.*s", (int)name.len, name.ptr);
    const char *near = nearest_word(word, names, COUNT_OF(ours));
    error_set(reterr, PAWL_INVALID, "unknown parameter %s in the URL of the store: %s%s%s", word,
              near ? "did you mean " : "use ",
              near ? near : "pawl_schema, pawl_allow_lossy, pawl_prepare or pawl_pooler",
              near ? "?" : "");
    return PAWL_INVALID;
}

/* One "name=value" that begins with pawl_. */
static pawl_status take_ours(struct pg_place *p, pawl_str pair, pawl_error *reterr)
{
    const char *sign = memchr(pair.ptr, '=', pair.len);
    pawl_str name = {pair.ptr, sign ? (size_t)(sign - pair.ptr) : pair.len};
    pawl_str value = {sign ? sign + 1 : "", sign ? pair.len - name.len - 1 : 0};

    for (size_t i = 0; i < COUNT_OF(ours); i++) {
        if (!pawl_str_is(name, ours[i].name))
            continue;
        if (ours[i].take(p, value))
            return PAWL_OK;
        error_set(reterr, PAWL_INVALID, "%s=%.*s in the URL of the store is not valid: use %s",
                  ours[i].name, (int)(value.len < 60 ? value.len : 60), value.ptr, ours[i].values);
        return PAWL_INVALID;
    }
    return unknown(name, reterr);
}

/* Copy the URL up to its query, and of the query what is not ours. */
static pawl_status split(const char *url, struct pg_place *p, pawl_error *reterr)
{
    size_t base = strcspn(url, "?");
    char *to = p->url + base, joint = '?';
    pawl_status status = PAWL_OK;

    memcpy(p->url, url, base);
    for (const char *at = url + base; *at && status == PAWL_OK;) {
        at++; /* '?' or '&' */
        pawl_str pair = {at, strcspn(at, "&")};
        at += pair.len;
        if (pair.len >= 5 && memcmp(pair.ptr, "pawl_", 5) == 0) {
            status = take_ours(p, pair, reterr);
        } else if (pair.len) {
            *to++ = joint;
            joint = '&';
            memcpy(to, pair.ptr, pair.len);
            to += pair.len;
        }
    }
    *to = '\0';
    return status;
}

pawl_status pg_place_read(const char *url, struct pg_place *ret, pawl_error *reterr)
{
    *ret = (struct pg_place){0};
    if (strncmp(url, "postgres://", 11) != 0 && strncmp(url, "postgresql://", 13) != 0) {
        error_set(reterr, PAWL_INVALID,
                  "the URL of a PostgreSQL store begins with postgres:// or postgresql://");
        return PAWL_INVALID;
    }
    ret->url = malloc(strlen(url) + 1);
    ret->schema = strdup("pawl");
    pawl_status status = ret->url && ret->schema ? split(url, ret, reterr) : PAWL_NO_MEMORY;
    if (status == PAWL_OK && !ret->schema)
        status = PAWL_NO_MEMORY;
    if (status == PAWL_NO_MEMORY)
        error_set(reterr, status, "out of memory");
    if (status != PAWL_OK)
        pg_place_deinit(ret);
    return status;
}

void pg_place_deinit(struct pg_place *p)
{
    free(p->url);
    free(p->schema);
    *p = (struct pg_place){0};
}
