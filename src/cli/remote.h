/* SPDX-License-Identifier: MIT */
/*
 * cli/remote.h -- the client calls of a verb, made to a server over HTTP.
 *
 * The same results in the same structs as pawl/client.h gives, so a verb does
 * not know where its instance lives.
 */
#ifndef PAWL_CLI_REMOTE_H
#define PAWL_CLI_REMOTE_H

#include "cli/http.h"

pawl_status remote_write(struct http *h, const pawl_request *request, pawl_mem *mem,
                         pawl_reply *ret);
pawl_status remote_get(struct http *h, const char *instance, uint64_t execution, pawl_mem *mem,
                       pawl_info *ret, pawl_error *reterr);
/* PAWL_TIMEOUT fills in the present state. */
pawl_status remote_wait(struct http *h, const char *instance, int64_t timeout_ms, pawl_mem *mem,
                        pawl_info *ret, pawl_error *reterr);
pawl_status remote_count(struct http *h, const pawl_filter *filter, const char *by, pawl_mem *mem,
                         pawl_str *ret, pawl_error *reterr);
pawl_status remote_list(struct http *h, const pawl_filter *filter, pawl_mem *mem, pawl_page *ret,
                        pawl_error *reterr);
pawl_status remote_history(struct http *h, const char *instance, uint64_t execution,
                           uint64_t after_seq, uint32_t limit, pawl_mem *mem, pawl_history *ret,
                           pawl_error *reterr);
/* An instance and a page of events as the API writes them; a file of `export` is both. */
void remote_read_info(pawl_mem *mem, pawl_str object, pawl_info *ret);
void remote_read_history(pawl_mem *mem, pawl_str object, pawl_history *ret);
/* Any call: its body when the answer is 2xx, else the error it tells of. */
pawl_status remote_call(struct http *h, const char *method, const char *path, pawl_str body,
                        const char *headers, pawl_mem *mem, struct http_reply *ret,
                        pawl_error *reterr);

#endif
