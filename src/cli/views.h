/* SPDX-License-Identifier: MIT */
/*
 * cli/views.h -- what a server says about one instance in JSON, wherever the instance is.
 *
 * On a store the same functions of src/view make it here, so that verbs print and draw from one
 * form.  Called by `why`, `show --timeline` and `top`.
 */
#ifndef PAWL_CLI_VIEWS_H
#define PAWL_CLI_VIEWS_H

#include "cli/session.h"

/* As GET …/why and GET …/timeline, in `mem`. */
pawl_status views_why(struct session *s, const char *id, pawl_mem *mem, pawl_str *ret,
                      pawl_error *reterr);
pawl_status views_timeline(struct session *s, const char *id, uint64_t execution, pawl_mem *mem,
                           pawl_str *ret, pawl_error *reterr);

#endif
