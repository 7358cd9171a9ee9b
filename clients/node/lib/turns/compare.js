// SPDX-License-Identifier: MIT
// Is what the code calls now what the history has?  The rules and the words are those of the engine
// (src/engine/decide.c, finding.c; S27).  Pure.  Called by run.js.
//
// A `call` is {kind, api, ref?, name, data, delay?, instance?, version?, rejected?, left?, cleared?}.
import { describe, isCancel, scheduleOf, wordOf } from "./kinds.js";
import { bytesOf } from "./checks.js";
import { firstDifference, same } from "./values.js";

export function describeCall(call) {
  if (call.kind === "TimerCreated") return `${call.api} timer of ${call.delay} ms`;
  if (scheduleOf(call.kind)) return `${call.api} cancels ${wordOf(call.kind)} #${call.ref}`;
  return call.name ? `${call.api} ${wordOf(call.kind)} '${call.name}'` : call.api;
}

/** Why they differ; undefined when they are the same. */
export function difference(event, call) {
  const attrs = event.attrs ?? {};
  if (event.kind !== call.kind) return "another kind of call";
  if (call.kind === "CustomStatusUpdated") return undefined;
  if ((event.ref ?? 0) !== (call.ref ?? 0)) return `recorded for task #${event.ref ?? 0}`;
  if (isCancel(call.kind)) return undefined; // kind and task say it all
  if ((event.name ?? "") !== call.name) return "another name";
  const answered = call.kind === "UpdateAnswered" ? differentAnswer(attrs, call) : undefined;
  if (answered || attrs.refused !== undefined || call.left) return answered;
  if (call.kind === "StateChanged" && !!attrs.cleared !== !!call.cleared)
    return `recorded is that it was ${call.cleared ? "set" : "cleared"}`;
  const data = event.data ?? "";
  if (!same(data, call.data))
    return `input differs at byte ${firstDifference(data, call.data)} (recorded ${bytesOf(data)} bytes, now ${bytesOf(call.data)})`;
  if (call.kind === "TimerCreated" && (attrs.delay_ms ?? call.delay) !== call.delay) return `recorded delay is ${attrs.delay_ms} ms`;
  return call.instance === undefined ? undefined : differentChild(attrs, call);
}

function differentAnswer(attrs, call) {
  if (!!attrs.left !== !!call.left) return `recorded is that ${call.left ? "the code answered" : "the end did"}`;
  if (!!attrs.rejected !== !!call.rejected && attrs.refused === undefined)
    return `recorded is that it was ${attrs.rejected ? "rejected" : "answered"}`;
  return undefined;
}

function differentChild(attrs, call) {
  const instance = attrs.instance ?? "", version = attrs.version ?? "";
  if (instance !== call.instance) return `recorded instance is '${instance}', now '${call.instance}'`;
  if (version !== (call.version ?? "")) return `recorded version is '${version}', now '${call.version ?? ""}'`;
  return undefined;
}

export const findings = {
  schedule: (event, call, why) =>
    `nondeterministic: schedule mismatch at event ${event.seq}: recorded ${describe(event)}, the code now calls ${describeCall(call)}: ${why}`,
  frontier: (event, call, seq) =>
    `nondeterministic: new schedules introduced at same decision frontier: after event ${seq} the code now calls ` +
    `${describeCall(call)}, recorded is ${event ? describe(event) : "nothing: the recorded history waits here"}`,
  await: (event, waits) =>
    `nondeterministic: await mismatch at event ${event.seq}: recorded ${describe(event)}, but the code ${waits}`,
  returned: (seq) => `nondeterministic: the code returned where the recorded history waits, after event ${seq}`,
  leftover: (event) =>
    `nondeterministic: history left over at return: event ${event.seq} is ${describe(event)}, but the code has returned`,
  ending: (event, kind, data) =>
    `nondeterministic: ending mismatch at event ${event.seq}: recorded ${describe(event)} (${bytesOf(event.data ?? "")} bytes), ` +
    `the code now ends with ${kind} (${bytesOf(data)} bytes)`,
  completion: (event, cell) =>
    cell
      ? `nondeterministic: completion kind mismatch for id=${event.ref}, expected '${wordOf(cell.kind)}', got '${wordOf(event.kind)}'`
      : `nondeterministic: completion kind '${wordOf(event.kind)}' for id=${event.ref} has no matching schedule in prior history`,
};
