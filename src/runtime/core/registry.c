/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/registry.c -- register code, find it by name and version.
 *
 * Invariants: the versions of a name form a list from highest to lowest; an
 * entry is complete before it can be found.  Called by authors before and while
 * a runtime runs, by the engine thread for every load, by client threads.
 */
#include "runtime/core/registry.h"

#include "base/arena.h"
#include "base/limits.h"
#include "base/misuse.h"
#include "runtime/core/built_in.h"
#include "runtime/core/inbox.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TROUBLE_TAIL 24    /* room for "; and N more" */
#define HEARD_MS     60000 /* a worker that was silent for longer has no latest version */

/* Remember what is wrong, for pawl_runtime_open(): all of it, as far as there is room.  EXISTS
 * never masks a worse error, because loading a module again always reports it. */
static pawl_status refuse(pawl_app *app, const pawl_error *err)
{
    pthread_mutex_lock(&app->lock);
    pawl_error *all = &app->trouble;
    size_t len = strlen(all->text), more = strlen(err->text);
    if (!app->trouble_count++) {
        *all = *err;
    } else {
        if (all->status == PAWL_EXISTS)
            all->status = err->status;
        if (len + more + sizeof("; ") + TROUBLE_TAIL <= sizeof(all->text))
            (void)snprintf(all->text + len, sizeof(all->text) - len, "; %s", err->text);
        else
            app->trouble_untold++;
    }
    pthread_mutex_unlock(&app->lock);
    return err->status;
}

/* Code that is missing would leave its instances waiting: as bad as a wrong name. */
static pawl_status refuse_for_memory(pawl_app *app, const char *what, const char *name)
{
    pawl_error err;
    error_set(&err, PAWL_NO_MEMORY, "%s '%s': out of memory while it was registered", what, name);
    return refuse(app, &err);
}

void registry_trouble(pawl_app *app, pawl_error *ret)
{
    pthread_mutex_lock(&app->lock);
    *ret = app->trouble;
    size_t len = strlen(ret->text);
    if (app->trouble_untold)
        (void)snprintf(ret->text + len, sizeof(ret->text) - len, "; and %d more",
                       app->trouble_untold);
    pthread_mutex_unlock(&app->lock);
}

void registry_join(pawl_app *app, pawl_runtime *rt)
{
    pthread_mutex_lock(&app->lock);
    rt->next_of_app = app->runtimes;
    app->runtimes = rt;
    pthread_mutex_unlock(&app->lock);
}

void registry_leave(pawl_app *app, pawl_runtime *rt)
{
    pthread_mutex_lock(&app->lock);
    pawl_runtime **at = &app->runtimes;
    while (*at && *at != rt)
        at = &(*at)->next_of_app;
    if (*at)
        *at = rt->next_of_app;
    pthread_mutex_unlock(&app->lock);
}

/* What waited for this code may be looked at again. */
static void tell_runtimes(pawl_app *app)
{
    atomic_fetch_add(&app->generation, 1);
    pthread_mutex_lock(&app->lock);
    for (pawl_runtime *rt = app->runtimes; rt; rt = rt->next_of_app)
        inbox_wake(rt);
    pthread_mutex_unlock(&app->lock);
}

static pawl_status check_registration(pawl_app *app, const char *what, const char *name,
                                      const char *version, const void *fn, pawl_error *err)
{
    if (!app || !name || !fn) {
        error_set(err, PAWL_MISUSE, "%s registered without app, name or function", what);
        return PAWL_MISUSE;
    }
    if (!check_name(what, pawl_s(name), err))
        return err->status;
    if (is_reserved(pawl_s(name))) {
        error_set(err, PAWL_INVALID,
                  "%s '%s': names that begin with " RESERVED " are reserved; choose another", what,
                  name);
        return PAWL_INVALID;
    }
    if (version && !check_version(pawl_s(version), err)) {
        error_set(err, PAWL_INVALID, "%s '%s': version '%s' is not of the form 1.2.3", what, name,
                  version);
        return PAWL_INVALID;
    }
    return PAWL_OK;
}

/* Put `e` into the list of its name, highest first; false when it is there already. */
static bool insert_version(pawl_app *app, struct code_entry *e)
{
    struct code_entry *top = map_gets(&app->orchestrations, pawl_s(e->name));
    struct code_entry **at = &top;
    while (*at) {
        int order = version_compare(pawl_s((*at)->version), pawl_s(e->version));
        if (order == 0)
            return false;
        if (order < 0)
            break;
        at = &(*at)->lower;
    }
    bool highest = at == &top;
    e->lower = *at;
    if (!highest) {
        *at = e;
        return true;
    }
    app->code_last = NULL;
    if (top)
        map_removes(&app->orchestrations, pawl_s(e->name));
    return map_puts(&app->orchestrations, pawl_s(e->name), e);
}

static void code_entry_free(struct code_entry *e)
{
    free(e->name);
    free(e->version);
    free(e);
}

static struct code_entry *code_entry_create(const char *name, const char *version,
                                            pawl_orchestration_fn *fn,
                                            const pawl_register_opts *opts)
{
    struct code_entry *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->name = strdup(name);
    e->len = strlen(name);
    e->version = strdup(version);
    e->fn = fn;
    e->user = opts ? opts->user : NULL;
    e->stack_bytes = opts && opts->stack_bytes ? opts->stack_bytes : LIMIT_STACK_DEFAULT;
    if (e->name && e->version)
        return e;
    code_entry_free(e);
    return NULL;
}

pawl_status pawl_register_orchestration_with(pawl_app *app, const char *name, const char *version,
                                             pawl_orchestration_fn *fn,
                                             const pawl_register_opts *opts)
{
    pawl_error err = {0};
    if (!version)
        version = "1.0.0";
    if (check_registration(app, "orchestration name", name, version, (const void *)(size_t)fn,
                           &err) != PAWL_OK)
        return app ? refuse(app, &err) : PAWL_MISUSE;
    pawl_register_opts room;
    if (!(opts = OPTIONS_OF(&room, opts, "pawl_register_opts", &err)))
        return refuse(app, &err);
    size_t stack = opts->stack_bytes ? opts->stack_bytes : LIMIT_STACK_DEFAULT;
    if (stack < LIMIT_STACK_MIN || stack > LIMIT_STACK_MAX) {
        error_set(&err, PAWL_LIMIT, "orchestration '%s': stack_bytes %zu is not in %d..%d", name,
                  stack, LIMIT_STACK_MIN, LIMIT_STACK_MAX);
        return refuse(app, &err);
    }
    return registry_add_code(app, name, version, fn, opts);
}

pawl_status registry_add_code(pawl_app *app, const char *name, const char *version,
                              pawl_orchestration_fn *fn, const pawl_register_opts *opts)
{
    pawl_error err;
    struct code_entry *e = code_entry_create(name, version, fn, opts);
    if (!e)
        return refuse_for_memory(app, "orchestration", name);
    pthread_mutex_lock(&app->lock);
    struct code_entry **slot = vec_push(&app->all_code);
    bool added = slot && insert_version(app, e);
    if (slot)
        *slot = e; /* kept although refused: pawl_app_free() has it */
    else
        code_entry_free(e);
    pthread_mutex_unlock(&app->lock);
    if (!slot || (!added && !registry_code(app, pawl_s(name), pawl_s(version))))
        return refuse_for_memory(app, "orchestration", name);
    if (!added) {
        error_set(&err, PAWL_EXISTS, "orchestration '%s' %s is registered twice", name, version);
        return refuse(app, &err);
    }
    tell_runtimes(app);
    return PAWL_OK;
}

pawl_status pawl_register_orchestration(pawl_app *app, const char *name, const char *version,
                                        pawl_orchestration_fn *fn)
{
    return pawl_register_orchestration_with(app, name, version, fn, NULL);
}

pawl_status pawl_register_activity_with(pawl_app *app, const char *name, pawl_activity_fn *fn,
                                        const pawl_register_opts *opts)
{
    pawl_error err = {0};
    if (check_registration(app, "activity name", name, NULL, (const void *)(size_t)fn, &err) !=
        PAWL_OK)
        return app ? refuse(app, &err) : PAWL_MISUSE;
    pawl_register_opts room;
    if (!(opts = OPTIONS_OF(&room, opts, "pawl_register_opts", &err)))
        return refuse(app, &err);
    return registry_add_activity(app, name, fn, opts);
}

/* The path of the loaded module that has this code; NULL: none has. */
static const char *module_of(const pawl_app *app, const void *code)
{
    Dl_info where;
    char name[64];
    if (!dladdr(code, &where) || !where.dli_fname)
        return NULL;
    for (size_t i = 0; i < app->modules.count; i++) {
        (void)snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)getpid(),
                       app->modules.items[i].fd);
        if (strcmp(where.dli_fname, name) == 0)
            return app->modules.items[i].path;
    }
    return NULL;
}

pawl_status registry_add_activity(pawl_app *app, const char *name, pawl_activity_fn *fn,
                                  const pawl_register_opts *opts)
{
    pawl_error err;
    struct activity_entry *e = calloc(1, sizeof(*e));
    char *copy = strdup(name);
    if (!e || !copy) {
        free(e);
        free(copy);
        return refuse_for_memory(app, "activity", name);
    }
    *e = (struct activity_entry){copy, strlen(copy), fn, opts ? opts->user : NULL};
    pthread_mutex_lock(&app->lock);
    bool added = !map_gets(&app->activities, pawl_s(name));
    struct activity_entry **slot = vec_push(&app->all_activities);
    added = added && slot && map_puts(&app->activities, pawl_s(copy), e);
    if (slot) {
        *slot = e;
    } else {
        free(copy);
        free(e);
    }
    pthread_mutex_unlock(&app->lock);
    const struct activity_entry *there = registry_activity(app, pawl_s(name));
    if (!slot || !there)
        return refuse_for_memory(app, "activity", name);
    if (!added) {
        const char *owner = module_of(app, (const void *)(size_t)there->fn);
        error_set(&err, PAWL_EXISTS, "activity '%s' is registered twice%s%s%s", name,
                  owner ? "; " : "", owner ? owner : "",
                  owner ? " has it: put what both need into a module of its own, and load that, too"
                        : "");
        return refuse(app, &err);
    }
    tell_runtimes(app);
    return PAWL_OK;
}

pawl_status pawl_register_activity(pawl_app *app, const char *name, pawl_activity_fn *fn)
{
    return pawl_register_activity_with(app, name, fn, NULL);
}

/* Of a list from `top` down: the highest version that is C code or that a worker has which was
 * heard lately; if there is none, the highest.  One laptop with 9.9.9 strands nothing. */
static const struct code_entry *latest(const struct code_entry *top)
{
    int64_t newest = 0;
    for (const struct code_entry *e = top; e; e = e->lower)
        if (e->remote && atomic_load(&e->heard_ms) > newest)
            newest = atomic_load(&e->heard_ms);
    for (const struct code_entry *e = top; e; e = e->lower)
        if (!e->remote || atomic_load(&e->heard_ms) > newest - HEARD_MS)
            return e;
    return top;
}

const struct code_entry *registry_code(pawl_app *app, pawl_str name, pawl_str version)
{
    pthread_mutex_lock(&app->lock);
    const struct code_entry *e = app->code_last; /* most often the one before */
    if (!e || e->len != name.len || memcmp(e->name, name.ptr, e->len) != 0)
        app->code_last = e = map_gets(&app->orchestrations, name);
    while (e && version.len && !pawl_str_is(version, e->version))
        e = e->lower;
    if (UNLIKELY(e && e->remote && !version.len))
        e = latest(e);
    pthread_mutex_unlock(&app->lock);
    return e;
}

const struct code_entry *registry_remote(pawl_app *app, pawl_str name, pawl_str version)
{
    const struct code_entry *there = registry_code(app, name, version);
    pawl_error err;
    if (there)
        return there->remote ? there : NULL;
    struct code_entry *e = code_entry_create(name.ptr, version.ptr, NULL, NULL);
    if (!e ||
        check_registration(app, "orchestration name", e->name, e->version, e, &err) != PAWL_OK) {
        if (e)
            code_entry_free(e);
        return NULL;
    }
    e->remote = true;
    pthread_mutex_lock(&app->lock);
    struct code_entry **slot = vec_push(&app->all_code);
    bool added = slot && insert_version(app, e);
    if (slot)
        *slot = e;
    else
        code_entry_free(e);
    pthread_mutex_unlock(&app->lock);
    if (!added)
        return NULL;
    tell_runtimes(app);
    return e;
}

void registry_heard(const struct code_entry *e, int64_t now_ms)
{
    struct code_entry *changed =
        (struct code_entry *)(uintptr_t)e; /* an atomic; the rest is const */
    atomic_store(&changed->heard_ms, now_ms);
}

bool registry_has_name(pawl_app *app, pawl_str name)
{
    return registry_code(app, name, (pawl_str){0}) != NULL;
}

const struct activity_entry *registry_activity(pawl_app *app, pawl_str name)
{
    pthread_mutex_lock(&app->lock);
    const struct activity_entry *e = map_gets(&app->activities, name);
    pthread_mutex_unlock(&app->lock);
    return e;
}

size_t registry_activity_names(pawl_app *app, pawl_mem *mem, const pawl_str **ret)
{
    pthread_mutex_lock(&app->lock);
    size_t n = 0;
    pawl_str *names = arena_alloc(mem, sizeof(*names) * (app->all_activities.count + 1));
    for (size_t i = 0; i < app->all_activities.count; i++)
        names[n++] = pawl_s(app->all_activities.items[i]->name);
    pthread_mutex_unlock(&app->lock);
    *ret = names;
    return n;
}

bool pawl_app_has_orchestration(pawl_app *app, const char *name, const char *version)
{
    MUST_HAVE("an app", app);
    return registry_code(app, pawl_s(name), pawl_s(version)) != NULL;
}

bool pawl_app_has_code(pawl_app *app)
{
    MUST_HAVE("an app", app);
    pthread_mutex_lock(&app->lock);
    bool has = app->orchestrations.count > BUILT_IN_COUNT;
    pthread_mutex_unlock(&app->lock);
    return has;
}

bool pawl_app_has_activity(pawl_app *app, const char *name)
{
    MUST_HAVE("an app", app);
    return registry_activity(app, pawl_s(name)) != NULL;
}
