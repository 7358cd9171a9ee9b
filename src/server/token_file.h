/* SPDX-License-Identifier: MIT */
/* server/token_file.h -- tokens in a file; for tokens.c, which asks it for the server, and for
 * token_store.c, which keeps the same lines in a store. */
#ifndef PAWL_SERVER_TOKEN_FILE_H
#define PAWL_SERVER_TOKEN_FILE_H

#include "server/server.h"

struct token {
    pawl_token_info info;
    uint8_t hash[32];
};

struct token_list {
    struct token *items; /* in the mem given */
    size_t count, cap;
    size_t bad; /* number of the first line that is no token; 0: none */
};

/* A file that is not there has none.  PAWL_UNAVAILABLE: it cannot be read. */
pawl_status token_file_read(const char *file, pawl_mem *mem, struct token_list *ret,
                            pawl_error *reterr);
/* One line, without its end. */
bool token_line_read(pawl_mem *mem, const char *line, struct token *ret);
pawl_str token_line(pawl_mem *mem, const struct token *t);
/* "operate" and the others; SCOPE_PUBLIC: no such word. */
enum token_scope token_scope(const char *word);

#endif
