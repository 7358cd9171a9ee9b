/* SPDX-License-Identifier: MIT */
/* server/condition.c -- see the header. */
#include "server/condition.h"

#include "server/handlers.h"
#include "view/units.h"

#include <string.h>

void condition_keep(struct call *c, const struct head *head)
{
    pawl_str match = head_get(head, "If-Match"), none = head_get(head, "If-None-Match");
    if (match.ptr)
        c->given.if_match = pawl_mem_dup(c->mem, match).ptr;
    if (none.ptr)
        c->given.has_etag = pawl_mem_dup(c->mem, none).ptr;
}

bool condition_read(struct call *c, uint64_t *ret)
{
    *ret = 0;
    if (c->given.has_etag && (c->given.if_match || strcmp(c->given.has_etag, "*") != 0)) {
        answer_error(c, 400, "invalid", "If-None-Match can only be *; it means: only if it is new");
        return false;
    }
    if (c->given.has_etag)
        *ret = PAWL_IF_NEW;
    if (!c->given.if_match)
        return true;
    size_t len = strlen(c->given.if_match);
    bool quoted = len > 2 && c->given.if_match[0] == '"' && c->given.if_match[len - 1] == '"';
    const char *digits = quoted
                             ? pawl_mem_dup(c->mem, (pawl_str){c->given.if_match + 1, len - 2}).ptr
                             : c->given.if_match;
    if (parse_count(digits, INT64_MAX, ret) && *ret)
        return true;
    answer_error(c, 400, "invalid", "If-Match must be a revision, such as \"3\"");
    return false;
}

bool condition_failed(struct call *c)
{
    const pawl_error *err = &c->reply.error;
    bool failed = err->status == PAWL_CONFLICT || err->status == PAWL_EXISTS;
    if (!failed || (!c->given.if_match && !c->given.has_etag))
        return false;
    answer_error(c, 412, pawl_status_code(err->status), "%s", err->text);
    return true;
}
