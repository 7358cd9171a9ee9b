/* SPDX-License-Identifier: MIT */
/* store/open_url.h -- open the store that a row of tables/schemes.h names. */
#ifndef PAWL_STORE_OPEN_URL_H
#define PAWL_STORE_OPEN_URL_H

#include "pawl/provider.h"
#include "tables/schemes.h"

/* NULL, and *reterr says why. */
PAWL_MUST_USE pawl_store *store_open_place(const struct store_place *place,
                                           const pawl_store_open_opts *opts, pawl_error *reterr);
/* INVALID: "unknown store …", without its password. */
pawl_status store_url_unknown(const char *url, pawl_error *reterr);

#endif
