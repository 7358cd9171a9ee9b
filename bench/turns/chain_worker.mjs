// SPDX-License-Identifier: MIT
// The worker of chain.py in Node.js: the same two orchestrations.
import { Client, Worker } from "../../clients/node/index.js";

const worker = new Worker(new Client(process.argv[2]), { concurrency: 32 });
worker.activity("One", async () => 1);
worker.orchestration("Inline", async (ctx, n) => {
  let total = 0;
  for (let i = 0; i < n; i++) total += await ctx.step("one", () => 1);
  return total;
});
worker.orchestration("Called", async (ctx, n) => {
  let total = 0;
  for (let i = 0; i < n; i++) total += await ctx.call("One");
  return total;
});
await worker.run();
