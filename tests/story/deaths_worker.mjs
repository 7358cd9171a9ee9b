// SPDX-License-Identifier: MIT
// The Node worker of `deaths`: the same order as in deaths_worker.py.
import crypto from "node:crypto";
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, Worker } from "../../clients/node/index.js";

function attempt(task) {
  const word = `${task.key}-${crypto.randomBytes(6).toString("hex")}`;
  fs.appendFileSync(process.env.LEDGER, `${task.key} ${word} ${Date.now()}\n`);
  return word;
}

const worker = new Worker(new Client(), { lock_ms: 1500, say: () => {} });
worker.activity("Do", async (nap, task) => {
  const word = attempt(task);
  await sleep(nap);
  return word;
});
worker.orchestration("Sum.js", async (ctx, words) => [words.length, await ctx.step("sum", attempt)]);
worker.orchestration("Order.js", async (ctx, o) => {
  const got = o.got;
  for (let i = 0; i < o.steps; i++)
    got.push(await (i % 2 ? ctx.step("one", attempt) : ctx.call("Do", o.nap)));
  if (ctx.execution === 1) ctx.continueAsNew({ ...o, got, steps: 1 });
  const both = await ctx.all(ctx.call("Do", o.nap), ctx.timer(20), ctx.child("Sum.py", got));
  const go = await ctx.event("Go");
  ctx.push("done", ctx.instance);
  return { got: [...got, both[0]], child: both[2], go };
});
await worker.run();
