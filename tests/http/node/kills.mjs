// SPDX-License-Identifier: MIT
// A worker that is killed: what it does is appended to the file of LEDGER, one line each, before it is handed
// in.  tests/http/test_node_turns.py runs several of them.
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, Worker } from "../../../clients/node/index.js";

const note = (text) => fs.appendFileSync(process.env.LEDGER, `${text}\n`);
const worker = new Worker(new Client(), { lock_ms: 1000, say: (text) => console.log(text) });
worker.activity("Do", async ({ order, step, ms }, task) => {
  note(`do ${order} ${step} ${task.key}`);
  await sleep(ms, undefined, { signal: task.signal });
  return step;
});
worker.orchestration("Steps", async (ctx, { steps, ms }) => {
  const done = [];
  for (let i = 0; i < steps; i++) done.push(await ctx.call("Do", { order: ctx.instance, step: i, ms }));
  const [a, b] = await ctx.all(ctx.call("Do", { order: ctx.instance, step: steps, ms }), ctx.timer(50));
  return [...done, a, b ?? null, ctx.random64().toString(16)];
});
worker.orchestration("Inline", async (ctx, { steps, ms }) => {
  const done = [];
  for (let i = 0; i < steps; i++)
    done.push(await ctx.step("do", async (task) => {
      note(`do ${ctx.instance} ${i} ${task.key}`);
      await sleep(ms);
      return i;
    }));
  return done;
});
await worker.run();
