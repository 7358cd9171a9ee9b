// SPDX-License-Identifier: MIT
// Pawl for Node.js: start and steer workflows, serve activities, use queues.  No dependencies.
//
//     import { Client, Worker } from "pawl";
//
//     const client = new Client("http://127.0.0.1:8000");     // or PAWL_URL and PAWL_TOKEN
//     await client.start("ProcessOrder", { amount: 3 }, { instance: "order-1" });
//     console.log((await client.wait("order-1")).output);
//
// index.d.ts is the manual.
export { Client } from "./lib/client.js";
export { Limits } from "./lib/limits.js";
export { Queue } from "./lib/queue.js";
export { Schedules } from "./lib/schedules.js";
export { Worker } from "./lib/worker.js";
export { activity, orchestration } from "./lib/turns/code.js";
export {
  PawlError, NotFound, Conflict, Lost, Locked, UpdateRefused, Final, WaitTimeout, Fail, TaskFailed, Timeout, Poison, TaskLost, Refused,
  TaskCancelled, ChildFailed, ChildCancelled, ChildExists, Cancelled, Foreign,
} from "./lib/errors.js";
