/* SPDX-License-Identifier: MIT */
/* view/schedule_view.h -- occurrences of schedules as JSON, for the server and the command line. */
#ifndef PAWL_VIEW_SCHEDULE_VIEW_H
#define PAWL_VIEW_SCHEDULE_VIEW_H

#include "pawl.h"

/* {"at": ms, "utc": "…Z", "local": "…+02:00"} */
void render_occurrence(pawl_json *w, const char *zone, int64_t at_ms);
/* {"zone": …, "next": [ … ]} */
void render_preview(pawl_json *w, const char *zone, const int64_t *at, size_t count);

#endif
