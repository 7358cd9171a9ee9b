/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/user_fault.h -- names the user code that brings the process down.
 *
 * Every thread knows what it runs: a turn or an attempt.  At a fatal signal one line says
 * which orchestration or activity, instance, execution and, where symbols are there, source
 * line; the slot file keeps the line for the next process.  exit() inside user code is
 * reported the same way and ends the process with FAULT_EXIT.  The watchdog asks a turn that
 * does not end where it is.
 *
 * The line is put together without a lock or memory.  The source line is looked up by a copy
 * of the process (_Fork), which may do anything; it is waited for two seconds at most.
 */
#ifndef PAWL_RUNTIME_USER_FAULT_H
#define PAWL_RUNTIME_USER_FAULT_H

#include "runtime/core/runtime.h"

#define FAULT_TEXT 480
#define FAULT_EXIT 70

/* Handlers for exit() and faults, until the last runtime closes (unless no_signals). */
void fault_open(const pawl_runtime *rt);
void fault_close(const pawl_runtime *rt);

void fault_moved(void); /* the runtime runs in this child of the process that opened it */

/* What this thread runs from now on; NULL: nothing. */
void fault_turn(const struct code_entry *code, const pawl_row *row);
void fault_job(const struct job *job);

/* "instance 'i', execution 1, at f at order.c:41" of the turn that `thread` runs, into `to`; ""
 * when it does not answer. */
void fault_ask(const pawl_runtime *rt, pthread_t thread, char *to, size_t size);

#endif
