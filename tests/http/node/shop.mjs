// SPDX-License-Identifier: MIT
// A worker for Charge that does what its order says; "run ORDER" on standard output for each attempt.
import { Client, Final, Worker } from "../../../clients/node/index.js";

const give = {
  nan: () => ({ mean: NaN }),
  deep: () => JSON.parse("[".repeat(200) + "]".repeat(200)),
  large: () => "x".repeat(300000),
  big: () => 10n,
  ring: () => { const a = []; a.push(a); return a; },
  final: () => { throw new Final("never again"); },
  odd: () => { throw null; },
  long: () => { throw new Error("ü".repeat(300000)); },
  surrogate: () => { throw new Error("file \udcff"); },
  nothing: () => undefined,
  patient: (task) => new Promise((resolve) => task.signal.addEventListener("abort", () => resolve("stopped"))),
};
const worker = new Worker(new Client(process.argv[2]), { lock_ms: Number(process.argv[3] ?? 3000), name: "node-shop" });
worker.activity("Charge", async (order, task) => {
  console.log(`run ${order} ${task.attempt} ${task.key.length > 0}`);
  return give[order] ? give[order](task) : "paid";
});
await worker.run();
console.log("stopped");
