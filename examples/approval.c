/* SPDX-License-Identifier: MIT */
/*
 * approval -- ask a person; ask somebody else when nobody answers.
 *
 *     pawl start Approval --load build/examples/approval.so --id a-1 \
 *         --input '{"what":"a new chair"}'
 *     pawl raise a-1 Decision --data '{"approved":true,"by":"ada"}'
 *     pawl work --load build/examples/approval.so --until-idle && pawl wait a-1
 *
 * Input: {"what":"…"} and, optionally, "patience_ms" (how long each person has;
 * 3 days), "people" (whom to ask, in this order).
 */
#include <pawl.h>

#include <stdio.h>
#include <stdlib.h>

/* Send a letter: here a line on stderr. */
static pawl_result notify(pawl_activity *act, pawl_str letter)
{
    if (getenv("PAWL_EXAMPLE_LOUD"))
        fprintf(stderr, "    -> %.*s\n", PAWL_FMT(letter));
    return pawl_ok(act, "sent");
}

/* One person's turn: the decision, or {NULL, 0} when the time ran out. */
static pawl_result ask(pawl_ctx *ctx, const char *person, pawl_str request)
{
    pawl_str what = pawl_json_text(pawl_ctx_mem(ctx), request, "/what", "something");
    pawl_result sent =
        pawl_call(ctx, "Notify", pawl_printf(ctx, "%s, may we buy %s?", person, what.ptr));
    if (!sent.ok)
        return sent;
    pawl_task decision = pawl_wait_event(ctx, "Decision");
    pawl_task patience = pawl_timer(ctx, pawl_json_int(request, "/patience_ms", PAWL_DAYS(3)));
    /* The first in the history wins, the other is cancelled. */
    switch (pawl_race(ctx, (pawl_task[]){decision, patience}, 2)) {
    case 0:
        return pawl_await(ctx, decision);
    case 1:
        return (pawl_result){.ok = true};
    default:
        return pawl_fail(ctx, "cancelled");
    }
}

static pawl_result approval(pawl_ctx *ctx, pawl_str request)
{
    static const char usual[] = "[\"the team lead\",\"the head of the department\"]";
    pawl_str people = pawl_json_get(request, "/people");
    if (!people.len)
        people = pawl_s(usual);

    for (int64_t i = 0; i < pawl_json_count(people, ""); i++) {
        pawl_str at = pawl_printf(ctx, "/%lld", (long long)i);
        pawl_str person = pawl_json_text(pawl_ctx_mem(ctx), people, at.ptr, "somebody");
        pawl_set_status(ctx, pawl_printf(ctx, "waits for %s", person.ptr).ptr);
        pawl_result answer = ask(ctx, person.ptr, request);
        if (!answer.ok)
            return answer;
        if (!answer.value.len)
            continue; /* no answer: ask the next */
        bool approved = pawl_json_bool(answer.value, "/approved", false);
        pawl_str by = pawl_json_text(pawl_ctx_mem(ctx), answer.value, "/by", person.ptr);
        return pawl_donef(ctx, "%s by %s", approved ? "approved" : "refused", by.ptr);
    }
    return pawl_fail(ctx, "nobody answered");
}

static void setup(pawl_app *app)
{
    pawl_register_activity(app, "Notify", notify);
    pawl_register_orchestration(app, "Approval", "1.0.0", approval);
}

PAWL_EXPORT(setup)
