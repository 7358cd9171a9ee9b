# SPDX-License-Identifier: MIT
"""An agent: a model decides which tool to use, and a person is asked before the dangerous one.

    python -m pawl worker examples/python/agent.py &
    pawl start Agent --id g-1 --input '{"goal":"free 10 GB on the server"}'
    pawl asks
    pawl raise g-1 Allow '"yes"'
    pawl wait g-1

The model and the tools are activities: each call is recorded once, so a crash never pays for the same
answer twice, and the whole conversation can be read in the history.  After 50 turns the loop continues
as new with its conversation as input, so that no history grows without end.
"""
import pawl

worker = pawl.Worker()
DANGEROUS = {"delete"}


@worker.activity
def model(conversation):
    """Here you call a language model; this one follows a script."""
    said = [m for m in conversation if m["role"] == "tool"]
    script = [{"tool": "list", "input": "/var/log"}, {"tool": "delete", "input": "/var/log/old"},
              {"answer": "done: " + "; ".join(m["text"] for m in said)}]
    return script[min(len(said), 2)]


@worker.activity
def tool(call):
    return {"list": "12 GB of old logs", "delete": "freed 12 GB"}[call["tool"]]


async def allowed(ctx, call):
    """Ask a person; no answer in a day is a no."""
    answer = ctx.ask("Allow", "%s %s?" % (call["tool"], call["input"]), choices=["yes", "no"])
    limit = ctx.timer(days=1)
    return await ctx.race(answer, limit) is answer and answer.result() == "yes"


@worker.orchestration("Agent")
async def agent(ctx, task):
    conversation = task.get("conversation") or [{"role": "user", "text": task["goal"]}]
    for _ in range(50):
        said = await ctx.call(model, conversation, attempts=5, start_to_close=120, key=task.get("customer"))
        if "answer" in said:
            return said["answer"]
        ctx.status("%s %s" % (said["tool"], said["input"]))
        if said["tool"] in DANGEROUS and not await allowed(ctx, said):
            result = "a person said no"
        else:
            result = await ctx.call(tool, said, attempts=3)
        conversation = conversation + [{"role": "tool", "text": result}]
    ctx.continue_as_new({**task, "conversation": conversation})


if __name__ == "__main__":
    worker.run()
