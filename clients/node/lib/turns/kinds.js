// SPDX-License-Identifier: MIT
// What a worker must know about each kind of event (docs/protocol/turns.md).
//
// What code can wait for comes in families of one shape: a schedule that opens a task, messages that
// close it, a decision that withdraws it, and what follows a refused schedule at once.  Everything else
// in this directory asks here.  Called by run.js, history.js, world.js.

/** schedule → {word, done, failed, cancel, refusal, mail}; mail: it is closed by what others send. */
export const FAMILIES = {
  ActivityScheduled: family("activity", "ActivityCompleted", "ActivityFailed", "ActivityCancelRequested", "ActivityFailed"),
  TimerCreated: family("timer", "TimerFired", null, "TimerCancelled", "TimerCancelled"),
  ExternalSubscribed: family("external", "ExternalEvent", null, "ExternalCancelled", "ExternalCancelled", true),
  UpdateWaited: family("update", "UpdateAccepted", null, "UpdateWaitCancelled", "UpdateWaitCancelled", true),
  SubOrchestrationScheduled: family("sub", "SubOrchestrationCompleted", "SubOrchestrationFailed",
    "SubOrchestrationCancelRequested", "SubOrchestrationFailed"),
  // What is sent is done at once, and nothing closes it.
  OrchestrationChained: family("detached", null, null, null, null),
  EventSent: family("event", null, null, null, null),
};

function family(word, done, failed, cancel, refusal, mail = false) {
  return { word, done, failed, cancel, refusal, mail };
}

const PLAIN = ["CustomStatusUpdated", "StateChanged", "AttributesSet", "QueuePushed", "UpdateAnswered"];
const WORDS = { QueuePushed: "queue", StateChanged: "key", UpdateAnswered: "update", AttributesSet: "attributes" };

/** completion or cancel → the schedule of its task */
const SCHEDULES = new Map();
const CLASSES = new Map([["OrchestrationStarted", "start"], ["PatchRecorded", "mark"], ["StateCarried", "mark"]]);
for (const kind of ["Completed", "Failed", "ContinuedAsNew", "Cancelled", "Terminated"]) CLASSES.set(`Orchestration${kind}`, "end");
for (const kind of ["CancelRequested", "Suspended", "Resumed"]) CLASSES.set(`Orchestration${kind}`, "message");
for (const kind of PLAIN) CLASSES.set(kind, "decision");
for (const [schedule, f] of Object.entries(FAMILIES)) {
  CLASSES.set(schedule, "decision");
  for (const [kind, what] of [[f.done, "message"], [f.failed, "message"], [f.cancel, "decision"]]) {
    if (!kind) continue;
    CLASSES.set(kind, what);
    SCHEDULES.set(kind, schedule);
  }
}

/** "start", "message", "decision", "mark" or "end"; undefined: a kind that only a newer server knows. */
export function classOf(kind) {
  return CLASSES.get(kind);
}

/** The schedule that a completion or a cancel belongs to. */
export function scheduleOf(kind) {
  return SCHEDULES.get(kind);
}

export function isCancel(kind) {
  return CLASSES.get(kind) === "decision" && SCHEDULES.has(kind);
}

/** May it stand between the return of the code and the end? */
export function belongsToEnd(kind) {
  return isCancel(kind) || kind === "UpdateAnswered";
}

/** As findings call it. */
export function wordOf(kind) {
  return FAMILIES[kind]?.word ?? FAMILIES[SCHEDULES.get(kind)]?.word ?? WORDS[kind] ?? "none";
}

export function describe(event) {
  return event.kind + (event.ref ? ` #${event.ref}` : "") + (event.name ? ` '${event.name}'` : "");
}
