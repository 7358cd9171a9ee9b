// SPDX-License-Identifier: MIT
// Whose code runs, and when it is quiet.
//
// `place` holds {run, shielded} for the code of an orchestration and everything it awaits, and nothing for
// anybody else: activities, inline steps and the worker itself.  Guards and shields ask it.
//
// Quiet: no strand of the code can go on without a message.  A tick that is queued from a microtask runs
// when the microtask queue is empty, and before any timer or I/O.  So nothing foreign can come between, as
// it can with setImmediate().  Both facts are tried once before the first orchestration runs.
// Called by run.js, guards.js, worker.js.
import { AsyncLocalStorage } from "node:async_hooks";
import { Cancelled } from "../errors.js";
import { siteOf } from "./sites.js";

export const place = new AsyncLocalStorage();

/** Calls `then` once the code that was just woken is quiet. */
export function whenQuiet(then) {
  queueMicrotask(() => process.nextTick(then));
}

let tried;

/** Rejects where the runtime (Bun, Deno, a later Node) does not keep the order that determinism needs. */
export function tryRuntime() {
  tried ??= probe();
  return tried;
}

/** A strand of an orchestration that failed, and that nobody awaits, is said; anybody else's error ends the process as before. */
function strandFailed(error) {
  const run = place.getStore()?.run;
  if (!run) {
    if (process.listenerCount("unhandledRejection") === 1) throw error;
  } else if (!run.broken && !(error instanceof Cancelled))
    run.say("error", `${run.name} '${run.instance}': nobody awaits what failed at ${siteOf(error) || "?"}: ${error?.message ?? error}`);
}

async function probe() {
  process.on("unhandledRejection", strandFailed);
  const seen = [];
  const hops = async (name, n) => {
    for (let i = 0; i < n; i++) await null;
    seen.push(name);
  };
  const thenable = { then: (f) => f(place.getStore()) };
  setImmediate(() => seen.push("immediate"));
  const strand = place.run("here", async () => {
    await Promise.all([thenable, null]);
    return [place.getStore(), await thenable];
  });
  void hops("microtasks", 50);
  await new Promise((quiet) => whenQuiet(() => quiet(seen.push("quiet"))));
  const [outside, [after, inThen]] = [place.getStore(), await strand];
  if (seen.join() === "microtasks,quiet" && after === "here" && inThen === "here" && outside === undefined) return;
  throw new Error(`this JavaScript runtime (${process.version}) does not keep the order that orchestrations need ` +
    "(microtasks, then ticks, then timers; AsyncLocalStorage through thenables): use Node.js 18 or later");
}
