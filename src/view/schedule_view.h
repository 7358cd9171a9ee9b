/* SPDX-License-Identifier: MIT */
/* view/schedule_view.h -- occurrences of schedules as JSON, for the server and the command line. */
#ifndef PAWL_VIEW_SCHEDULE_VIEW_H
#define PAWL_VIEW_SCHEDULE_VIEW_H

#include "pawl.h"

/* {"at": ms, "utc": "…Z", "local": "…+02:00"} */
void render_occurrence(pawl_json *w, const char *zone, int64_t at_ms);
/* "zone": …, "next": [ … ]; and the same as an object */
void render_preview_members(pawl_json *w, const char *zone, const int64_t *at, size_t count);
void render_preview(pawl_json *w, const char *zone, const int64_t *at, size_t count);
/* The schedule that an OrchestrationStarted event names, and its occurrence; false: none. */
bool view_scheduled(pawl_mem *mem, const pawl_history_event *started, pawl_str *name,
                    int64_t *at_ms);

#endif
