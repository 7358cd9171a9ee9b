/* SPDX-License-Identifier: MIT */
/*
 * runtime/core/embed.h -- a runtime that is stepped inside the event loop of its caller.
 *
 * The caller waits in epoll or libuv, not in pawl_runtime_step(): it needs a
 * descriptor that is readable when something has arrived, and the time until
 * something is due.  A caller that asks for no descriptor pays one test per post.
 */
#ifndef PAWL_RUNTIME_EMBED_H
#define PAWL_RUNTIME_EMBED_H

#include "runtime/core/runtime.h"

/* Something arrived; under rt->inbox.lock. */
void embed_tell_locked(pawl_runtime *rt);
/* A step begins: it looks at everything that arrived until now. */
void embed_heard(pawl_runtime *rt);
void embed_close(pawl_runtime *rt);

#endif
