/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/slots.h -- what was running when the process died.
 *
 * A small mapped file: one slot for the turn being run, one for each worker.
 * Writing a slot is a store to memory, so the healthy path pays nothing; the
 * page cache keeps it over kill -9.  (A power loss may lose it: then nothing is
 * blamed, and only a count is lost.)  After an unclean start only the
 * items in the slots get attempt + 1 and run unfused.
 *
 * A thread that faults, aborts or exits says so itself (slots_fault): then what it ran is
 * blamed alone, and what ran beside it is not.  Without that the process was killed from
 * outside, or by _exit(): an item that ran alone is blamed; several are not, but the tenth
 * time in a row counts as one; for a machine that went down nothing is blamed.
 */
#ifndef PAWL_RUNTIME_SLOTS_H
#define PAWL_RUNTIME_SLOTS_H

#include "pawl/types.h"

#define SLOTS_WORKERS 1024
#define SLOTS_TEXT    480
#define SLOTS_BOOT_AT (5 * 8 + SLOTS_WORKERS * 8) /* in the file: the boot, 8 bytes */

struct slots;

/* What the process before left behind; with a known culprit only that. */
struct slots_past {
    bool unclean;
    uint64_t turn_uid;  /* instance whose turn ran; 0: none */
    uint64_t turn_item; /* the work or message row it consumed; 0: not stored (start, raise) */
    uint64_t work[SLOTS_WORKERS];  /* activities that ran */
    uint32_t times[SLOTS_WORKERS]; /* how many ends in a row each was among several, this one too
                                      (but no end of the machine) */
    size_t work_count;
    bool known;    /* the thread that did it said so itself */
    bool several;  /* more than one ran: it is not known which one did it, or whether any did */
    bool rebooted; /* the machine went down since */
    char text[SLOTS_TEXT]; /* what the culprit said (user_fault.h); "": nothing */
};

/* NULL dir: in memory only.  NULL when out of memory or not writable. */
struct slots *slots_open(const char *dir, struct slots_past *past);
/* The past has been dealt with, durably: forget it (but `times`; NULL: these too).  A process that
 * dies before leaves it to the next one. */
void slots_begin(struct slots *s, const struct slots_past *past);
void slots_close(struct slots *s, bool clean); /* NULL is fine */
/* From now on the end of the process is not blamed on an item; threads may still write. */
void slots_absolve(struct slots *s);
/* The thread that calls is about to bring the process down.  Async-signal-safe. */
void slots_fault(void);
/* What it has to say.  Async-signal-safe. */
void slots_say(const char *text);
/* The turn that runs, on whatever thread, is about to. */
void slots_fault_turn(struct slots *s);
void slots_turn(struct slots *s, uint64_t uid, uint64_t item);
void slots_work(struct slots *s, uint32_t worker, uint64_t work_id);
/* Does a worker run it now?  Any thread. */
bool slots_runs(const struct slots *s, uint64_t work_id);
/* The same by the file in `dir`, from another process: if its owner lives, it runs. */
bool slots_ran(const char *dir, uint64_t work_id);

#endif
