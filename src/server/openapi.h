/* SPDX-License-Identifier: MIT */
/* server/openapi.h -- fields and shapes as JSON Schema, for openapi.c. */
#ifndef PAWL_SERVER_OPENAPI_H
#define PAWL_SERVER_OPENAPI_H

#include "base/vec.h"
#include "server/server.h"

/* A member with a text. */
void openapi_put(pawl_json *w, const char *key, const char *text);
/* The schema of a value; `described`: with its line for people. */
void schema_field(pawl_json *w, pawl_mem *mem, const struct field *f, bool described);
/* {"$ref":"#/components/schemas/NAME"} */
void schema_ref(pawl_json *w, pawl_mem *mem, const struct shape *shape);

/* Every shape that the routes use, each once. */
struct schema {
    const struct shape *shape;
    bool closed; /* of a request: nothing else may be in it */
};

struct schemas {
    pawl_mem *mem;
    LIST(struct schema) list;
};

void schemas_of_route(struct schemas *all, const struct route *r);
void schemas_write(const struct schemas *all, pawl_json *w);

#endif
