/* SPDX-License-Identifier: MIT */
/*
 * cli/deed_object.h -- what `pawl schedule` and `pawl limit` share: named objects that a server
 * stores, which are put, shown, listed in pages, and written only if they are as they were seen.
 *
 * A kind says where its objects are and how one of them looks; what a put or another deed says is
 * for verb_schedule.c and verb_limit.c.
 */
#ifndef PAWL_CLI_DEED_OBJECT_H
#define PAWL_CLI_DEED_OBJECT_H

#include "cli/deed.h"
#include "cli/out.h"

struct object_kind {
    const char *path, *list; /* of all of them, and the array in its answer: "limits" */
    const struct table_column *columns;
    size_t column_count;
    void (*put_row)(struct cli *cli, struct table *t, pawl_str object); /* its cells, in order */
    void (*print)(struct cli *cli, pawl_str object);                    /* one, for people */
};

/* The path of the object that the command line names, and what stands behind it. */
pawl_str object_path(struct cli *cli, const struct object_kind *kind, const char *rest);
/* The header of --if-revision; NULL when it was not given. */
const char *object_condition(struct cli *cli);
/* Print in one line what was done to it; programs get the answer of the server. */
void object_report(struct cli *cli, pawl_str answer, const char *done);

/* The deeds `show` and `ls`; an exit status. */
int object_show(struct cli *cli, struct session *s, const struct object_kind *kind);
int object_ls(struct cli *cli, struct session *s, const struct object_kind *kind);

#endif
