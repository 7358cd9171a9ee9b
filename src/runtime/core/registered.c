/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/registered.c -- what an app has, for people: a list, and the name that
 * the caller may have meant.
 *
 * Called by the command line and by client threads that refuse a name.
 */
#include "runtime/core/registered.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "base/near.h"
#include "runtime/core/built_in.h"
#include "runtime/core/registry.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The module a function came from, as it was named; NULL: this program. */
static const char *file_of(const pawl_app *app, size_t address)
{
    Dl_info info;
    if (!dladdr((const void *)address, &info) || !info.dli_fname)
        return NULL;
    for (size_t i = 0; i < app->modules.count; i++) {
        char name[64]; /* modules are opened under the name of their private copy */
        (void)snprintf(name, sizeof(name), "/fd/%d", app->modules.items[i].fd);
        size_t n = strlen(info.dli_fname), m = strlen(name);
        if (n > m && strcmp(info.dli_fname + n - m, name) == 0)
            return app->modules.items[i].path;
    }
    return NULL;
}

static int by_kind_name_version(const void *left, const void *right)
{
    const pawl_code *a = left, *b = right;
    if (!a->version != !b->version)
        return a->version ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order || !a->version ? order : version_compare(pawl_s(a->version), pawl_s(b->version));
}

static bool is_live(pawl_app *app, const struct code_entry *e)
{
    const struct code_entry *at = map_gets(&app->orchestrations, pawl_s(e->name));
    while (at && at != e)
        at = at->lower;
    return at != NULL; /* else refused, and only kept */
}

size_t pawl_app_code(pawl_app *app, pawl_mem *mem, const pawl_code **ret)
{
    size_t n = 0;
    MUST_HAVE("an app, memory and room for the answer", app && mem && ret);
    pthread_mutex_lock(&app->lock);
    pawl_code *list =
        arena_alloc(mem, sizeof(*list) * (app->all_code.count + app->all_activities.count + 1));
    for (size_t i = 0; i < app->all_code.count; i++) {
        const struct code_entry *e = app->all_code.items[i];
        if (is_live(app, e) && !is_reserved(pawl_s(e->name)))
            list[n++] = (pawl_code){e->name, e->version,
                                    e->remote ? "(workers)" : file_of(app, (size_t)e->fn)};
    }
    for (size_t i = 0; i < app->all_activities.count; i++) {
        const struct activity_entry *e = app->all_activities.items[i];
        if (map_gets(&app->activities, pawl_s(e->name)) == e && !is_reserved(pawl_s(e->name)))
            list[n++] = (pawl_code){e->name, NULL, file_of(app, (size_t)e->fn)};
    }
    pthread_mutex_unlock(&app->lock);
    qsort(list, n, sizeof(*list), by_kind_name_version);
    *ret = list;
    return n;
}

const char *registry_nearest(pawl_app *app, const char *name)
{
    const char *near = NULL;
    pthread_mutex_lock(&app->lock);
    const char **names = calloc(app->all_code.count + 1, sizeof(*names));
    for (size_t i = 0; names && i < app->all_code.count; i++)
        names[i] = app->all_code.items[i]->name;
    if (names)
        near = nearest_word(name, names, app->all_code.count);
    free(names);
    pthread_mutex_unlock(&app->lock);
    return near; /* entries stay until the app is freed */
}

bool registry_check(pawl_app *app, const char *name, const char *version, pawl_error *err)
{
    if (registry_code(app, pawl_s(name), pawl_s(version)))
        return true;
    if (version && registry_has_name(app, pawl_s(name))) {
        error_set(err, PAWL_NOT_FOUND, "orchestration '%s' has no version %s here", name, version);
        return false;
    }
    const char *near = registry_nearest(app, name);
    error_set(err, PAWL_NOT_FOUND, "orchestration '%s' is not registered; %s%s%s", name,
              near ? "did you mean '" : "load the module that has it", near ? near : "",
              near ? "'?" : "");
    return false;
}
