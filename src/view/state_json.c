/* SPDX-License-Identifier: MIT */
/* view/state_json.c -- see state_json.h. */
#include "view/state_json.h"

#include "view/render.h"

struct rendering {
    pawl_json *w;
    pawl_mem *mem;
    int64_t count;
};

static void write_item(void *arg, pawl_str key, pawl_str value, uint64_t version,
                       int64_t updated_ms)
{
    struct rendering *r = arg;
    pawl_json_object(r->w);
    render_text(r->w, "key", key);
    render_payload(r->w, r->mem, "value", "encoding", value);
    render_number(r->w, "version", (int64_t)version);
    render_number(r->w, "updated_at", updated_ms);
    pawl_json_end(r->w);
    r->count++;
}

pawl_status state_render(pawl_client *c, const char *instance, const char *key, pawl_mem *mem,
                         pawl_json *w, pawl_error *reterr)
{
    struct rendering r = {.w = w, .mem = mem};
    if (key)
        return pawl_client_published(c, instance, key, write_item, &r, reterr);
    pawl_json_object(w);
    pawl_json_key(w, "instance");
    pawl_json_cstr(w, instance);
    pawl_json_key(w, "items");
    pawl_json_array(w);
    pawl_status rc = pawl_client_published(c, instance, NULL, write_item, &r, reterr);
    pawl_json_end(w);
    pawl_json_key(w, "count");
    pawl_json_num(w, r.count);
    pawl_json_end(w);
    return rc;
}
