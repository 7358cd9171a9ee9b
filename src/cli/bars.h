/* SPDX-License-Identifier: MIT */
/*
 * cli/bars.h -- a timeline drawn with characters.
 *
 * From the JSON of view/timeline.h, made here or by a server, so its values are not trusted.  The
 * shape shows the kind of a step, the colour how it went.  Called by `show --timeline` and by `top`.
 */
#ifndef PAWL_CLI_BARS_H
#define PAWL_CLI_BARS_H

#include "cli/paper.h"

#define BARS_WIDTH_MIN 40 /* lines have at least this width; narrower paper cuts them */

/* One line per step (or name), under an axis; below it what failed attempts said. */
void bars_draw(struct paper *p, pawl_str timeline);

#endif
