# SPDX-License-Identifier: MIT
"""The workloads of main.mjs in Python: worker.py SERVER_URL."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients" / "python"))
import pawl  # noqa: E402

OUTPUT = "Hello, world, from a step of a benchmark"
STEPS = {"hello": 1, "chain": 10, "fanout": 100}
worker = pawl.Worker(pawl.Client(sys.argv[1]), concurrency=32)


def step():
    return OUTPUT


@worker.orchestration("Bench")
async def bench(ctx, workload):
    if workload != "fanout":
        for _ in range(STEPS[workload]):
            await ctx.step(step)
    else:
        await ctx.all(*[ctx.step(step) for _ in range(STEPS[workload])])
    return OUTPUT

worker.run()
