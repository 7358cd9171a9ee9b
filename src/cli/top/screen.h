/* SPDX-License-Identifier: MIT */
/*
 * cli/top/screen.h -- the whole terminal: its modes, its size, a frame of lines on it.
 *
 * It writes the escape sequences that all terminals have had for thirty years, without a library.
 * screen_close() restores the modes, and a handler does when the process dies of a fault.  One
 * screen at a time.
 */
#ifndef PAWL_CLI_TOP_SCREEN_H
#define PAWL_CLI_TOP_SCREEN_H

#include "cli/paper.h"

struct screen {
    unsigned rows, columns;
    char **shown; /* what each row has; owned */
    unsigned shown_rows;
    bool on;
};

/* Take the terminal; false: errno says why not. */
bool screen_open(struct screen *s);
void screen_close(struct screen *s);
/* Give the terminal back and stop this process, as Ctrl-Z does; take it again when it continues. */
void screen_stop(struct screen *s);
/* Ask for the size; draw everything the next time. */
void screen_measure(struct screen *s);
/* Make the screen look like the paper: only rows that differ are written. */
void screen_show(struct screen *s, const struct paper *p);

#endif
