/* SPDX-License-Identifier: MIT */
/*
 * tables/schemes.h -- the stores that a URL can name, once.
 *
 * A row is the beginning of the URL, its form for people, and what comes after the colon.  The
 * runtime opens the store (life/open_store.c has a function for each row), and the verbs of the
 * command line find its file or directory.  A new store is a row here and a function there.
 */
#ifndef PAWL_TABLES_SCHEMES_H
#define PAWL_TABLES_SCHEMES_H

#include <stdbool.h>

/* What the URL names after the colon. */
enum scheme_place {
    PLACE_NOTHING,   /* the store ends with its process */
    PLACE_FILE,      /* its directory is the data directory */
    PLACE_DIRECTORY, /* which is the data directory */
};

/* clang-format off */
/* X(NAME, beginning, form, place) */
#define SCHEMES(X)                                                                               \
    X(SQLITE, "sqlite:", "sqlite:FILE", PLACE_FILE)                                              \
    X(JSONL,  "jsonl:",  "jsonl:DIR",   PLACE_DIRECTORY)                                         \
    X(MEMORY, "memory:", "memory:",     PLACE_NOTHING)
/* clang-format on */

#define SCHEME_FORMS "sqlite:FILE, jsonl:DIR or memory:" /* the forms, in a sentence */

enum scheme {
#define SCHEME_ENUM(name, beginning, form, place) SCHEME_##name,
    SCHEMES(SCHEME_ENUM)
#undef SCHEME_ENUM
        SCHEME_COUNT
};

/* A URL, read. */
struct store_place {
    enum scheme scheme;
    enum scheme_place kind;
    const char *path; /* in the URL, after the colon; "": PLACE_NOTHING */
};

/* False: no scheme has this beginning, or the place is missing, or there should be none. */
bool store_place_read(const char *url, struct store_place *ret);

#endif
