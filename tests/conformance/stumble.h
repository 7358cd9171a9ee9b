/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/stumble.h -- the sqlite store, whose database now and then does not answer.
 *
 * Each call of the store may meet one statement that is busy, or one that cannot be
 * prepared, at any place in it.  The contract says that such a call did nothing, so it is
 * made again, and the answers of the second time count: a call that took half of its trouble
 * for an answer, or left a half-done change behind, differs from the store it is compared
 * with.  Used by both differential tests.
 */
#ifndef PAWL_TESTS_STUMBLE_H
#define PAWL_TESTS_STUMBLE_H

#include "pawl/conformance.h"

/* As `sqlite` opens, reopens and closes it, but it stumbles. */
pawl_conformance_factory stumbling(const pawl_conformance_factory *sqlite);
/* How often it did: none is a test that shows nothing. */
uint64_t stumble_count(void);

#endif
