/* SPDX-License-Identifier: MIT */
/*
 * server/health_routes.c -- health, readiness, version.
 *
 * Health means progress: the runtime says so itself (the engine thread is alive,
 * no turn hangs, the store takes commits), not that a port is open.
 */
#include "server/handlers.h"

static void write_who(struct call *c, pawl_json *w)
{
    pawl_json_key(w, "service");
    pawl_json_cstr(w, "pawl");
    if (!c->caller.trusted)
        return;
    pawl_json_key(w, "version");
    pawl_json_cstr(w, PAWL_VERSION);
}

void handle_health(struct call *c)
{
    char trouble[PAWL_TROUBLE_BYTES] = "stopping"; /* then the runtime may be gone already */
    bool healthy = !atomic_load(&c->srv->draining) && pawl_runtime_healthy(c->srv->rt, trouble);
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, healthy ? "healthy" : "unhealthy");
    write_who(c, w);
    if (!healthy) {
        pawl_json_key(w, "reason");
        pawl_json_cstr(w, c->caller.trusted ? trouble : "no progress");
        c->answer.retry_after = 1;
    }
    pawl_json_end(w);
    answer_json(c, healthy ? 200 : 503, w);
}

void handle_ready(struct call *c)
{
    char trouble[PAWL_TROUBLE_BYTES] = ""; /* recovery is done before we listen */
    bool stopping = atomic_load(&c->srv->draining);
    bool ready = !stopping && pawl_runtime_ready(c->srv->rt, trouble);
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "status");
    pawl_json_cstr(w, ready ? "ready" : stopping ? "stopping" : "unavailable");
    if (!ready && !stopping) {
        pawl_json_key(w, "reason");
        pawl_json_cstr(w, c->caller.trusted ? trouble : "the store is away");
        c->answer.retry_after = 1;
    }
    pawl_json_end(w);
    answer_json(c, ready ? 200 : 503, w);
}

void handle_version(struct call *c)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    write_who(c, w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
