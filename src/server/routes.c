/* SPDX-License-Identifier: MIT */
/*
 * server/routes.c -- the table of routes; all there is to a route is its row.
 *
 * Dispatch, refusals (404, 405 with Allow), scopes, allowed query parameters, known
 * members of bodies (takes.c) and the OpenAPI document follow from the table.  Paths are
 * split before escapes are undone: an instance id may contain %2F.
 */
#include "server/handlers.h"
#include "server/limit_routes.h"
#include "server/queues.h"
#include "server/schedules.h"
#include "server/turns.h"
#include "server/worker_calls.h"
#include "tables/operations.h"

#include <string.h>

#define INSTANCE "/api/v1/instances/{id}"
#define Q        "/queue/{queue}"

/* clang-format off */
#define ROUTE_AT(...) ROUTE(__VA_ARGS__)
#define STEER_ROUTE(OP, word, scope, message, reason, fields, done, about, ...)                                 \
    {AT_STEER(word), "handle_" word, handle_steer, scope, ON_LOOP, &takes_reason, FAMILY_API,   \
     "", "202 404 409", about, PAWL_OP_##OP},

const struct route server_routes[] = {
    ROUTE("GET", "/health", handle_health, SCOPE_PUBLIC, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200 503", "does the engine make progress?"),
    ROUTE("GET", "/ready", handle_ready, SCOPE_PUBLIC, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200 503", "ready: recovery has finished, the store answers, and the server is not stopping"),
    ROUTE("GET", "/", handle_root, SCOPE_PUBLIC, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200", "where the API is; to a browser: the page"),
    ROUTE("GET", "/web/{file}", handle_file, SCOPE_PUBLIC, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200 304 404", "a file of the page"),
    ROUTE("POST", "/login", handle_login, SCOPE_PUBLIC, ON_LOOP, &takes_login, FAMILY_API, "",
     "200 401 503", "sign in a browser: the token goes into a cookie that only the page can use"),
    ROUTE("POST", "/logout", handle_logout, SCOPE_PUBLIC, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200 503", "sign out: the cookie goes, the token stays valid"),
    ROUTE("GET", "/session", handle_session, SCOPE_PUBLIC, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200 503", "what the caller may do"),
    ROUTE("GET", "/version", handle_version, SCOPE_READ, ON_LOOP, BODY_NONE, FAMILY_API, "",
     "200", "which version this is"),
    ROUTE("GET", "/metrics", handle_metrics, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",
     "200", "figures in Prometheus text format"),
    ROUTE("GET", "/openapi.json", handle_openapi, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",
     "200", "this document"),
    ROUTE("GET", "/api/v1/stream", handle_stream, SCOPE_READ, ON_LOOP, BODY_NONE, FAMILY_API,
     "brief instance queue", "200 429", "server-sent events: what changed"),
    ROUTE("GET", "/api/v1/registry", handle_registry, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "", "200", "the code this server has: orchestrations with versions, activities, modules"),
    ROUTE("GET", "/api/v1/overview", handle_overview, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "with", "200", "counts by state and orchestration, problems by cause, the process"),
    ROUTE("GET", "/api/v1/series", handle_series, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "seconds", "200", "what was done in each of the last seconds"),
    ROUTE("GET", "/api/v1/node", handle_node, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",
     "200", "the process: since when, memory, disk, commits, health"),

    ROUTE_AT(AT_START, handle_start, SCOPE_OPERATE, ON_LOOP, &takes_start, FAMILY_API, "",
     "200 201 404 409 507", "start an orchestration"),
    ROUTE("POST", "/api/v1/jobs", handle_job, SCOPE_OPERATE, ON_LOOP, &takes_job, FAMILY_API, "",
     "200 201 409 507", "run one activity, durably, without orchestration code"),
    ROUTE("GET", "/api/v1/instances", handle_list, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "status orchestration prefix parent created_after limit after roots q sort waiting with"
     " where created_before ended_after ended_before error",
     "200 404", "instances, newest first; 404: no such parent"),
    ROUTE("GET", "/api/v1/instances:count", handle_count, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "by status orchestration prefix parent created_after roots q"
     " where created_before ended_after ended_before error",
     "200 404", "how many instances match, by status, orchestration or an attribute"),
    ROUTE("POST", "/api/v1/instances:batch", handle_batch, SCOPE_ADMIN, ON_READER, &takes_batch,
     FAMILY_API, "", "200 404", "one action on every instance that matches a filter"),
    ROUTE_AT(AT_PRUNE, handle_prune, SCOPE_ADMIN, ON_LOOP, &takes_prune, FAMILY_API,
     "", "200", "remove finished trees that ended before a time; again until it removes none"),
    ROUTE("GET", INSTANCE, handle_get, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "execution with", "200 404", "an instance and what it waits for"),
    ROUTE_AT(AT_REMOVE, handle_remove, SCOPE_ADMIN, ON_LOOP, BODY_NONE, FAMILY_API, "force",
     "200 404 409", "remove an instance and its descendants"),
    ROUTE("GET", INSTANCE "/executions", handle_executions, SCOPE_READ, ON_READER, BODY_NONE,
     FAMILY_API, "after limit", "200 404", "its executions, the newest first"),
    ROUTE("GET", INSTANCE "/export", handle_export, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "execution after", "200 404", "an execution as a file: what pawl export writes; a long one in pages"),
    ROUTE("GET", INSTANCE "/history", handle_history, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "execution after limit", "200 404", "events of an execution"),
    ROUTE("GET", INSTANCE "/wait", handle_wait, SCOPE_READ, ON_LOOP, BODY_NONE, FAMILY_API,
     "timeout_ms", "200 202 404", "the instance once it has ended"),
    ROUTE("GET", INSTANCE "/why", handle_why, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",
     "200 404", "what it waits for, since when, and what wakes it"),
    ROUTE("GET", INSTANCE "/timeline", handle_timeline, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "execution", "200 404", "its steps as bars over time, with quiet time cut out"),
    ROUTE("GET", INSTANCE "/state", handle_state, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",
     "200 404", "what its code has published, by key"),
    ROUTE("GET", INSTANCE "/state/{key}", handle_state_key, SCOPE_READ, ON_LOOP, BODY_NONE,
     FAMILY_API, "version wait_ms", "200 404", "one key of it; with wait_ms, once it has a newer version"),
    ROUTE("GET", "/api/v1/asks", handle_asks, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API,
     "limit after orchestration event", "200", "what instances ask people for; a raise of the event answers"),
    ROUTE("GET", INSTANCE "/tree", handle_tree, SCOPE_READ, ON_READER, BODY_NONE, FAMILY_API, "",
     "200 404", "the instance and its descendants"),
    ROUTE_AT(AT_RAISE, handle_raise, SCOPE_OPERATE, ON_LOOP, &takes_value,
     FAMILY_API, "await_start", "202 404 409 507", "raise an event"),
    ROUTE_AT(AT_UPDATE, handle_update, SCOPE_OPERATE, ON_LOOP, &takes_value, FAMILY_API, "timeout_ms",
     "200 202 404 409 410 422 507", "ask its code for something and get the answer"),
    ROUTE("GET", INSTANCE "/updates/{name}", handle_update_result, SCOPE_OPERATE, ON_LOOP, BODY_NONE,
     FAMILY_API, "wait_ms", "200 202 404 409 410", "the answer of an update, by its id"),
    ROUTE_AT(AT_STEER("rerun"), handle_rerun, SCOPE_OPERATE, ON_LOOP, &takes_rerun, FAMILY_API, "",
     "200 404 409", "run an ended instance again"),
    ROUTE_AT(AT_ATTRIBUTES, handle_set_attributes, SCOPE_OPERATE, ON_LOOP, &takes_attributes, FAMILY_API, "",
     "200 404 409", "change its attributes: merged, null removes one"),
    STEERING(STEER_ROUTE)
    SCHEDULE_ROUTES
    LIMIT_ROUTES
    QUEUE_ROUTES
    WORK_ROUTES
    TURN_ROUTES
    {NULL, NULL, NULL, NULL, SCOPE_ADMIN, ON_LOOP, BODY_NONE, FAMILY_API, NULL, NULL, NULL, 0},
};
/* clang-format on */

/* ---- Finding one ------------------------------------------------------------------ */

static pawl_str next_segment(const char **at)
{
    const char *from = **at == '/' ? *at + 1 : *at;
    size_t n = strcspn(from, "/?#");
    *at = from + n;
    return (pawl_str){from, n};
}

/* Is the fixed beginning of the pattern that of the path?  Most rows end here. */
static bool begins_so(const char *pattern, const char *path)
{
    while (*pattern && *pattern != '{')
        if (*pattern++ != *path++)
            return false;
    return true;
}

/* Does the path fit the pattern?  Its variable segments, raw, in `args`. */
static bool fits(const char *pattern, const char *path, pawl_str args[CALL_ARGS_MAX], size_t *count)
{
    *count = 0;
    if (!begins_so(pattern, path))
        return false;
    while (*pattern == '/' || *path == '/') {
        if (*pattern != *path)
            return false;
        pawl_str want = next_segment(&pattern), have = next_segment(&path);
        if (want.len && want.ptr[0] == '{') {
            if (!have.len || *count == CALL_ARGS_MAX)
                return false;
            args[(*count)++] = have;
        } else if (!pawl_str_eq(want, have)) {
            return false;
        }
    }
    return *path == 0 || *path == '?' || *path == '#';
}

/* The names . and ..: clients take such a segment for a step, even when it is escaped, and never
 * send it.  So "." and ".." may be written with a comma behind them, which is not escaped. */
static pawl_str undot(pawl_str segment)
{
    bool is_dots = pawl_str_is(segment, ".,") || pawl_str_is(segment, "..,");
    return (pawl_str){segment.ptr, segment.len - is_dots};
}

static bool decode_args(struct call *c, const pawl_str *raw, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pawl_str text;
        if (!percent_decode(c->mem, undot(raw[i]), false, &text)) {
            answer_error(c, 400, "invalid",
                         "the path has a malformed escape, a NUL, or is not UTF-8");
            return false;
        }
        c->args[i] = text.ptr;
    }
    return true;
}

/* No row has path and method: say what there is. */
static bool refuse(struct call *c)
{
    pawl_str args[CALL_ARGS_MAX];
    size_t count;
    const char *allow = "";
    const struct route *near = NULL;
    for (const struct route *r = server_routes; r->method; r++) {
        if (!fits(r->path, c->head->target.ptr, args, &count))
            continue;
        near = r;
        allow = pawl_mem_printf(c->mem, "%s%s%s", allow, allow[0] ? ", " : "", r->method).ptr;
    }
    c->route = near; /* for the shape of the refusal, and the scope */
    if (near) {
        answer_error(c, 405, "method_not_allowed", "only %s here", allow);
        c->answer.allow = allow;
        return false;
    }
    answer_error(c, 404, "unknown_path", "there is nothing here; see /openapi.json");
    return false;
}

bool route_find(struct call *c)
{
    pawl_str args[CALL_ARGS_MAX];
    size_t count;
    const char *target = c->head->target.ptr; /* begins with a slash, or is "*" */
    const char *given = c->head->method.ptr, *method = strcmp(given, "HEAD") == 0 ? "GET" : given;
    for (const struct route *r = server_routes; r->method; r++) {
        if (method[0] != r->method[0] || (r->path[1] && r->path[1] != target[1]) ||
            strcmp(method, r->method) != 0 || !fits(r->path, target, args, &count))
            continue;
        c->route = r;
        return decode_args(c, args, count);
    }
    return refuse(c);
}

bool route_takes(const struct route *r, pawl_str name)
{
    for (const char *at = r->query; *at;) {
        size_t n = strcspn(at, " ");
        if (n == name.len && memcmp(at, name.ptr, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}
