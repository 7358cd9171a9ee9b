/* SPDX-License-Identifier: MIT */
/*
 * provisioning -- three resources side by side; if one fails, all of it fails.
 *
 *     pawl run ProvisionEnvironment --load build/examples/provisioning.so \
 *         --input '{"name":"staging","region":"eu-1"}'
 *
 * Input: {"name":"…"} and, optionally, "region" ("local"), "step_ms" (how long
 * each takes; 0), "fail" (the activity that shall fail, e.g. "CreateDatabase").
 */
#include <pawl.h>

#include <unistd.h>

/* Make a resource; its address is the result. */
static pawl_result create(pawl_activity *act, pawl_str request, const char *kind)
{
    pawl_mem *mem = pawl_activity_mem(act);
    for (int64_t left = pawl_json_int(request, "/step_ms", 0); left > 0; left -= 10) {
        /* Another one failed: stop paying for what nobody waits for. */
        if (!pawl_activity_heartbeat(act))
            return pawl_err(act, "given up");
        usleep(10 * 1000);
    }
    pawl_str fails = pawl_json_text(mem, request, "/fail", "");
    if (pawl_str_eq(fails, pawl_activity_name(act)))
        return pawl_errf(act, "%s: quota exceeded", fails.ptr);
    return pawl_okf(act, "%s.%s.%s.example", pawl_json_text(mem, request, "/name", "env").ptr, kind,
                    pawl_json_text(mem, request, "/region", "local").ptr);
}

static pawl_result create_virtual_machine(pawl_activity *act, pawl_str request)
{
    return create(act, request, "vm");
}

static pawl_result create_storage_account(pawl_activity *act, pawl_str request)
{
    return create(act, request, "storage");
}

static pawl_result create_database(pawl_activity *act, pawl_str request)
{
    return create(act, request, "db");
}

static pawl_result provision_environment(pawl_ctx *ctx, pawl_str request)
{
    pawl_task made[] = {
        pawl_start(ctx, "CreateVirtualMachine", request),
        pawl_start(ctx, "CreateStorageAccount", request),
        pawl_start(ctx, "CreateDatabase", request),
    };
    /* Waits for all, or for the first failure.  On a failure the others are still
     * open when this returns, and so are cancelled. */
    pawl_result all = pawl_await_all(ctx, made, 3);
    if (!all.ok)
        return all;
    return pawl_donef(ctx, "Environment ready: VM=%s, Storage=%s, DB=%s",
                      pawl_await(ctx, made[0]).value.ptr, pawl_await(ctx, made[1]).value.ptr,
                      pawl_await(ctx, made[2]).value.ptr);
}

static void setup(pawl_app *app)
{
    pawl_register_activity(app, "CreateVirtualMachine", create_virtual_machine);
    pawl_register_activity(app, "CreateStorageAccount", create_storage_account);
    pawl_register_activity(app, "CreateDatabase", create_database);
    pawl_register_orchestration(app, "ProvisionEnvironment", "1.0.0", provision_environment);
}

PAWL_EXPORT(setup)
