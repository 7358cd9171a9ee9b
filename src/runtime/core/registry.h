/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/registry.h -- the app: which code has which name and version.
 *
 * Entries are added, never removed or moved, so pointers to them stay good until
 * the app is freed; one lock guards the tables.  `generation` counts additions:
 * the engine looks again at what waited for code when it changes.
 */
#ifndef PAWL_RUNTIME_REGISTRY_H
#define PAWL_RUNTIME_REGISTRY_H

#include "base/map.h"
#include "base/vec.h"
#include "pawl/runtime.h"

#include <pthread.h>
#include <stdatomic.h>

struct code_entry {
    char *name;    /* owned */
    size_t len;    /* of it */
    char *version; /* owned */
    pawl_orchestration_fn *fn;
    void *user;
    size_t stack_bytes;
    bool remote;              /* fn is NULL: workers run it (runtime/remote) */
    atomic_llong heard_ms;    /* of remote code: a worker that has it called; wall clock */
    struct code_entry *lower; /* next lower version of the same name */
};

struct activity_entry {
    char *name; /* owned */
    size_t len; /* of it */
    pawl_activity_fn *fn;
    void *user;
};

struct module_entry {
    void *handle; /* dlopen; owned */
    int fd;       /* the private copy; open as long as the module: its /proc name stays unique */
    char *path;   /* owned; as given */
};

struct pawl_app {
    pthread_mutex_t lock;
    struct map orchestrations;          /* name -> highest struct code_entry */
    struct map activities;              /* name -> struct activity_entry */
    const struct code_entry *code_last; /* of `orchestrations`, by the last look; NULL: none */
    VEC(struct module_entry) modules;
    VEC(struct code_entry *) all_code;
    VEC(struct activity_entry *) all_activities;
    atomic_ulong generation;
    pawl_runtime *runtimes;   /* woken by a registration */
    atomic_bool left_running; /* a closed runtime left activities behind: keep their code */
    pawl_error trouble;       /* bad registrations; status PAWL_OK: none */
    int trouble_count, trouble_untold;
};

/* Register what is checked, or reserved for us.  `opts` may be NULL. */
pawl_status registry_add_code(pawl_app *app, const char *name, const char *version,
                              pawl_orchestration_fn *fn, const pawl_register_opts *opts);
pawl_status registry_add_activity(pawl_app *app, const char *name, pawl_activity_fn *fn,
                                  const pawl_register_opts *opts);
/* All bad registrations in one text. */
void registry_trouble(pawl_app *app, pawl_error *ret);
/* Tell a runtime of registrations from now on, until it leaves (twice is allowed). */
void registry_join(pawl_app *app, pawl_runtime *rt);
void registry_leave(pawl_app *app, pawl_runtime *rt);
/* Empty version: the highest.  NULL when there is none. */
const struct code_entry *registry_code(pawl_app *app, pawl_str name, pawl_str version);
bool registry_has_name(pawl_app *app, pawl_str name);
/* The entry of code that workers run, added if it is new.  NULL: C code has this name and version,
 * or it cannot be registered. */
const struct code_entry *registry_remote(pawl_app *app, pawl_str name, pawl_str version);
/* A worker that has it was heard. */
void registry_heard(const struct code_entry *e, int64_t now_ms);
const struct activity_entry *registry_activity(pawl_app *app, pawl_str name);
/* Names of all activities, in `mem`. */
size_t registry_activity_names(pawl_app *app, pawl_mem *mem, const pawl_str **ret);

#endif
