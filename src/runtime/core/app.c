/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/app.c -- pawl/runtime.h: make and free an app.
 *
 * A new app has the built-in orchestrations.  Freeing it frees all code (registry.c) and closes all
 * modules (module.c).  Called by programs, the command line and trials.
 */
#include "runtime/core/built_in.h"
#include "runtime/core/registry.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

pawl_app *pawl_app_new(void)
{
    pawl_app *app = calloc(1, sizeof(*app));
    if (!app)
        return NULL;
    pthread_mutex_init(&app->lock, NULL);
    map_init(&app->orchestrations);
    map_init(&app->activities);
    if (built_in_register(app))
        return app;
    pawl_app_free(app);
    return NULL;
}

void pawl_app_free(pawl_app *app)
{
    if (!app || atomic_load(&app->left_running)) /* a thread may still run its code */
        return;
    for (size_t i = 0; i < app->all_code.count; i++) {
        free(app->all_code.items[i]->name);
        free(app->all_code.items[i]->version);
        free(app->all_code.items[i]);
    }
    for (size_t i = 0; i < app->all_activities.count; i++) {
        free(app->all_activities.items[i]->name);
        free(app->all_activities.items[i]);
    }
    for (size_t i = 0; i < app->modules.count; i++) {
        dlclose(app->modules.items[i].handle);
        close(app->modules.items[i].fd);
        free(app->modules.items[i].path);
    }
    vec_deinit(&app->all_code);
    vec_deinit(&app->all_activities);
    vec_deinit(&app->modules);
    map_deinit(&app->orchestrations);
    map_deinit(&app->activities);
    pthread_mutex_destroy(&app->lock);
    free(app);
}
