/* SPDX-License-Identifier: MIT */
/* tests/conformance/stores.h -- the stores of this library, for the suite and the differential test. */
#ifndef PAWL_TESTS_STORES_H
#define PAWL_TESTS_STORES_H

#include "pawl/conformance.h"

#define STORES_MAX 2

/* Fill in the factories of all stores built in; how many. */
size_t stores(pawl_conformance_factory ret[STORES_MAX]);

#endif
