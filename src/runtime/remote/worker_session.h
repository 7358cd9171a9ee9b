/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/worker_session.h -- lives of worker processes, and the code they told. [engine]
 *
 * A session is known from its first call with `code` until it was silent for ten minutes and the
 * lease of a turn; with its end the runs that it knew are forgotten.  Code that it tells is registered
 * beside the C code of the app (registry.h); C code of the same name and version wins.
 *
 * Sessions are in a list by when they were heard: those that are due are at its end.
 *
 * Called by turns_answer.c, exchange.c, ready.c, remote_run.c and playing.c.
 */
#ifndef PAWL_RUNTIME_WORKER_SESSION_H
#define PAWL_RUNTIME_WORKER_SESSION_H

#include "runtime/remote/remotes.h"

#define SESSION_STICKY_MS 2000 /* a silent session keeps its runs this long */

struct worker_session *session_find(const pawl_runtime *rt, pawl_str id);
/* A call came: find or make its session, and register the code that the call tells.  NULL: it is
 * refused and nothing was done, `err` says why. */
struct worker_session *session_heard(pawl_runtime *rt, struct exchange *ex, pawl_error *err);
/* What its tokens name it by: a number under 10^18. */
uint64_t session_tag(const struct worker_session *s);
/* It is alive now. */
void session_touch(pawl_runtime *rt, struct worker_session *s);
/* Does the worker have this code? */
bool session_has(const struct worker_session *s, const struct remote_code *code);
/* Was it heard lately, or does a call of it wait? */
bool session_is_alive(pawl_runtime *rt, const struct worker_session *s);
/* What is known of this code in workers; made if it is not there. */
struct remote_code *remote_code_of(pawl_runtime *rt, const struct code_entry *entry);
/* Forget sessions that were silent for long.  After the leases that are over. */
void session_look(pawl_runtime *rt);
int64_t session_next(const pawl_runtime *rt); /* mono; INT64_MAX: never */
/* Closing: all of them. */
void session_free_all(pawl_runtime *rt);

#endif
