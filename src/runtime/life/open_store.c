/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/open_store.c -- the data directory, and the store in it.
 *
 * `opts.store` says which: sqlite:FILE (or none), jsonl:DIR, memory:, or one that the
 * caller opened and keeps.  Afterwards opts.data is the directory, for whatever else lies
 * there.  A read-only runtime makes nothing.
 *
 * Called by open_runtime.c, once.
 */
#include "runtime/life/open_store.h"

#include "base/limits.h"
#include "store/lock.h"
#include "store/store.h"
#include "tables/schemes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new directory is gone after a power loss, with all that was synced in it, unless its
 * parent is synced too.  One that was there may be as new: its maker may have crashed. */
static pawl_status keep_data_dir(const char *dir, pawl_error *err)
{
    char parent[4096];
    (void)snprintf(parent, sizeof(parent), "%s", dir);
    size_t n = strlen(parent);
    while (n > 1 && parent[n - 1] == '/')
        parent[--n] = 0;
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = 0;
    if (directory_sync(slash ? parent : ".") || errno == EACCES || errno == EINVAL)
        return PAWL_OK; /* not ours to read, or of a kind that cannot: it was there before */
    error_set(err, PAWL_UNAVAILABLE, "cannot sync the directory that has %s: %s", dir,
              strerror(errno));
    return PAWL_UNAVAILABLE;
}

static pawl_status make_data_dir(pawl_runtime *rt, pawl_error *err)
{
    const char *dir = rt->opts.data ? rt->opts.data : "./pawl-data";
    rt->data_dir = strdup(dir);
    if (!rt->data_dir)
        return PAWL_NO_MEMORY;
    struct stat st;
    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode)) {
        error_set(err, PAWL_INVALID, "%s is not a directory; choose another with --data", dir);
        return PAWL_INVALID;
    }
    if (rt->opts.read_only && access(dir, F_OK) != 0) {
        error_set(err, PAWL_NOT_FOUND,
                  "no data in %s; start something there first, or choose another with --data", dir);
        return PAWL_NOT_FOUND;
    }
    if (!rt->opts.read_only && mkdir(dir, 0700) != 0 && errno != EEXIST) {
        error_set(err, PAWL_UNAVAILABLE,
                  "cannot make data directory %s: %s; make it, or choose another with --data", dir,
                  strerror(errno));
        return PAWL_UNAVAILABLE;
    }
    return rt->opts.read_only ? PAWL_OK : keep_data_dir(dir, err);
}

/* ---- One function for each scheme (tables/schemes.h) ---------------------------------- */

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

typedef pawl_store *open_fn(const char *path, const pawl_store_open_opts *opts, pawl_error *err);
static open_fn *const open_scheme[SCHEME_COUNT] = {
    [SCHEME_SQLITE] = open_sqlite,
    [SCHEME_JSONL] = open_jsonl,
    [SCHEME_MEMORY] = open_memory,
};

/* ---- Opening ------------------------------------------------------------------------------ */

/* The directory of a place; `room` is for the name of a file's. */
static const char *directory_of(const struct store_place *place, char *room, size_t size)
{
    if (place->kind == PLACE_DIRECTORY)
        return place->path;
    (void)snprintf(room, size, "%s", place->path);
    char *slash = strrchr(room, '/');
    if (slash)
        *slash = 0;
    return !slash ? "." : slash == room ? "/" : room;
}

static pawl_status open_place(pawl_runtime *rt, const struct store_place *place, pawl_error *err)
{
    rt->store = open_scheme[place->scheme](
        place->path, PAWL_STORE_OPTS(.read_only = rt->opts.read_only, .now_ms = rt_now(rt)), err);
    return rt->store ? PAWL_OK : err->status;
}

/* With a data directory: made when missing, and where opts.data points from now on. */
static pawl_status open_in_dir(pawl_runtime *rt, struct store_place *place, pawl_error *err)
{
    char room[4096];
    if (place->path)
        rt->opts.data = directory_of(place, room, sizeof(room));
    pawl_status rc = make_data_dir(rt, err);
    rt->opts.data = rt->data_dir;
    if (rc != PAWL_OK)
        return rc;
    if (!place->path) {
        (void)snprintf(room, sizeof(room), "%s/pawl.db", rt->data_dir);
        place->path = room;
    } else if (place->kind == PLACE_DIRECTORY) {
        place->path = rt->data_dir;
    }
    return open_place(rt, place, err);
}

pawl_status runtime_open_store(pawl_runtime *rt, pawl_error *err)
{
    const char *url = rt->opts.store;
    struct store_place place = {.scheme = SCHEME_SQLITE, .kind = PLACE_FILE};
    if (rt->opts.opened_store) {
        if (store_check(rt->opts.opened_store, err) != PAWL_OK)
            return PAWL_MISUSE;
        rt->store = rt->opts.opened_store;
        return rt->opts.data ? make_data_dir(rt, err) : PAWL_OK;
    }
    rt->owns_store = true;
    if (url && !store_place_read(url, &place)) {
        error_set(err, PAWL_INVALID, "unknown store '%s': use " SCHEME_FORMS, url);
        return PAWL_INVALID;
    }
    return place.kind == PLACE_NOTHING ? open_place(rt, &place, err) : open_in_dir(rt, &place, err);
}
