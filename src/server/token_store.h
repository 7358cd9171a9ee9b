/* SPDX-License-Identifier: MIT */
/* server/token_store.h -- tokens in a store that keeps them (pawl_upkeep_ops); for token_file.c and
 * tokens.c. */
#ifndef PAWL_SERVER_TOKEN_STORE_H
#define PAWL_SERVER_TOKEN_STORE_H

#include "server/token_file.h"

/* Is it the URL of such a store, and not the name of a file? */
bool token_store_is(const char *place);

/* The calls of pawl/server.h: each opens the store and closes it. */
pawl_status token_store_add(const char *url, const struct token *t, pawl_error *reterr);
pawl_status token_store_list(const char *url, pawl_mem *mem, struct token_list *ret,
                             pawl_error *reterr);
pawl_status token_store_revoke(const char *url, const char *id, pawl_error *reterr);

/*
 * For a server: a thread that reads the tokens when a request asks for them and they are older than
 * a second.  An idle server reads nothing, so a request may find them too old: then it waits, and
 * `told` is called in that thread when there is something to see.
 */
struct token_watch;
struct token_watch *token_watch_open(const char *url, void (*told)(void *user),
                                     void *user); /* NULL: no memory, no thread */
void token_watch_close(struct token_watch *w);    /* NULL is fine */
void token_watch_again(struct token_watch *w);    /* what is known is too old */
/* The first time, before anything listens: wait for them. */
void token_watch_wait(struct token_watch *w);
/* [loop]  Copies them to `mem` (reset before) and *ret when they are others than *version says.
 * EMPTY: they are too old, and being read.  UNAVAILABLE: the store does not answer.  Never waits. */
pawl_status token_watch_look(struct token_watch *w, pawl_mem *mem, struct token_list *ret,
                             uint64_t *version, pawl_error *reterr);

#endif
