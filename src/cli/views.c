/* SPDX-License-Identifier: MIT */
/* cli/views.c -- see views.h. */
#include "cli/views.h"

#include "base/clock.h"
#include "view/timeline.h"
#include "view/why.h"

/* GET …/{id}/REST of a server. */
static pawl_status ask(struct session *s, const char *id, const char *rest, pawl_mem *mem,
                       pawl_str *ret, pawl_error *reterr)
{
    struct http_reply answer;
    pawl_str path = pawl_mem_printf(mem, "/api/v1/instances/%s/%s", http_escape(mem, id).ptr, rest);
    pawl_status rc =
        remote_call(s->remote, "GET", path.ptr, (pawl_str){0}, NULL, mem, &answer, reterr);
    *ret = answer.body;
    return rc;
}

pawl_status views_why(struct session *s, const char *id, pawl_mem *mem, pawl_str *ret,
                      pawl_error *reterr)
{
    if (s->remote)
        return ask(s, id, "why", mem, ret, reterr);
    struct why why = {.mem = mem,
                      .prog = s->cli->prog,
                      .now_ms = clock_wall_ms(),
                      .owner = session_owner(s->cli)};
    buf_init(&why.sentence, WHY_SENTENCE_MAX);
    pawl_status rc = why_gather(&why, s->client, id, reterr);
    if (rc == PAWL_OK) {
        pawl_json *w = pawl_json_new(mem);
        (void)why_compose(&why);
        why_render(&why, w);
        *ret = pawl_json_done(w);
    }
    buf_deinit(&why.sentence);
    return rc;
}

pawl_status views_timeline(struct session *s, const char *id, uint64_t execution, pawl_mem *mem,
                           pawl_str *ret, pawl_error *reterr)
{
    if (s->remote)
        return ask(
            s, id,
            pawl_mem_printf(mem, "timeline?execution=%llu", (unsigned long long)execution).ptr, mem,
            ret, reterr);
    struct timeline t;
    timeline_begin(&t, mem);
    pawl_status rc = timeline_gather(&t, s->client, id, execution, reterr);
    if (rc == PAWL_OK) {
        pawl_json *w = pawl_json_new(mem);
        timeline_finish(&t, clock_wall_ms());
        timeline_render(&t, w);
        *ret = pawl_json_done(w);
    }
    timeline_end(&t);
    return rc;
}
