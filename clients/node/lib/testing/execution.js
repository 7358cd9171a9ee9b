// SPDX-License-Identifier: MIT
// The server's side of one execution, as small as it can be: tables, mailbox, and the record of messages and
// decisions.  It does what src/engine does for code that runs elsewhere, in memory, for tests.
//
// Invariants: `events` only grows; an event's seq is its place.  A message that wakes the code is `owed`
// until decide() has recorded the answer to it.  An answer that breaks the protocol throws and is a bug of
// this package: the server would refuse it.
// Called by world.js.  Pure.
import { FAMILIES, scheduleOf } from "../turns/kinds.js";

const SCHEDULE = {
  call: "ActivityScheduled", timer: "TimerCreated", event: "ExternalSubscribed", update: "UpdateWaited",
  child: "SubOrchestrationScheduled", detach: "OrchestrationChained", raise: "EventSent",
};
const END = {
  completed: "OrchestrationCompleted", failed: "OrchestrationFailed", continue: "OrchestrationContinuedAsNew", cancelled: "OrchestrationCancelled",
};
const REASONS = {
  OrchestrationCompleted: "orchestration completed", OrchestrationFailed: "orchestration failed",
  OrchestrationContinuedAsNew: "orchestration continued as new", OrchestrationCancelled: "orchestration cancelled",
  OrchestrationTerminated: "orchestration terminated",
};

export class Execution {
  events = [];
  tasks = []; // {ref, kind, state, name, data, opts, lease, abandon, instance, fireAt, letter, owed}
  mail = []; // letters that no wait has taken, by id
  state = new Map();
  now = 0;
  owed = null; // the event whose answer is not recorded
  wait = null; // what the code said it waits for
  cancelled = false;
  suspended = false;
  end = null; // {kind, data, version}

  constructor(instance, execution) {
    this.instance = instance;
    this.execution = execution;
  }

  // ---- Messages ----------------------------------------------------------------------------

  append(kind, { ref, name, data, attrs } = {}) {
    const event = { seq: this.events.length + 1, kind, at: this.now };
    if (ref) event.ref = ref;
    if (name) event.name = name;
    if (data) event.data = data;
    if (attrs && Object.keys(attrs).length) event.attrs = attrs;
    this.events.push(event);
    return event;
  }

  #record(kind, now, more) {
    this.now = Math.max(this.now, now);
    this.owed = this.append(kind, more);
    return this.owed;
  }

  /** "applied", "kept" in the mailbox, or "ignored"; `owed` is set when the code must see it. */
  apply(m, now) {
    if (m.kind === "raised" || m.kind === "update") return this.#deliver(m, now);
    if (this.end) return "ignored";
    switch (m.kind) {
      case "OrchestrationStarted":
        this.#record(m.kind, now, m);
        for (const [name, data] of [...this.state].sort(byKey)) this.append("StateCarried", { name, data });
        return "applied";
      case "OrchestrationCancelRequested":
        if (this.cancelled) return "ignored";
        this.cancelled = true;
        this.reason = m.data ?? "";
        this.#record(m.kind, now, m);
        return "applied";
      case "OrchestrationSuspended":
      case "OrchestrationResumed":
        return this.#suspend(m, now);
      default:
        return this.#complete(m, now);
    }
  }

  #suspend(m, now) {
    const suspended = m.kind === "OrchestrationSuspended";
    if (this.suspended === suspended) return "ignored";
    this.suspended = suspended;
    this.#record(m.kind, now, m);
    this.owed = null;
    return "applied";
  }

  #complete(m, now) {
    const task = this.tasks[m.ref - 1];
    if (!task || task.kind !== scheduleOf(m.kind)) throw new Error(`${m.kind} for task ${m.ref}, which is none`);
    if (task.state !== "open") return "ignored";
    const attrs = m.kind === "TimerFired" ? { fire_at_ms: task.fireAt } : m.attrs;
    this.#record(m.kind, now, { ref: m.ref, data: m.data, attrs });
    task.state = "done";
    if (!this.#wakes(task, m.kind === FAMILIES[task.kind].failed)) this.owed = null;
    return "applied";
  }

  /** An event or an update: the oldest open wait of its name takes it, unless older mail comes first. */
  #deliver(m, now) {
    const kind = m.kind === "update" ? "UpdateWaited" : "ExternalSubscribed";
    const task = !this.end && this.tasks.find((t) => t.state === "open" && t.kind === kind && t.name === m.name);
    if (task && !this.mail.some((l) => l.kind === m.kind && l.name === m.name)) {
      this.#take(task, m, now);
      return "applied";
    }
    this.#keep(m);
    return "kept";
  }

  #keep(letter) {
    this.mail.push(letter);
    this.mail.sort((a, b) => a.id - b.id);
  }

  #take(task, letter, now) {
    const update = task.kind === "UpdateWaited";
    this.#record(FAMILIES[task.kind].done, now, { ref: task.ref, name: letter.name, data: letter.data, attrs: update ? { update: letter.update } : undefined });
    Object.assign(task, { state: "done", letter, owed: update });
    if (!this.#wakes(task, false)) this.owed = null;
  }

  /** Would it end the wait that the code told?  None told: ask. */
  #wakes(task, failed) {
    const w = this.wait;
    if (!w) return true;
    if (!w.refs.includes(task.ref)) return false;
    w.refs = w.refs.filter((ref) => ref !== task.ref);
    return w.for === "any" || (w.for === "all" && failed) || w.refs.length === 0;
  }

  /** Mail for open waits: oldest wait, oldest letter; until the code must be asked. */
  settle(now) {
    while (!this.owed && !this.end) {
      const kindOf = { raised: "ExternalSubscribed", update: "UpdateWaited" };
      const task = this.tasks.find((t) => t.state === "open" && this.mail.some((l) => kindOf[l.kind] === t.kind && l.name === t.name));
      if (!task) return;
      const at = this.mail.findIndex((l) => kindOf[l.kind] === task.kind && l.name === task.name);
      this.#take(task, this.mail.splice(at, 1)[0], now);
    }
  }

  // ---- Decisions ---------------------------------------------------------------------------

  /** The code's answer to the message that is owed; the decisions that others must act on. */
  decide(step, clock) {
    expect(this.owed, "a step for a message that was not given");
    expect(step.seq === this.owed.seq, `a step says its message is event ${step.seq}, it is ${this.owed?.seq}`);
    this.owed = null;
    this.wait = null;
    const acts = [];
    for (const d of step.decisions) {
      expect(!this.end, "a decision after the end");
      const act = d.end ? this.#finish(d) : SCHEDULE[d.do] ? this.#start(d, clock) : this.#plain(d);
      if (act) acts.push(act);
    }
    return acts;
  }

  expectWait(wait) {
    expect(wait?.refs.length, "neither an end nor something to wait for");
    for (const ref of wait.refs) expect(this.tasks[ref - 1]?.state === "open", `waits for task ${ref}, which is not open`);
    this.wait = { for: wait.for, refs: [...wait.refs] };
  }

  #start(d, clock) {
    const kind = SCHEDULE[d.do], family = FAMILIES[kind];
    expect(d.ref === this.tasks.length + 1, `ref ${d.ref}, expected ${this.tasks.length + 1}`);
    const task = { ref: d.ref, kind, state: "open", name: d.name ?? "", data: d.data ?? "", opts: d.opts ?? {}, lease: d.lease, abandon: !!d.abandon, instance: d.instance };
    this.tasks.push(task);
    if (d.refused !== undefined) {
      this.append(kind, { ref: d.ref, name: d.name, attrs: { refused: d.refused } });
      if (family.refusal) this.append(family.refusal, { ref: d.ref, data: d.refused });
      task.state = "done";
      return null;
    }
    if (kind === "TimerCreated") task.fireAt = clock + d.delay_ms;
    this.append(kind, { ref: d.ref, name: d.name, data: d.data, attrs: attrsOf(d, task) });
    if (!family.cancel) task.state = "done";
    if (d.fresh) this.mail = this.mail.filter((l) => l.kind !== "raised" || l.name !== d.name);
    return { ...d, task };
  }

  #plain(d) {
    const attrs = d.refused === undefined ? undefined : { refused: d.refused };
    switch (d.do) {
      case "cancel":
        return this.#cancel(d);
      case "status":
        this.append("CustomStatusUpdated", { data: d.refused ? "" : d.text, attrs });
        return d.refused ? null : d;
      case "patch":
        this.append("PatchRecorded", { name: d.name });
        return null;
      case "push":
        this.append("QueuePushed", { name: d.name, data: d.data, attrs });
        return d.refused ? null : d;
      case "state":
        this.append("StateChanged", { name: d.name, data: d.data, attrs: attrs ?? (d.cleared ? { cleared: true } : undefined) });
        if (!d.refused) d.cleared ? this.state.delete(d.name) : this.state.set(d.name, d.data ?? "");
        return null;
      case "attributes":
        this.append("AttributesSet", { data: d.refused ? "" : JSON.stringify(d.attributes), attrs });
        return d.refused ? null : d;
      case "answer":
        return this.#answer(d);
      default:
        throw new Error(`unknown decision ${JSON.stringify(d)}`);
    }
  }

  #answer(d) {
    const task = this.tasks[d.ref - 1], rejected = d.rejected === true || d.refused !== undefined;
    expect(task?.owed, `task ${d.ref} has no update to be answered`);
    task.owed = false;
    const data = d.refused ?? d.data ?? "", update = task.letter.update;
    this.append("UpdateAnswered", { ref: d.ref, name: task.name, data, attrs: { update, ...(rejected ? { rejected: true } : {}), ...(d.refused ? { refused: d.refused } : {}) } });
    return { do: "answer", update, rejected, data };
  }

  #cancel({ ref, reason }) {
    const task = this.tasks[ref - 1], family = FAMILIES[task?.kind];
    if (task?.state === "open") return this.#withdraw(task, reason);
    expect(task?.state === "done" && family.mail && task.letter && (task.owed || task.kind !== "UpdateWaited"), `task ${ref} cannot be cancelled`);
    this.append(family.cancel, { ref, data: reason }); // what it took goes back to its old place
    this.#keep(task.letter);
    Object.assign(task, { state: "cancelled", owed: false, letter: undefined });
    return null;
  }

  #withdraw(task, reason) {
    this.append(FAMILIES[task.kind].cancel, { ref: task.ref, data: reason });
    task.state = "cancelled";
    return { do: "withdraw", task };
  }

  // ---- Ends --------------------------------------------------------------------------------

  #finish(d) {
    let kind = END[d.end], data = d.output ?? d.error ?? d.input ?? "", attrs = d.version ? { version: d.version } : undefined;
    expect(d.end !== "cancelled" || this.cancelled, "nobody asked to cancel");
    if (this.cancelled) [kind, data, attrs] = ["OrchestrationCancelled", this.reason, undefined];
    const gone = this.#clear(kind);
    if (d.refused !== undefined && !this.cancelled) [kind, data, attrs] = ["OrchestrationFailed", d.refused, { refused: d.refused }];
    this.append(kind, { data, attrs });
    this.end = { kind, data, version: attrs?.version };
    return { do: "ended", gone };
  }

  /** Open tasks and updates that nobody will answer. */
  #clear(kind) {
    const gone = [];
    for (const task of this.tasks)
      if (task.owed) {
        task.owed = false;
        this.append("UpdateAnswered", { ref: task.ref, name: task.name, data: REASONS[kind], attrs: { update: task.letter.update, rejected: true, left: true } });
        gone.push({ do: "answer", update: task.letter.update, rejected: true, data: REASONS[kind] });
      }
    for (const task of this.tasks) if (task.state === "open" && !task.abandon) gone.push(this.#withdraw(task, REASONS[kind]));
    return gone;
  }

  /** Ended from outside. */
  force(reason, now) {
    if (this.end) return [];
    this.now = Math.max(this.now, now);
    this.owed = null;
    const gone = this.#clear("OrchestrationTerminated");
    this.append("OrchestrationTerminated", { data: reason, attrs: { forced: true } });
    this.end = { kind: "OrchestrationTerminated", data: reason };
    return gone;
  }
}

const byKey = ([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function attrsOf(d, task) {
  switch (d.do) {
    case "call": return d.opts;
    case "timer": return { delay_ms: d.delay_ms, fire_at_ms: task.fireAt };
    case "event": return d.ask && { ask: d.ask };
    case "child": case "detach":
      return { instance: d.instance, ...(d.version ? { version: d.version } : {}), ...(d.abandon ? { abandon: true } : {}) };
    case "raise": return { instance: d.instance, ...(d.await_start ? { await_start: true } : {}) };
    default: return undefined;
  }
}

function expect(fact, otherwise) {
  if (!fact) throw new Error(`the server would refuse this answer: ${otherwise}`);
}
