/* SPDX-License-Identifier: MIT */
/*
 * view/render.h -- instances and events as JSON, with the field names of the HTTP
 * API.
 *
 * Times are integers: milliseconds since 1970, UTC.  A payload that is JSON is
 * written byte for byte; another one becomes a string, with "encoding" beside it
 * ("input_encoding" for the input): "text", or "base64" when it is not UTF-8.
 */
#ifndef PAWL_VIEW_RENDER_H
#define PAWL_VIEW_RENDER_H

#include "pawl.h"

/* `"key": payload`; null when empty. */
void render_payload(pawl_json *w, pawl_mem *mem, const char *key, const char *encoding_key,
                    pawl_str payload);
/* The members of an instance, inside an object the caller opened. */
void render_instance_members(pawl_json *w, pawl_mem *mem, const pawl_info *info);
/* One thing an instance waits for, as an object's members. */
void render_waiting_members(pawl_json *w, pawl_mem *mem, const pawl_waiting *waiting);
void render_event(pawl_json *w, pawl_mem *mem, const pawl_history_event *event);
/* A history as a file: begin, render_event() for each, end. */
#define RENDER_EXPORT_FORMAT 1
void render_export_begin(pawl_json *w, pawl_mem *mem, const pawl_info *info);
/* With the timeline of the run on the last page, so that a file is drawn as the instance was; NULL:
 * another page follows. */
struct timeline;
void render_export_end(pawl_json *w, int64_t next, const struct timeline *timeline);
/* `"key": "text"`, null when empty. */
void render_text(pawl_json *w, const char *key, pawl_str text);
/* `"key": n`, null when 0. */
void render_number(pawl_json *w, const char *key, int64_t n);

/* What is worth a table cell: output, error, finding or custom status. */
pawl_str render_detail(const pawl_info *info);

#endif
