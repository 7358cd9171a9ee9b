/* SPDX-License-Identifier: MIT */
/*
 * view/state_json.h -- what an instance has published, as JSON.
 *
 * Called by the server (GET …/state, …/state/{key}) and by `pawl state` on a data directory.
 */
#ifndef PAWL_VIEW_STATE_JSON_H
#define PAWL_VIEW_STATE_JSON_H

#include "pawl.h"

/* {"instance", "items": [{"key", "value", "version", "updated_at"} …], "count"}, in byte order of
 * the keys; with a key, that item alone, and PAWL_NOT_FOUND when it is not set. */
pawl_status state_render(pawl_client *c, const char *instance, const char *key, pawl_mem *mem,
                         pawl_json *w, pawl_error *reterr);

#endif
