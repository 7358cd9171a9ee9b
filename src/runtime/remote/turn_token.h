/* SPDX-License-Identifier: MIT */
/*
 * runtime/remote/turn_token.h -- the claim on one run at one place of its history.
 *
 * t<uid>.<execution>.<seq>.<serial>.<session>.<mac>: the mac is keyed by this process, so a token that
 * was made up or came from an earlier process is none.  <session> is the tag of the session that it
 * was given to (worker_session.h): no other one can answer with it.  It is there to be read, because
 * pages of a history are fetched with the token alone.  Serial 0 is an idle token: its run has no
 * turn out.
 */
#ifndef PAWL_RUNTIME_TURN_TOKEN_H
#define PAWL_RUNTIME_TURN_TOKEN_H

#include "runtime/core/runtime.h"

struct turn_token {
    uint64_t uid, execution, seq, serial, session;
};

pawl_str turn_token_make(pawl_runtime *rt, pawl_mem *mem, const struct turn_token *t);
/* Any thread.  False: it is none of this process. */
bool turn_token_read(pawl_runtime *rt, pawl_str text, struct turn_token *ret);

#endif
