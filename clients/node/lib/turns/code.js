// SPDX-License-Identifier: MIT
// Orchestrations and activities as values: a function with its name, so that a call site needs no text and
// TypeScript knows input and output.  Called by the author, worker.js, context.js, client.js.
import { checkName, checkVersion } from "./checks.js";

const NAME = Symbol.for("pawl.name");

/** An activity: `const charge = activity("Charge", async (order, task) => …)`. */
export function activity(name, run) {
  if (typeof run !== "function") throw new TypeError(`activity '${name}' needs a function: activity(name, async (input, task) => …)`);
  return Object.freeze({ [NAME]: checked("activity name", name), what: "activity", name, run });
}

/** An orchestration: `const order = orchestration("Order", { version: "1.0.0" }, async (ctx, input) => …)`. */
export function orchestration(name, options, run) {
  if (typeof options === "function") [run, options] = [options, {}];
  if (typeof run !== "function") throw new TypeError(`orchestration '${name}' needs a function: orchestration(name, { version }, async (ctx, input) => …)`);
  const { version = "1.0.0", codec = "json", bugs = "block", ...rest } = options ?? {};
  for (const other of Object.keys(rest)) throw new TypeError(`an orchestration has no option '${other}'; it knows version, codec, bugs`);
  if (!["json", "raw"].includes(codec)) throw new TypeError(`codec is "json" or "raw", not ${String(codec)}`);
  if (!["block", "fail"].includes(bugs)) throw new TypeError(`bugs is "block" or "fail", not ${String(bugs)}`);
  const wrong = checkVersion(version);
  if (wrong) throw new TypeError(wrong);
  return Object.freeze({ [NAME]: checked("orchestration name", name), what: "orchestration", name, version, raw: codec === "raw", bugs, run });
}

function checked(what, name) {
  const wrong = typeof name === "string" ? checkName(what, name) : `${what} is ${typeof name}; give a text`;
  if (wrong) throw new TypeError(wrong);
  return name;
}

/** The name of a value of the above, or the name itself. */
export function nameOf(what, kind) {
  if (typeof what === "string") return what;
  const name = what?.[NAME];
  if (name === undefined || what.what !== kind) throw new TypeError(`give the name of the ${kind}, or what ${kind}(…) returned`);
  return name;
}

/** Is it what activity() or orchestration() returned? */
export function isCode(what, kind) {
  return typeof what === "object" && what?.[NAME] !== undefined && what.what === kind;
}
