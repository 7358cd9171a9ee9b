/* SPDX-License-Identifier: MIT */
/*
 * runtime/life/open_store.c -- the data directory, and the store in it.
 *
 * `opts.store` names the store: sqlite:FILE (the default), jsonl:DIR, memory:, postgres://…, or one
 * that the caller opened and closes.  Afterwards opts.data is the directory, for the other files in
 * it.  A read-only runtime creates nothing.
 *
 * A store on a server locks no directory.  Then the runtime locks it (rt->data.lock), because two
 * processes must not write one record of crashes.
 *
 * Called by open_runtime.c, once.
 */
#include "runtime/life/open_store.h"

#include "base/limits.h"
#include "store/lock.h"
#include "store/open_url.h"
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* After a power loss a new directory is gone, with everything synced in it, unless its parent was
 * synced too.  A directory that exists may be as new: the process that made it may have crashed. */
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
        return PAWL_OK; /* a parent we may not read, or that has no sync, is older than we are */
    error_set(err, PAWL_UNAVAILABLE, "cannot sync the directory that has %s: %s", dir,
              strerror(errno));
    return PAWL_UNAVAILABLE;
}

static pawl_status make_data_dir(pawl_runtime *rt, pawl_error *err)
{
    const char *dir = rt->opts.data ? rt->opts.data : "./pawl-data";
    rt->data.path = strdup(dir);
    if (!rt->data.path)
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

/* ---- Opening ------------------------------------------------------------------------------ */

/* The directory of a place; `room` takes the directory of a file. */
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
    rt->store = store_open_place(place,
                                 PAWL_STORE_OPTS(.read_only = rt->opts.read_only,
                                                 .must_exist = rt->opts.steers_only, .alone = true,
                                                 .now_ms = rt_now(rt)),
                                 err);
    return rt->store ? PAWL_OK : err->status;
}

/* Open a store on a server.  A client needs no directory; a reader uses one that exists. */
static pawl_status open_on_server(pawl_runtime *rt, const struct store_place *place,
                                  pawl_error *err)
{
    bool runs = !rt->opts.read_only && !rt->opts.steers_only;
    bool looks = rt->opts.read_only && rt->opts.data && access(rt->opts.data, F_OK) == 0;
    pawl_status rc = runs || looks ? make_data_dir(rt, err) : PAWL_OK;
    if (rc == PAWL_OK && runs) {
        rt->data.lock = lock_open(rt->data.path, err);
        rc = rt->data.lock < 0 ? err->status : PAWL_OK;
    }
    rt->opts.data = rt->data.path;
    return rc == PAWL_OK ? open_place(rt, place, err) : rc;
}

/* Open a store in a data directory.  It is made if missing, and opts.data points to it. */
static pawl_status open_in_dir(pawl_runtime *rt, const struct store_place *place, pawl_error *err)
{
    struct store_place made = *place;
    char room[4096];
    if (place->path)
        rt->opts.data = directory_of(place, room, sizeof(room));
    pawl_status rc = make_data_dir(rt, err);
    rt->opts.data = rt->data.path;
    if (rc != PAWL_OK)
        return rc;
    if (!place->path) {
        (void)snprintf(room, sizeof(room), "%s/pawl.db", rt->data.path);
        made.path = room;
    } else if (place->kind == PLACE_DIRECTORY) {
        made.path = rt->data.path;
    }
    return open_place(rt, &made, err);
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
    rt->data.owns_store = true;
    if (url && !store_place_read(url, &place))
        return store_url_unknown(url, err);
    switch (place.kind) {
    case PLACE_NOTHING:
        return open_place(rt, &place, err);
    case PLACE_SERVER:
        return open_on_server(rt, &place, err);
    case PLACE_FILE:
    case PLACE_DIRECTORY:
        break;
    }
    return open_in_dir(rt, &place, err);
}
