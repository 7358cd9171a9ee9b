/* SPDX-License-Identifier: MIT */
/*
 * server/openapi.c -- GET /openapi.json, written from the tables that the server
 * uses (routes.c, takes.c) or that tests compare it with (gives.h), so it cannot differ from
 * what the server does.
 *
 * The operationId is the name of the handler.
 */
#include "server/openapi.h"

#include "server/handlers.h"
#include "server/queues.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_TYPE "application/json"

static void put_truth(pawl_json *w, const char *key, bool value)
{
    pawl_json_key(w, key);
    pawl_json_truth(w, value);
}

/* ---- Parameters ------------------------------------------------------------------- */

static void write_parameter(struct call *c, pawl_json *w, const struct field *f, const char *in)
{
    pawl_json_object(w);
    openapi_put(w, "name", f->name);
    openapi_put(w, "in", in);
    put_truth(w, "required", strcmp(in, "path") == 0);
    openapi_put(w, "description", f->about);
    pawl_json_key(w, "schema");
    schema_field(w, c->mem, f, false);
    pawl_json_end(w);
}

static void write_named(struct call *c, pawl_json *w, const struct route *r, pawl_str name,
                        const char *in)
{
    struct field f = {.name = pawl_mem_dup(c->mem, name).ptr, .kind = KIND_TEXT, .about = ""};
    const struct field *known = asks_of(r, name);
    if (known)
        f = *known;
    if (f.kind == KIND_TEXT && !f.pattern && !f.words)
        f.pattern = "^[^\\u0000]*$"; /* as percent_decode() has it */
    write_parameter(c, w, &f, in);
}

/* Headers that a handler looks at. */
static void write_headers(struct call *c, pawl_json *w, const struct route *r)
{
    static const struct field key =
        TEXT("Idempotency-Key", 0, "the same one again does nothing again", .min = 1,
             .max = LIMIT_KEY_BYTES);
    static const struct field last = TEXT("Last-Event-ID", 0, "go on after this id");
    if (r->handle == handle_push || r->handle == handle_raise || r->handle == handle_start ||
        r->handle == handle_job || r->handle == handle_update)
        write_parameter(c, w, &key, "header");
    if (r->handle == handle_stream)
        write_parameter(c, w, &last, "header");
}

static void write_parameters(struct call *c, pawl_json *w, const struct route *r)
{
    pawl_json_key(w, "parameters");
    pawl_json_array(w);
    for (const char *at = r->path; (at = strchr(at, '{'));) {
        size_t n = strcspn(at, "}");
        write_named(c, w, r, (pawl_str){at + 1, n - 1}, "path");
        at += n;
    }
    for (const char *at = r->query; *at;) {
        size_t n = strcspn(at, " ");
        write_named(c, w, r, (pawl_str){at, n}, "query");
        at += n + (at[n] == ' ');
    }
    write_headers(c, w, r);
    pawl_json_end(w);
}

/* ---- Bodies ------------------------------------------------------------------------- */

/* "content" with a schema and an example; any value without a shape. */
static void write_content(struct call *c, pawl_json *w, const struct shape *s, const char *type)
{
    pawl_json_key(w, "content");
    pawl_json_object(w);
    pawl_json_key(w, type);
    pawl_json_object(w);
    pawl_json_key(w, "schema");
    if (strcmp(type, JSON_TYPE) != 0)
        pawl_json_raw(w, pawl_s("{\"type\":\"string\"}"));
    else if (!s)
        pawl_json_raw(w, pawl_s("{}"));
    else if (s->presence == BODY_VALUE)
        schema_field(w, c->mem, s->fields, false);
    else
        schema_ref(w, c->mem, s);
    if (s && s->example) {
        pawl_json_key(w, "example");
        pawl_json_raw(w, pawl_s(s->example));
    }
    pawl_json_end(w);
    pawl_json_end(w);
}

static void write_body(struct call *c, pawl_json *w, const struct route *r)
{
    if (!r->body)
        return;
    pawl_json_key(w, "requestBody");
    pawl_json_object(w);
    put_truth(w, "required", shape_is_needed(r->body));
    write_content(c, w, r->body, JSON_TYPE);
    pawl_json_end(w);
}

/* ---- Answers -------------------------------------------------------------------------- */

static const char *status_text(unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } texts[] = {
        {200, "done, and durable"       },
        {201, "created, and durable"    },
        {202, "accepted, and durable"   },
        {207, "some done, some refused" },
        {400, "bad input"               },
        {401, "no valid token"          },
        {403, "not allowed"             },
        {404, "unknown"                 },
        {409, "the state forbids it"    },
        {410, "the lock was lost"       },
        {412, "it is another revision"  },
        {413, "too large"               },
        {421, "wrong Host"              },
        {422, "refused by its check"    },
        {423, "locked"                  },
        {429, "over a limit"            },
        {503, "not now; see Retry-After"},
        {507, "disk full"               }
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "";
}

static const char *type_of(const struct route *r, unsigned status)
{
    if (status >= 400)
        return JSON_TYPE;
    if (r->handle == handle_root)
        return "text/html";
    if (r->handle == handle_metrics)
        return "text/plain";
    return r->handle == handle_stream ? "text/event-stream" : JSON_TYPE;
}

static void write_header(pawl_json *w, const char *name, const char *type, const char *about)
{
    pawl_json_key(w, "headers");
    pawl_json_object(w);
    pawl_json_key(w, name);
    pawl_json_object(w);
    openapi_put(w, "description", about);
    pawl_json_key(w, "schema");
    pawl_json_object(w);
    openapi_put(w, "type", type);
    pawl_json_end(w);
    pawl_json_end(w);
    pawl_json_end(w);
}

static void write_response(struct call *c, pawl_json *w, const struct route *r, unsigned status)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "%u", status);
    pawl_json_key(w, key);
    pawl_json_object(w);
    openapi_put(w, "description", status_text(status));
    if (status == 401)
        write_header(w, "WWW-Authenticate", "string", "Bearer");
    else if (status == 423 || status == 429 || status == 503 || status == 507)
        write_header(w, "Retry-After", "integer", "seconds to wait before trying again");
    write_content(c, w, gives_of(r, status), type_of(r, status));
    pawl_json_end(w);
}

static void write_responses(struct call *c, pawl_json *w, const struct route *r)
{
    bool guarded = r->scope != SCOPE_PUBLIC, is_get = strcmp(r->method, "GET") == 0;
    bool probe = guard_is_probe(&(struct call){.route = r}); /* under any name */
    const struct {
        unsigned status;
        bool may;
    } general[] = {
        {400, true              },
        {401, guarded           },
        {403, !is_get || guarded},
        {413, true              },
        {421, !probe            },
        {503, guarded           },
    };
    char number[16];
    pawl_json_key(w, "responses");
    pawl_json_object(w);
    for (const char *at = r->statuses; *at; at += strspn(at, " ")) {
        write_response(c, w, r, (unsigned)strtoul(at, NULL, 10));
        at += strcspn(at, " ");
    }
    for (size_t i = 0; i < COUNT_OF(general); i++) {
        (void)snprintf(number, sizeof(number), "%u", general[i].status);
        if (general[i].may && !strstr(r->statuses, number))
            write_response(c, w, r, general[i].status);
    }
    pawl_json_end(w);
}

/* ---- Operations -------------------------------------------------------------------------- */

static const char *tag_of(const struct route *r)
{
    return r->family == FAMILY_QUEUE                   ? "queues"
           : strncmp(r->path, "/api/v1/work", 12) == 0 ? "workers"
           : strncmp(r->path, "/api/v1/i", 9) == 0     ? "instances"
                                                       : "operations";
}

/* A token that is given counts even where none is needed. */
static void write_security(struct call *c, pawl_json *w, const struct route *r)
{
    pawl_json_key(w, "security");
    pawl_json_raw(w, pawl_s(r->scope == SCOPE_PUBLIC ? "[]"
                            : c->srv->needs_token    ? "[{\"bearer\":[]}]"
                                                     : "[{},{\"bearer\":[]}]"));
}

static void write_operation(struct call *c, pawl_json *w, const struct route *r)
{
    static const char *const scopes[] = {"public", "work", "read", "operate", "admin"};
    char method[8] = "";
    for (size_t i = 0; i < sizeof(method) - 1 && r->method[i]; i++)
        method[i] = (char)tolower((unsigned char)r->method[i]);
    pawl_json_key(w, method);
    pawl_json_object(w);
    openapi_put(w, "operationId", r->name + strlen("handle_"));
    openapi_put(w, "summary", r->summary);
    pawl_json_key(w, "tags");
    pawl_json_array(w);
    pawl_json_cstr(w, tag_of(r));
    pawl_json_end(w);
    openapi_put(w, "x-scope", scopes[r->scope]);
    write_security(c, w, r);
    write_parameters(c, w, r);
    write_body(c, w, r);
    write_responses(c, w, r);
    pawl_json_end(w);
}

static bool is_first_of_path(const struct route *r)
{
    for (const struct route *at = server_routes; at < r; at++)
        if (strcmp(at->path, r->path) == 0)
            return false;
    return true;
}

static void write_paths(struct call *c, pawl_json *w)
{
    pawl_json_key(w, "paths");
    pawl_json_object(w);
    for (const struct route *r = server_routes; r->method; r++) {
        if (r->handle == handle_file || !is_first_of_path(r)) /* files of the page: no API */
            continue;
        pawl_json_key(w, r->path);
        pawl_json_object(w);
        for (const struct route *at = r; at->method; at++)
            if (strcmp(at->path, r->path) == 0)
                write_operation(c, w, at);
        pawl_json_end(w);
    }
    pawl_json_end(w);
}

static void write_components(struct call *c, pawl_json *w)
{
    struct schemas all = {.mem = c->mem};
    for (const struct route *r = server_routes; r->method; r++)
        schemas_of_route(&all, r);
    pawl_json_key(w, "components");
    pawl_json_object(w);
    pawl_json_key(w, "schemas");
    schemas_write(&all, w);
    pawl_json_key(w, "securitySchemes");
    pawl_json_raw(w, pawl_s("{\"bearer\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":"
                            "\"a token of pawl token new; its scope must reach x-scope (work < "
                            "operate; read < operate < admin)\"}}"));
    pawl_json_end(w);
}

void handle_openapi(struct call *c)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    openapi_put(w, "openapi", "3.1.0");
    pawl_json_key(w, "info");
    pawl_json_raw(w, pawl_s("{\"title\":\"Pawl\",\"version\":\"" PAWL_VERSION
                            "\",\"description\":\"Durable execution and durable queues. A 2xx "
                            "means durable. A member of a body that is not in its schema is "
                            "refused.\",\"license\":{\"name\":\"MIT\",\"identifier\":\"MIT\"}}"));
    pawl_json_key(w, "servers");
    pawl_json_raw(w, pawl_s("[{\"url\":\"/\"}]"));
    write_paths(c, w);
    write_components(c, w);
    pawl_json_end(w);
    answer_json(c, 200, w);
}
