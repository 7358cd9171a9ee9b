/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/worker_session.h -- lives of worker processes, and the code they told. [engine]
 *
 * A session is known from its first call with `code` until ten minutes of silence.  Code that it
 * tells is registered beside the C code of the app (registry.h); C code of the same name and version
 * wins.
 *
 * Called by turns_answer.c, remote_run.c and playing.c.
 */
#ifndef PAWL_RUNTIME_WORKER_SESSION_H
#define PAWL_RUNTIME_WORKER_SESSION_H

#include "runtime/remote/remotes.h"

struct worker_session *session_find(const pawl_runtime *rt, pawl_str id);
/* A call came: find or make its session, and register the code that the call tells.  NULL: the
 * session is unknown and the call tells no code; or there is no memory. */
struct worker_session *session_heard(pawl_runtime *rt, const pawl_turns *q);
/* Does the worker have this code? */
bool session_has(const struct worker_session *s, const struct remote_code *code);
/* Was it heard lately, or does a call of it wait? */
bool session_is_alive(pawl_runtime *rt, const struct worker_session *s);
/* What is known of this code in workers; made if it is not there. */
struct remote_code *remote_code_of(pawl_runtime *rt, const struct code_entry *entry);
/* Forget sessions that were silent for long. */
void session_look(pawl_runtime *rt);
void session_free(pawl_runtime *rt, struct worker_session *s);

#endif
