/* SPDX-License-Identifier: MIT */
/*
 * store/postgres/link_errors.c -- SQLSTATEs as statuses, and the server's words as one line.
 *
 * docs/internals/postgres.md has the table.  None of these reaches a history.  Called by link.c;
 * link_error by the files that read the report of a pipeline.
 */
#include "store/postgres/link_errors.h"
#include "base/attr.h"
#include "base/limits.h"

#include <string.h>

/* All others: UNAVAILABLE. */
static const struct {
    const char *state;
    pawl_status status;
} states[] = {
    {"40001", PAWL_BUSY     }, /* serialization failure */
    {"40P01", PAWL_BUSY     }, /* deadlock */
    {"55P03", PAWL_BUSY     }, /* lock_timeout */
    {"57014", PAWL_BUSY     }, /* cancelled by an operator */
    {"53100", PAWL_DISK_FULL},
    {"22012", PAWL_CONFLICT }, /* a count was not what it had to be */
    {"23505", PAWL_CONFLICT }, /* a key exists */
    {"XX001", PAWL_CORRUPT  }, /* a page of the database */
    {"XX002", PAWL_CORRUPT  }, /* an index of it */
};

pawl_status sqlstate_status(const char *sqlstate)
{
    for (size_t i = 0; sqlstate && i < COUNT_OF(states); i++) {
        if (strcmp(sqlstate, states[i].state) == 0)
            return states[i].status;
    }
    return PAWL_UNAVAILABLE;
}

bool sqlstate_ends(const char *sqlstate)
{
    static const char *const begins[] = {"08", "57P", "25006", "25P03", "0A000", "26000"};

    for (size_t i = 0; i < COUNT_OF(begins); i++) {
        if (strncmp(sqlstate, begins[i], strlen(begins[i])) == 0)
            return true;
    }
    return false;
}

static const char *what_to_do(const char *sqlstate)
{
    if (strncmp(sqlstate, "42501", 5) == 0)
        return "; grant the role the rights that `pawl migrate --print` names";
    if (strncmp(sqlstate, "42P05", 5) == 0) /* a statement of that name exists */
        return "; the pooler mixes prepared statements of its clients: add "
               "pawl_pooler=transaction&pawl_prepare=off to the URL";
    if (strncmp(sqlstate, "42", 2) == 0 || strncmp(sqlstate, "3F", 2) == 0)
        return "; the schema does not fit this pawl: run pawl migrate";
    if (strncmp(sqlstate, "25006", 5) == 0)
        return "; this server is a standby: name the primary in the URL";
    if (strncmp(sqlstate, "26000", 5) == 0)
        return "; the pooler loses prepared statements: add pawl_prepare=off to the URL";
    return "";
}

pawl_status link_error(const struct link_report *report, const char *what, pawl_error *reterr)
{
    pawl_status status = report->end == LINK_FAILED && !report->sqlstate[0]
                             ? PAWL_NO_MEMORY
                             : sqlstate_status(report->sqlstate);

    error_set(reterr, status, "cannot %s: %s%s", what, report->text, what_to_do(report->sqlstate));
    return status;
}

void line_copy(char *to, size_t size, const char *from)
{
    size_t n = 0;

    for (; *from && n + 1 < size; from++) {
        if (*from != '\n')
            to[n++] = *from == '\t' ? ' ' : *from;
        else if (from[1] && n + 3 < size) {
            to[n++] = ';';
            to[n++] = ' ';
        }
    }
    to[n] = '\0';
}

static void copy_field(char *to, size_t size, const PGresult *r, int field)
{
    const char *from = pq.resultErrorField(r, field);
    line_copy(to, size, from ? from : "");
}

void report_result(struct link_report *report, const PGresult *r)
{
    copy_field(report->sqlstate, sizeof report->sqlstate, r, PQ_DIAG_SQLSTATE);
    copy_field(report->constraint, sizeof report->constraint, r, PQ_DIAG_CONSTRAINT);
    copy_field(report->text, sizeof report->text, r, PQ_DIAG_MESSAGE);
    if (!report->text[0])
        line_copy(report->text, sizeof report->text, pq.resultErrorMessage(r));
}
