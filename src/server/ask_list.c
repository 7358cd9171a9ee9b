/* SPDX-License-Identifier: MIT */
/*
 * server/ask_list.c -- GET /api/v1/asks: what open instances ask for, over all of them.
 *
 * An ask is answered by the ordinary raise of its event; there is no second way in.  The list is
 * that of pawl_client_asks(), byte for byte.
 */
#include "base/json.h"
#include "server/handlers.h"

void handle_asks(struct call *c)
{
    int64_t limit;
    pawl_str page;
    pawl_error err;
    if (!call_number(c, "limit", 1, 1000, 100, &limit))
        return;
    const pawl_ask_filter *filter =
        PAWL_ASK_FILTER(.after = call_param(c, "after"), .limit = (uint32_t)limit,
                        .orchestration = call_param(c, "orchestration"),
                        .event = call_param(c, "event"));
    if (pawl_client_asks(c->srv->client, filter, c->mem, &page, &err) != PAWL_OK) {
        answer_failure(c, &err);
        return;
    }
    pawl_json *w = pawl_json_new(c->mem);
    json_put(w, page);
    answer_json(c, 200, w);
}
