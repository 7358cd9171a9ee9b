// SPDX-License-Identifier: MIT
// The workloads on Pawl with code in a worker; each step is a ctx.step().  The worker is this process, as
// with the other engines whose SDK is JavaScript, or worker.py in a process of its own.
//
//     main.mjs node|python SERVER_URL SECONDS WORKLOAD:IN_FLIGHT…
import { spawn } from "node:child_process";
import { Client, Worker } from "../../../clients/node/index.js";
import { OUTPUT, body, workflows } from "../load.mjs";

const [sdk, url, seconds, ...plans] = process.argv.slice(2);
const client = new Client(url);

async function begin() {
  if (sdk === "python")
    return spawn("python3", [new URL("worker.py", import.meta.url).pathname, url], { stdio: ["ignore", "ignore", "inherit"] });
  const worker = new Worker(client, { concurrency: 256 });
  worker.orchestration("Bench", (ctx, workload) => body(workload, () => ctx.step("step", () => OUTPUT)));
  worker.run().catch((error) => { throw error; });
}

async function call(id, workload) {
  await client.start("Bench", workload, { instance: id, allow_unregistered: true });
  const ended = await client.wait(id);
  if (ended.status !== "completed") throw new Error(`${id}: ${JSON.stringify(ended)}`);
}

const worker = await begin();
await call("first", "hello"); // the worker is there
await workflows(seconds, plans, call);
worker?.kill();
process.exit(0);
