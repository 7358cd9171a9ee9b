/* SPDX-License-Identifier: MIT */
/* trial/traffic.h -- what goes into a world and what is seen of it; for world.c. */
#ifndef PAWL_TRIAL_TRAFFIC_H
#define PAWL_TRIAL_TRAFFIC_H

#include "trial/world.h"

/* Make the calls whose time has come; false when there were none. */
bool traffic_send(struct world *w);
/* A call never gets its answer because the process dies each time: let it live. */
bool traffic_starves(const struct world *w);
/* The process died: what it did not answer is called again. */
void traffic_again(struct world *w);
/* Tell the hooks what was committed since the last look. */
void traffic_look(struct world *w);
/* A new process: activities that open histories call are served. */
void traffic_serve_open(struct world *w);
/* From now on the hook answers for this activity. */
void world_serve(struct world *w, pawl_str name, void *user);

#endif
