// SPDX-License-Identifier: MIT
// A world for tests: orchestrations run in virtual time, in this process, without a server.
//
// The walk: start(), raise() … put letters into instances; settle() lets each instance take its oldest letter,
// drives its code, records the answer and acts on it, and runs activities, until nothing is left to do at
// this moment; skip() moves the clock from one timer to the next.  After every step the whole history is
// replayed by fresh code, so code that is not deterministic fails the test that made it.
//
// Invariants: one message at a time for an instance; time passes only in skip() and run().  With `dice` the
// order of what could happen at once, evictions and batches are drawn from that seed.
import { Cancelled, Fail, Final, errorText, textOf } from "../errors.js";
import { activity, isCode, nameOf, orchestration } from "../turns/code.js";
import { draw, fraction } from "../turns/draws.js";
import { installGuards } from "../turns/guards.js";
import { scheduleOf } from "../turns/kinds.js";
import { tryRuntime } from "../turns/place.js";
import { Runner } from "../turns/runner.js";
import { textOfValue, valueOfText } from "../turns/values.js";
import { Execution } from "./execution.js";

const UNITS = { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 };
const STATUS = {
  OrchestrationCompleted: "completed", OrchestrationFailed: "failed", OrchestrationCancelled: "cancelled", OrchestrationTerminated: "cancelled",
};

/** Milliseconds of 1500 or "48h". */
export function duration(span) {
  const found = typeof span === "string" && /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(span);
  const ms = found ? Number(found[1]) * UNITS[found[2]] : span;
  if (!Number.isFinite(ms) || ms < 0) throw new TypeError(`a span of time is a number of milliseconds or a text like "48h", not ${String(span)}`);
  return ms;
}

/** The code does not fit its history, or is wrong: a server would block the instance. */
export class Blocked extends Error {
  constructor(instance, { mismatch, bug }) {
    const found = mismatch ?? bug;
    super(`'${instance}' would be blocked${found.site ? ` at ${found.site}` : ""}: ${mismatch?.text ?? bug.error}`);
    this.name = "Blocked";
    this.finding = found;
    if (bug?.trace) this.stack = `${this.message}\n${bug.trace}`;
  }
}

export class World {
  #runner = new Runner({ say: (level, text) => this.logs.push({ level, text }) });
  #activities = new Map();
  #instances = new Map();
  #work = []; // calls that wait for their activity: {instance, execution, task, attempt, due}
  #letters = 0;
  #made = 0;
  #updates = new Map(); // id → {done, error?, value?}
  #rolls = 0;
  #dice;
  #check;

  constructor({ now = Date.UTC(2026, 0, 1), dice, check = true, guards = true } = {}) {
    this.now = now;
    this.logs = [];
    this.queues = {}; // name → items pushed
    this.#dice = dice;
    this.#check = check;
    this.#runner.judge = (run, wire) => this.#refusal(run, wire);
    if (guards) installGuards();
  }

  /** Why a server refuses this call, and no worker can know it. */
  #refusal(run, { do: verb, instance }) {
    if (verb !== "detach") return undefined;
    const taken = this.#instances.has(instance) || run.step.some((d) => d.do === "detach" && d.instance === instance);
    return taken ? `instance '${instance}' exists already` : undefined;
  }

  orchestration(name, options, run) {
    this.#runner.add(isCode(name, "orchestration") ? name : orchestration(name, options, run));
    return this;
  }

  /** Again for the same name: it replaces the one before. */
  activity(name, run) {
    const code = isCode(name, "activity") ? name : activity(name, run);
    this.#activities.set(code.name, code.run);
    return this;
  }

  // ---- What a client does ------------------------------------------------------------------

  async start(what, input, { instance = `world-${++this.#made}`, version } = {}) {
    await tryRuntime();
    this.#open(instance, nameOf(what, "orchestration"), textOfValue(input), version);
    await this.settle();
    return instance;
  }

  /** Start it and let it end, timers and all: its output; a failure is thrown. */
  async run(what, input, options) {
    const id = await this.start(what, input, options);
    return this.result(id);
  }

  /** Let it end, timers and all. */
  async result(id) {
    for (;;) {
      await this.settle();
      const { status, output, error } = this.get(id);
      if (status === "completed") return output;
      if (status === "cancelled") throw new Cancelled(error ?? "");
      if (status === "failed") throw new Fail(error);
      const next = this.#nextMoment();
      if (next === undefined) throw new Error(this.#hangs(id));
      await this.skip(next - this.now);
    }
  }

  async raise(id, event, data) {
    this.#put(this.#of(id), { kind: "raised", name: event, data: textOfValue(data) });
    await this.settle();
  }

  /** The answer of the code; its rejection is thrown. */
  async update(id, name, data) {
    const update = `u-${this.#letters + 1}`;
    this.#updates.set(update, {});
    this.#put(this.#of(id), { kind: "update", name, data: textOfValue(data), update });
    await this.settle();
    const { done, error, value } = this.#updates.get(update);
    if (!done) throw new Error(`'${id}' has not answered the update '${name}' yet`);
    if (error !== undefined) throw new Fail(error);
    return value;
  }

  async cancel(id, reason = "") {
    this.#put(this.#of(id), { kind: "OrchestrationCancelRequested", data: reason });
    await this.settle();
  }

  async terminate(id, reason = "") {
    const inst = this.#of(id);
    if (inst.x.end) return;
    for (const act of inst.x.force(reason, this.now)) this.#act(inst, act);
    this.#ended(inst);
    await this.settle();
  }

  /** Let time pass: 1500, "48h". Timers and retries come in their order. */
  async skip(span) {
    const end = this.now + duration(span);
    for (;;) {
      await this.settle();
      const next = this.#nextMoment();
      if (next === undefined || next > end) break;
      this.now = Math.max(this.now, next);
      this.#fire();
    }
    this.now = end;
    await this.settle();
  }

  get(id) {
    const inst = this.#of(id), { x } = inst, end = x.end, status = end ? STATUS[end.kind] ?? "running" : "running";
    return {
      instance: id, orchestration: inst.name, version: inst.version, status, execution: x.execution,
      output: status === "completed" ? valueOfText(end.data) : undefined,
      error: status === "failed" || status === "cancelled" ? end.data : undefined,
      custom_status: inst.status, attributes: inst.attributes,
      state: Object.fromEntries([...x.state].map(([key, text]) => [key, valueOfText(text)])),
      asks: x.tasks.filter((t) => t.state === "open" && t.ask).map((t) => ({ event: t.name, ask: t.ask })),
      waiting_for: x.tasks.filter((t) => t.state === "open").map((t) => ({ id: t.ref, kind: t.kind, name: t.name })),
    };
  }

  /** What is recorded of an execution, the last one unless told. */
  history(id, execution) {
    const inst = this.#of(id);
    return structuredClone(execution === undefined ? inst.x.events : inst.past[execution - 1] ?? inst.x.events);
  }

  // ---- What the server does ----------------------------------------------------------------

  #of(id) {
    const inst = this.#instances.get(id);
    if (!inst) throw new Error(`there is no instance '${id}'`);
    return inst;
  }

  #open(id, name, data, version, parent) {
    if (this.#instances.has(id)) throw new Error(`instance '${id}' exists already`);
    const codes = this.#runner.list().filter((c) => c.name === name && (version === undefined || c.version === version));
    if (codes.length === 0) throw new Error(`nobody has orchestration '${name}'${version ? ` ${version}` : ""}: world.orchestration('${name}', …)`);
    const inst = { id, name, version: codes.at(-1).version, parent, letters: [], past: [], attributes: {}, uid: this.#instances.size + 1 };
    inst.x = new Execution(id, 1);
    this.#instances.set(id, inst);
    this.#put(inst, this.#startOf(inst, data));
  }

  #startOf(inst, data) {
    const seed = draw(BigInt(inst.uid), inst.x.execution, 1, 0).toString(16);
    return { kind: "OrchestrationStarted", name: inst.name, data, attrs: { version: inst.version, seed } };
  }

  #put(inst, letter) {
    inst.letters.push({ id: ++this.#letters, at: this.now, ...letter });
  }

  /** A number in [0, n) of the dice; 0 without. */
  #roll(n) {
    if (this.#dice === undefined || n < 2) return 0;
    return Math.floor(fraction(draw(BigInt(this.#dice), ++this.#rolls, 1, 0)) * n);
  }

  /** All that can happen at this moment. */
  async settle() {
    for (;;) {
      const ready = [...this.#instances.values()].filter((inst) => this.#pump(inst));
      const due = this.#work.filter((w) => w.due <= this.now && this.#runs(w));
      if (ready.length && (due.length === 0 || this.#roll(3) < 2)) await this.#turn(ready[this.#roll(ready.length)]);
      else if (due.length) await this.#attempt(due[this.#roll(due.length)]);
      else return;
    }
  }

  #runs(w) {
    return w.task.lease || this.#activities.has(w.task.name) || w.task.name.startsWith("pawl.queue.");
  }

  /** Record what needs no code; true when the code must be asked. */
  #pump(inst) {
    const { x } = inst;
    while (!x.owed) {
      if (!inst.letters.length) break;
      const letter = inst.letters.shift();
      x.apply(letter, letter.at);
      x.settle(this.now);
    }
    return Boolean(x.owed) && !x.end;
  }

  async #turn(inst) {
    const { x } = inst, id = `${inst.uid}.${x.execution}`, first = x.owed;
    if (this.#roll(8) === 7) this.#runner.drop(id);
    const after = this.#runner.runs.get(id)?.seq ?? 0;
    const { seq: _, ...message } = first;
    const batch = this.#batch(inst);
    const turn = {
      token: id, run: id, instance: inst.id, execution: x.execution, orchestration: inst.name, version: inst.version, after,
      events: x.events.slice(after, first.seq - 1), seq: first.seq - 1, carried: x.events.slice(first.seq),
      messages: [message, ...batch.map((l) => messageOf(l, x))],
    };
    const { answer } = await this.#runner.drive(turn);
    if (!answer.steps) throw new Blocked(inst.id, answer);
    this.#record(inst, batch, answer);
    if (this.#check) await this.#replay(inst);
    if (x.end) this.#ended(inst);
  }

  /** Completions that go with the first message. */
  #batch(inst) {
    const batch = [];
    while (this.#roll(2) && inst.letters.length && isCompletion(inst.letters[0])) batch.push(inst.letters.shift());
    return batch;
  }

  #record(inst, batch, answer) {
    const { x } = inst, steps = [...answer.steps], acts = x.decide(steps.shift(), this.now);
    for (const letter of batch) {
      if (x.end) break;
      x.apply(letter, letter.at);
      if (x.owed) acts.push(...x.decide(steps.shift(), this.now));
    }
    if (!x.end) x.expectWait(answer.wait);
    for (const act of acts) this.#act(inst, act);
    x.settle(this.now);
  }

  /** Fresh code, the whole history: it must come to the same place. */
  async #replay(inst) {
    const { x } = inst, events = x.owed ? x.events.slice(0, x.owed.seq - 1) : x.events;
    const run = this.#runner.make({ run: "check", instance: inst.id, execution: x.execution, orchestration: inst.name, version: inst.version });
    await run.feed(events);
    if (run.broken) throw new Blocked(inst.id, run.broken);
    if (run.seq !== events.length || Boolean(run.ended) !== Boolean(x.end))
      throw new Error(`'${inst.id}' replays to event ${run.seq} of ${events.length}`);
  }

  #act(inst, act) {
    switch (act.do) {
      case "call":
        this.#work.push({ inst, x: inst.x, task: act.task, attempt: 1, due: this.now });
        break;
      case "event":
        act.task.ask = act.ask;
        break;
      case "child":
      case "detach":
        this.#child(inst, act);
        break;
      case "raise":
        if (this.#instances.has(act.instance)) this.#put(this.#of(act.instance), { kind: "raised", name: act.name, data: act.data });
        break;
      case "push":
        (this.queues[act.name] ??= []).push(valueOfText(act.data));
        break;
      case "status":
        inst.status = act.text;
        break;
      case "attributes":
        Object.assign(inst.attributes, act.attributes);
        for (const [name, value] of Object.entries(inst.attributes)) if (value === null) delete inst.attributes[name];
        break;
      case "answer":
        this.#updates.set(act.update, { done: true, ...(act.rejected ? { error: act.data } : { value: valueOfText(act.data) }) });
        break;
      case "withdraw":
        this.#withdraw(inst, act.task);
        break;
      case "ended":
        for (const gone of act.gone) this.#act(inst, gone);
        break;
      default: // timers are looked up in their tasks
    }
  }

  #withdraw(inst, task) {
    this.#work = this.#work.filter((w) => w.x !== inst.x || w.task !== task);
    const child = task.kind === "SubOrchestrationScheduled" && this.#instances.get(task.instance);
    if (child) this.#put(child, { kind: "OrchestrationCancelRequested", data: "parent cancelled" });
  }

  #child(inst, { do: verb, instance, name, data, version, ref }) {
    const parent = verb === "child" ? { inst, x: inst.x, ref } : undefined;
    try {
      this.#open(instance, name, data ?? "", version, parent);
    } catch (error) {
      if (parent) this.#put(inst, { kind: "SubOrchestrationFailed", ref, data: error.message });
    }
  }

  #ended(inst) {
    const { x, parent } = inst;
    this.#runner.drop(`${inst.uid}.${x.execution}`);
    if (x.end.kind === "OrchestrationContinuedAsNew") {
      inst.past.push(x.events);
      const next = new Execution(inst.id, x.execution + 1);
      Object.assign(next, { mail: x.mail, state: x.state });
      inst.version = x.end.version ?? inst.version;
      inst.x = next;
      inst.letters.unshift({ id: ++this.#letters, at: this.now, ...this.#startOf(inst, x.end.data) });
    } else if (parent && parent.inst.x === parent.x && parent.x.tasks[parent.ref - 1].state === "open") {
      const ok = x.end.kind === "OrchestrationCompleted", cancelled = x.end.kind === "OrchestrationCancelled";
      const kind = ok ? "SubOrchestrationCompleted" : "SubOrchestrationFailed";
      this.#put(parent.inst, { kind, ref: parent.ref, data: x.end.data, ...(cancelled ? { attrs: { kind: "cancelled" } } : {}) });
    }
  }

  // ---- Work and time -----------------------------------------------------------------------

  async #attempt(w) {
    const { inst, x, task, attempt } = w;
    this.#work.splice(this.#work.indexOf(w), 1);
    const input = valueOfText(task.data);
    const about = { instance: inst.id, execution: x.execution, id: task.ref, activity: task.name, input, attempt, key: `${inst.uid}.${x.execution}.${task.ref}`, signal: new AbortController().signal, cancelled: false };
    try {
      const run = await this.#functionOf(w);
      const value = await run(...(task.lease ? [about] : [input, about]));
      const data = textOfValue(task.lease ? value : value ?? null);
      this.#put(inst, { kind: "ActivityCompleted", ref: task.ref, data, ...(attempt > 1 ? { attrs: { attempts: attempt } } : {}) });
    } catch (error) {
      this.#failed(w, error);
    }
  }

  async #functionOf({ inst, x, task }) {
    if (task.name === "pawl.queue.pop") return ({ queue }) => ({ items: (this.queues[queue] ??= []).splice(0, 1), lock_id: `lock-${++this.#letters}` });
    if (task.name === "pawl.queue.ack") return () => 1;
    if (!task.lease) return this.#activities.get(task.name);
    let run = this.#runner.runs.get(`${inst.uid}.${x.execution}`);
    if (!run?.inline.has(task.ref)) { // evicted: replay brings the code to that await again
      run = this.#runner.make({ run: "step", instance: inst.id, execution: x.execution, orchestration: inst.name, version: inst.version });
      await run.feed(x.owed ? x.events.slice(0, x.owed.seq - 1) : x.events);
    }
    return run.inline.get(task.ref);
  }

  #failed(w, error) {
    const { inst, task, attempt } = w, opts = task.opts, final = error instanceof Final;
    const text = final ? textOf(error) : errorText(error);
    const last = attempt >= (opts.attempts ?? 1) || final || (opts.final_errors ?? []).some((prefix) => text.startsWith(prefix));
    if (last) this.#put(inst, { kind: "ActivityFailed", ref: task.ref, data: text, attrs: { attempts: attempt } });
    else this.#work.push({ ...w, attempt: attempt + 1, due: this.now + backoff(opts, attempt) });
  }

  /** When something is next due; undefined: never. */
  #nextMoment() {
    const moments = this.#work.filter((w) => w.due > this.now && this.#runs(w)).map((w) => w.due);
    for (const { x } of this.#instances.values())
      if (!x.end) for (const t of x.tasks) if (t.kind === "TimerCreated" && t.state === "open") moments.push(t.fireAt);
    return moments.length ? Math.max(this.now, Math.min(...moments)) : undefined;
  }

  #fire() {
    for (const inst of this.#instances.values())
      for (const t of inst.x.end ? [] : inst.x.tasks)
        if (t.kind === "TimerCreated" && t.state === "open" && t.fireAt <= this.now && !t.fired) {
          t.fired = true;
          this.#put(inst, { kind: "TimerFired", ref: t.ref });
        }
  }

  #hangs(id) {
    const idle = this.#work.find((w) => !this.#runs(w));
    if (idle) return `'${id}' waits for activity '${idle.task.name}', which nobody serves: world.activity('${idle.task.name}', …)`;
    const [first] = this.get(id).waiting_for;
    return `'${id}' waits for ${first?.kind ?? "nothing"} '${first?.name ?? ""}': raise it, or let time pass`;
  }
}

const isCompletion = (letter) => scheduleOf(letter.kind) !== undefined;

function messageOf(letter, x) {
  const attrs = letter.kind === "TimerFired" ? { fire_at_ms: x.tasks[letter.ref - 1].fireAt } : letter.attrs;
  return { kind: letter.kind, ref: letter.ref, at: Math.max(x.now, letter.at), ...(letter.data ? { data: letter.data } : {}), ...(attrs ? { attrs } : {}) };
}

function backoff({ backoff: how = "exponential", initial_ms = 1000, cap_ms = 60000, factor = 2 }, attempt) {
  const ms = how === "fixed" ? initial_ms : how === "linear" ? initial_ms * attempt : initial_ms * factor ** (attempt - 1);
  return Math.min(ms, cap_ms);
}

/** The same test in many orders: completions swapped, runs evicted, messages batched; the seed is in the error. */
export async function simulate(test, { seeds = 100, from = 1 } = {}) {
  for (let dice = from; dice < from + seeds; dice++) {
    try {
      await test(new World({ dice }));
    } catch (error) {
      throw new Error(`with new World({ dice: ${dice} }): ${error.message}`, { cause: error });
    }
  }
}
