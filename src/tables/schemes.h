/* SPDX-License-Identifier: MIT */
/*
 * tables/schemes.h -- the stores that a URL can name, once.
 *
 * A row is the beginning of the URL, its form for people, what it names, and how people copy the
 * store.  The store room opens it (store/open_url.c has a function for each row), and the verbs of
 * the command line find its file, directory or server.  A new store is a row here and a function
 * there: no verb compares names of stores.
 */
#ifndef PAWL_TABLES_SCHEMES_H
#define PAWL_TABLES_SCHEMES_H

#include <stdbool.h>
#include <stddef.h>

/* What the URL names after the colon. */
enum scheme_place {
    PLACE_NOTHING,   /* the store ends with its process */
    PLACE_FILE,      /* its directory is the data directory */
    PLACE_DIRECTORY, /* which is the data directory */
    PLACE_SERVER,    /* a database elsewhere: opening it says whether it is there; it keeps the
                      * tokens too, and the data directory has only what is of this process */
};

#define COPY_POSTGRES                                                                              \
    "a postgres: store is saved with the tools of its server: pg_dump -Fc -n pawl -f FILE "        \
    "DATABASE and pg_restore, or pg_basebackup"

/* clang-format off */
/* X(NAME, beginning, form, place, copying): how people copy it; NULL: `pawl backup` does.  Of a
 * directory its name follows. */
#define SCHEMES(X)                                                                               \
    X(SQLITE, "sqlite:", "sqlite:FILE", PLACE_FILE, NULL)                                        \
    X(JSONL,  "jsonl:",  "jsonl:DIR",   PLACE_DIRECTORY,                                         \
      "a jsonl: store is plain files: stop its process and copy the directory")                  \
    X(MEMORY, "memory:", "memory:",     PLACE_NOTHING,                                           \
      "memory: ends with its process and cannot be saved: use --data DIR")                       \
    X(POSTGRES, "postgres://", "postgres://…", PLACE_SERVER, COPY_POSTGRES)                      \
    X(POSTGRESQL, "postgresql://", "postgresql://…", PLACE_SERVER, COPY_POSTGRES)
/* clang-format on */

#define SCHEME_FORMS                                                                               \
    "sqlite:FILE, jsonl:DIR, memory: or postgres://USER@HOST/DATABASE" /* in a sentence */

enum scheme {
#define SCHEME_ENUM(name, beginning, form, place, copying) SCHEME_##name,
    SCHEMES(SCHEME_ENUM)
#undef SCHEME_ENUM
        SCHEME_COUNT
};

/* A URL, read. */
struct store_place {
    enum scheme scheme;
    enum scheme_place kind;
    const char *path;    /* in the URL, after the colon; PLACE_SERVER: all of it; "": NOTHING */
    const char *copying; /* from the row */
};

/* False: no scheme has this beginning, or the place is missing, or there should be none. */
bool store_place_read(const char *url, struct store_place *ret);

/* The URL as it may be shown: what may be a password is ***, also in a URL of no store. */
const char *store_url_shown(const char *url, char *room, size_t size);

#endif
