/* SPDX-License-Identifier: MIT */
/*
 * store/open_url.c -- a store by its URL: one function for each scheme (tables/schemes.h).
 *
 * Called by runtime/life/open_store.c, and as pawl_store_open() by verbs and the server.
 */
#include "store/open_url.h"

#include "base/limits.h"
#include "base/misuse.h"

static pawl_store *open_sqlite(const char *path, const pawl_store_open_opts *opts, pawl_error *err)
{
    return pawl_sqlite_store(path, opts, err);
}

static pawl_store *open_jsonl(const char *path, const pawl_store_open_opts *opts, pawl_error *err)
{
    return pawl_jsonl_store(path, opts, err);
}

static pawl_store *open_memory(const char *path, const pawl_store_open_opts *opts, pawl_error *err)
{
    (void)path, (void)opts;
    pawl_store *store = pawl_memory_store();
    if (!store)
        error_set(err, PAWL_NO_MEMORY, "out of memory");
    return store;
}

static pawl_store *open_postgres(const char *url, const pawl_store_open_opts *opts, pawl_error *err)
{
    return pawl_postgres_store(url, opts, err);
}

typedef pawl_store *open_fn(const char *path, const pawl_store_open_opts *opts, pawl_error *err);
static open_fn *const open_scheme[SCHEME_COUNT] = {
    [SCHEME_SQLITE] = open_sqlite,       [SCHEME_JSONL] = open_jsonl,
    [SCHEME_MEMORY] = open_memory,       [SCHEME_POSTGRES] = open_postgres,
    [SCHEME_POSTGRESQL] = open_postgres,
};

pawl_store *store_open_place(const struct store_place *place, const pawl_store_open_opts *opts,
                             pawl_error *reterr)
{
    return open_scheme[place->scheme](place->path, opts, reterr);
}

pawl_status store_url_unknown(const char *url, pawl_error *reterr)
{
    char room[256];
    error_set(reterr, PAWL_INVALID, "unknown store '%s': use " SCHEME_FORMS,
              store_url_shown(url, room, sizeof(room)));
    return PAWL_INVALID;
}

pawl_store *pawl_store_open(const char *url, const pawl_store_open_opts *opts, pawl_error *reterr)
{
    struct store_place place;
    if (!IS_THERE(url, "a URL", reterr))
        return NULL;
    if (store_place_read(url, &place))
        return store_open_place(&place, opts, reterr);
    (void)store_url_unknown(url, reterr);
    return NULL;
}
