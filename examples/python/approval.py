# SPDX-License-Identifier: MIT
"""An approval: ask a person, remind, let anybody look at the state, take changes while it waits.

    python -m pawl worker examples/python/approval.py &
    pawl start SignOff --id a-1 --input '{"text":"Refund 900 EUR?"}'
    pawl asks                                  # what people are asked for
    pawl update a-1 comment '"looks fine"'     # answered by the code
    pawl state a-1                             # what the code published
    pawl raise a-1 Decision '"yes"'
"""
import pawl

worker = pawl.Worker()


@worker.activity
def remind(who):
    return "mail to %s" % who


@worker.orchestration("SignOff")
async def sign_off(ctx, request):
    asked = ctx.ask("Decision", request["text"], choices=["yes", "no"])
    comment, reminder = ctx.update("comment"), ctx.timer(hours=24)
    ctx.state["comments"] = []
    for _ in range(100):
        first = await ctx.any(asked, comment, reminder)
        if first is asked:
            return {"decision": asked.result(), "comments": ctx.state["comments"]}
        if first is comment:
            ctx.state["comments"] = ctx.state["comments"] + [comment.result()]
            comment.answer(len(ctx.state["comments"]))
            comment = ctx.update("comment")
        else:
            await ctx.call(remind, request.get("who", "everybody"), attempts=5)
            reminder = ctx.timer(hours=24)
    raise pawl.Fail("nobody decided")


if __name__ == "__main__":
    worker.run()
