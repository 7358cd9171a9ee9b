/* SPDX-License-Identifier: MIT */
/*
 * tests/crash/apps.c -- the examples as they are, with every activity writing
 * into the ledger when it begins.
 *
 * The ledger is the outside world: one line "KEY ATTEMPT NAME" a run, by one
 * O_APPEND write, which no crash of the process can take back.
 */
#include "crash.h"

#include <stdint.h>

static pawl_result ledger_run(pawl_activity *act, pawl_str input)
{
    pawl_activity_fn *fn = (pawl_activity_fn *)(uintptr_t)pawl_activity_user(act);
    append_record("ledger", "%s %u %s", pawl_activity_key(act), pawl_activity_attempt(act),
                  pawl_activity_name(act).ptr);
    return fn(act, input);
}

static void ledger_register(pawl_app *app, const char *name, pawl_activity_fn *fn)
{
    pawl_register_activity_with(app, name, ledger_run,
                                PAWL_REGISTER_OPTS(.user = (void *)(uintptr_t)fn));
}

#undef PAWL_EXPORT
#define PAWL_EXPORT(fn)
#define pawl_register_activity(app, name, fn) ledger_register(app, name, fn)

#define setup                                 setup_order
#include "../../examples/order.c"
#undef setup
#define setup setup_provisioning
#include "../../examples/provisioning.c"
#undef setup
#define setup setup_saga
#include "../../examples/saga.c"
#undef setup
#define setup setup_eternal
#include "../../examples/eternal.c"
#undef setup

void app_examples(pawl_app *app)
{
    setup_order(app);
    setup_provisioning(app);
    setup_saga(app);
    setup_eternal(app);
}
