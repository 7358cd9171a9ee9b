/* SPDX-License-Identifier: MIT */
/*
 * cli/bars.h -- a timeline drawn with characters.
 *
 * From the JSON of view/timeline.h, whether it was made here or came from a server: what it says is
 * not trusted.  Shape is the kind of a step, colour is how it went.  Called by `show --timeline`
 * and by `top`.
 */
#ifndef PAWL_CLI_BARS_H
#define PAWL_CLI_BARS_H

#include "cli/paper.h"

#define BARS_WIDTH_MIN 40 /* narrower paper gets lines of this width, which it cuts */

/* One line per step (or name), under an axis; below it what failed attempts said. */
void bars_draw(struct paper *p, pawl_str timeline);

#endif
