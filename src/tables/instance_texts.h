/* SPDX-License-Identifier: MIT */
/*
 * tables/instance_texts.h -- texts of an instance that every room passes on as they are.
 *
 * A row is a field of pawl_row (pawl/provider.h) and of pawl_info (pawl/client.h) with the same
 * name, which is its key in the JSON of the API and in the records of the jsonl store, too.  The
 * runtime copies it (core/{resident,info,audience}.c), view/render.c writes it, cli/remote.c reads
 * it back, `show` prints it, the server counts its bytes and describes it in /openapi.json.  SQL
 * stores have their own list (store/sql/columns.h), with what only a database needs.
 *
 * Texts only: a number has no row here, because each room writes numbers in its own way.
 */
#ifndef PAWL_TABLES_INSTANCE_TEXTS_H
#define PAWL_TABLES_INSTANCE_TEXTS_H

/* In the JSON of the API: null when it is empty, or not there; as a text, or as the JSON it is. */
enum text_presence { TEXT_IF_SET, TEXT_ALWAYS, JSON_IF_SET };

/* clang-format off */
/* X(field, STR for any bytes or NAME for UTF-8, presence, label in `show`, one line about it) */
#define INSTANCE_TEXTS(X)                                                                        \
    X(custom_status, STR, TEXT_ALWAYS, "custom status", "what its code says of itself")          \
    X(finding, NAME, TEXT_IF_SET, "finding", "what keeps it from going on")                      \
    X(attributes, STR, JSON_IF_SET, "attributes", "names and values it can be found by")
/* clang-format on */

#endif
