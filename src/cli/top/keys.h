/* SPDX-License-Identifier: MIT */
/*
 * cli/top/keys.h -- bytes of a terminal as keys.  Pure.
 *
 * A key is a character, or a sequence that begins with ESC.  ESC alone is a key too: the
 * caller waits for a while and then says that no more bytes come.
 */
#ifndef PAWL_CLI_TOP_KEYS_H
#define PAWL_CLI_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

enum key {
    KEY_NONE, /* the bytes are the beginning of a key, or of none */
    KEY_TEXT, /* a character that can be shown */
    KEY_UP,
    KEY_DOWN,
    KEY_LEFT,
    KEY_RIGHT,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_ENTER,
    KEY_TAB,
    KEY_BACK_TAB,
    KEY_ERASE,
    KEY_ESCAPE,
    KEY_INTERRUPT, /* Ctrl-C, and Ctrl-\ */
    KEY_STOP,      /* Ctrl-Z */
    KEY_REDRAW,    /* Ctrl-L */
    KEY_CLEAR,     /* Ctrl-U */
};

struct key_press {
    enum key key;
    char text[5]; /* of KEY_TEXT: UTF-8 */
    size_t used;  /* bytes; 0: more are needed */
};

/* The first key of the bytes.  `whole`: no more will come soon. */
struct key_press key_read(const char *bytes, size_t count, bool whole);

#endif
