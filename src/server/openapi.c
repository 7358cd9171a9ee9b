/* SPDX-License-Identifier: MIT */
/*
 * server/openapi.c -- GET /openapi.json, written from the table of routes, so it
 * cannot say something else than the server does.
 */
#include "server/handlers.h"

#include <ctype.h>
#include <string.h>

static void write_parameter(pawl_json *w, pawl_str name, const char *in)
{
    pawl_json_object(w);
    pawl_json_key(w, "name");
    pawl_json_str(w, name);
    pawl_json_key(w, "in");
    pawl_json_cstr(w, in);
    pawl_json_key(w, "required");
    pawl_json_truth(w, strcmp(in, "path") == 0);
    pawl_json_key(w, "schema");
    pawl_json_object(w);
    pawl_json_key(w, "type");
    pawl_json_cstr(w, "string");
    pawl_json_end(w);
    pawl_json_end(w);
}

static void write_parameters(pawl_json *w, const struct route *r)
{
    pawl_json_key(w, "parameters");
    pawl_json_array(w);
    for (const char *at = r->path; (at = strchr(at, '{'));) {
        size_t n = strcspn(at, "}");
        write_parameter(w, (pawl_str){at + 1, n - 1}, "path");
        at += n;
    }
    for (const char *at = r->query; *at;) {
        size_t n = strcspn(at, " ");
        write_parameter(w, (pawl_str){at, n}, "query");
        at += n + (at[n] == ' ');
    }
    pawl_json_end(w);
}

static void write_body(pawl_json *w, const struct route *r)
{
    if (r->body == BODY_NONE)
        return;
    pawl_json_key(w, "requestBody");
    pawl_json_object(w);
    pawl_json_key(w, "required");
    pawl_json_truth(w, r->body == BODY_JSON);
    pawl_json_key(w, "content");
    pawl_json_raw(w, pawl_s("{\"application/json\":{\"schema\":{}}}"));
    pawl_json_end(w);
}

static void write_response(pawl_json *w, const char *status, const char *schema)
{
    static const struct {
        const char *status, *text;
    } texts[] = {
        {"200", "done, and durable"       },
        {"201", "created, and durable"    },
        {"202", "accepted, and durable"   },
        {"207", "some done, some refused" },
        {"400", "bad input"               },
        {"401", "no valid token"          },
        {"403", "not allowed"             },
        {"404", "unknown"                 },
        {"409", "the state forbids it"    },
        {"410", "the lock was lost"       },
        {"413", "too large"               },
        {"421", "wrong Host"              },
        {"423", "locked"                  },
        {"429", "over a limit"            },
        {"503", "not now; see Retry-After"},
        {"507", "disk full"               }
    };
    const char *text = "";
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (strcmp(texts[i].status, status) == 0)
            text = texts[i].text;
    pawl_json_key(w, status);
    pawl_json_object(w);
    pawl_json_key(w, "description");
    pawl_json_cstr(w, text);
    if (schema) {
        pawl_json_key(w, "content");
        pawl_json_raw(w, pawl_s(schema));
    }
    pawl_json_end(w);
}

static void write_responses(struct call *c, pawl_json *w, const struct route *r)
{
    bool guarded = r->scope != SCOPE_PUBLIC, is_get = strcmp(r->method, "GET") == 0;
    const struct {
        const char *status;
        bool may;
    } general[] = {
        {"400", true                                 },
        {"401", guarded                              },
        {"403", guarded && (!is_get || strstr(r->path, "{queue}"))},
        {"413",     true                                     },
        {"421",     true},
        {"503",     guarded                                     }
    };
    const char *error =
        r->family == FAMILY_API
            ? "{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/Error\"}}}"
            : "{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/QueueError\"}}}";
    pawl_json_key(w, "responses");
    pawl_json_object(w);
    for (const char *at = r->statuses; *at;) {
        size_t n = strcspn(at, " ");
        pawl_str status = pawl_mem_dup(c->mem, (pawl_str){at, n});
        write_response(w, status.ptr, status.ptr[0] == '2' ? NULL : error);
        at += n + (at[n] == ' ');
    }
    for (size_t i = 0; i < COUNT_OF(general); i++)
        if (general[i].may && !strstr(r->statuses, general[i].status))
            write_response(w, general[i].status, error);
    pawl_json_end(w);
}

static void write_operation(struct call *c, pawl_json *w, const struct route *r)
{
    static const char *const scopes[] = {"public", "read", "operate", "admin"};
    char method[8] = "";
    for (size_t i = 0; i < sizeof(method) - 1 && r->method[i]; i++)
        method[i] = (char)tolower((unsigned char)r->method[i]);
    pawl_json_key(w, method);
    pawl_json_object(w);
    pawl_json_key(w, "summary");
    pawl_json_cstr(w, r->summary);
    pawl_json_key(w, "tags");
    pawl_json_array(w);
    pawl_json_cstr(w, r->family == FAMILY_QUEUE                   ? "queues"
                      : strncmp(r->path, "/api/v1/work", 12) == 0 ? "workers"
                      : strncmp(r->path, "/api/v1/i", 9) == 0     ? "instances"
                                                                  : "operations");
    pawl_json_end(w);
    pawl_json_key(w, "x-scope");
    pawl_json_cstr(w, scopes[r->scope]);
    write_parameters(w, r);
    write_body(w, r);
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
        if (!is_first_of_path(r))
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

void handle_openapi(struct call *c)
{
    pawl_json *w = pawl_json_new(c->mem);
    pawl_json_object(w);
    pawl_json_key(w, "openapi");
    pawl_json_cstr(w, "3.1.0");
    pawl_json_key(w, "info");
    pawl_json_raw(w, pawl_s("{\"title\":\"Pawl\",\"version\":\"" PAWL_VERSION
                            "\",\"description\":\"Durable execution and durable queues. A 2xx "
                            "means durable.\",\"license\":{\"name\":\"MIT\"}}"));
    write_paths(c, w);
    pawl_json_key(w, "components");
    pawl_json_raw(
        w,
        pawl_s("{\"schemas\":{\"Error\":{\"type\":\"object\",\"properties\":{\"error\":{\"type\":"
               "\"object\",\"properties\":{\"code\":{\"type\":\"string\"},\"message\":{\"type\":"
               "\"string\"}}}}},\"QueueError\":{\"type\":\"object\",\"properties\":{\"success\":"
               "{\"type\":\"boolean\"},\"message\":{\"type\":\"string\"},\"error_code\":"
               "{\"type\":\"string\"}}}},\"securitySchemes\":{\"bearer\":{\"type\":\"http\","
               "\"scheme\":\"bearer\"}}}"));
    pawl_json_end(w);
    answer_json(c, 200, w);
}
