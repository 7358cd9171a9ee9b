/* SPDX-License-Identifier: MIT */
/*
 * tests/replay/event_text.h -- events as the words of an `out` line.
 *
 *     #1 activity NAME INPUT      completed #1 RESULT     failed #1 ERROR
 *     #2 timer DELAY              fired #2
 *     #3 wait NAME                event #3 NAME DATA
 *     #4 child NAME INPUT         child-completed #4 …    child-failed #4 …
 *     #5 detached NAME INPUT      cancel #1 REASON
 *     status TEXT   patch NAME    started INPUT           cancel-requested REASON
 *     suspended TEXT  resumed TEXT
 *     finished ok|failed|cancelled|continued|terminated TEXT
 *
 * An expected line may leave out the reason of a cancel, may write ~part for a
 * word, and may add options: seq= at= fires= id= version= message= rid= attrs=
 * refused abandon forced.
 */
#ifndef PAWL_TESTS_REPLAY_EVENT_TEXT_H
#define PAWL_TESTS_REPLAY_EVENT_TEXT_H

#include "script.h"

/* The event as one line of text, for messages. */
void event_text(const struct step *s, char *out, size_t n);
/* True when the words of `l` from `from` on describe the step. */
bool event_fits(const struct step *s, const struct line *l, int from);

#endif
