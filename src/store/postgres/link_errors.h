/* SPDX-License-Identifier: MIT */
/* store/postgres/link_errors.h -- what link.c needs to say what went wrong; for link.c. */
#ifndef PAWL_STORE_POSTGRES_LINK_ERRORS_H
#define PAWL_STORE_POSTGRES_LINK_ERRORS_H

#include "store/postgres/link.h"

/* Is the connection of no use after this, whatever its socket says? */
bool sqlstate_ends(const char *sqlstate);
/* One line of it, without the end of the last one. */
void line_copy(char *to, size_t size, const char *from);
/* What a result that is an error says. */
void report_result(struct link_report *report, const PGresult *r);

#endif
