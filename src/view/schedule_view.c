/* SPDX-License-Identifier: MIT */
/* view/schedule_view.c -- see schedule_view.h. */
#include "view/schedule_view.h"

#include "view/render.h"

#include <string.h>

static void put_local(pawl_json *w, const char *key, const char *zone, int64_t at_ms)
{
    char text[PAWL_LOCAL_TIME_BYTES];
    pawl_json_key(w, key);
    pawl_json_cstr(w, pawl_local_time(zone, at_ms, text, NULL) == PAWL_OK ? text : NULL);
}

void render_occurrence(pawl_json *w, const char *zone, int64_t at_ms)
{
    pawl_json_object(w);
    pawl_json_key(w, "at");
    pawl_json_num(w, at_ms);
    put_local(w, "utc", NULL, at_ms);
    put_local(w, "local", zone, at_ms);
    pawl_json_end(w);
}

void render_preview_members(pawl_json *w, const char *zone, const int64_t *at, size_t count)
{
    render_text(w, "zone", pawl_s(zone && *zone ? zone : "UTC"));
    pawl_json_key(w, "next");
    pawl_json_array(w);
    for (size_t i = 0; i < count; i++)
        render_occurrence(w, zone, at[i]);
    pawl_json_end(w);
}

void render_preview(pawl_json *w, const char *zone, const int64_t *at, size_t count)
{
    pawl_json_object(w);
    render_preview_members(w, zone, at, count);
    pawl_json_end(w);
}

bool view_scheduled(pawl_mem *mem, const pawl_history_event *started, pawl_str *name,
                    int64_t *at_ms)
{
    *name = pawl_json_text(mem, started->attrs, "/schedule", "");
    *at_ms = pawl_json_int(started->attrs, "/scheduled_at", 0);
    return name->len && strcmp(started->kind, "OrchestrationStarted") == 0;
}
