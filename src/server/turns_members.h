/* SPDX-License-Identifier: MIT */
/*
 * server/turns_members.h -- the members of a JSON object, by a table, into a struct.
 *
 * Every object of a worker's answer has a table of its members: the word, the type, where the value
 * goes.  An unknown or doubled member, or one of another type, makes the answer unreadable.  No
 * value replaces another, and no list grows behind the room that was made for it.
 *
 * Called by turns_read.c and turns_decision.c.
 */
#ifndef PAWL_SERVER_TURNS_MEMBERS_H
#define PAWL_SERVER_TURNS_MEMBERS_H

#include "pawl/turns.h"
#include "server/handlers.h"

enum turn_to {
    TO_TEXT,
    TO_BYTES,
    TO_INT,
    TO_REF,
    TO_FLAG,
    TO_TRUE,
    TO_RAW,
    TO_REAL,
    TO_CSTR,
    TO_U32,
    TO_BOOL,
    TO_ITS_OWN
};

/* What is being read, and why it cannot be. */
struct turn_reading {
    pawl_mem *mem;
    const char *why; /* NULL: nothing is wrong */
};

struct turn_member {
    const char *name;
    enum turn_to to;
    size_t at;
    unsigned flag; /* TO_FLAG */
    /* TO_ITS_OWN: reads the value into the whole struct */
    bool (*read)(struct turn_reading *r, void *to, pawl_str value);
};

/* Why it cannot be read; the first reason stands.  Always false. */
bool turn_bad(struct turn_reading *r, const char *what, pawl_str key);
bool turn_text(struct turn_reading *r, pawl_str raw, pawl_str *ret);
bool turn_cstr(struct turn_reading *r, pawl_str raw, const char **ret);
/* How many values an array has. */
size_t turn_length(pawl_str array);
/* The members of `object` into `to`, as `list` says (it ends with a NULL name, and has at most 64);
 * `retseen`, unless NULL, gets one bit for each that was there. */
bool turn_object(struct turn_reading *r, pawl_str object, const struct turn_member *list, void *to,
                 uint64_t *retseen);

#endif
