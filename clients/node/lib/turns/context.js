// SPDX-License-Identifier: MIT
// What an orchestration may call: `ctx`.  index.d.ts is the manual.
//
// Each method turns its arguments into a call (what replay compares) and a decision (what is sent), and
// looks at the limits while live (checks.js).  Everything else is run.js.  A wrong argument is a TypeError:
// the code is wrong, and its instance is blocked until it is repaired.
import {
  bytesOf, checkAsk, checkAttributes, checkCallOptions, checkDelay, checkInstance, checkName, checkPayload,
  checkPush, checkState, checkStatus, checkVersion, cutName,
} from "./checks.js";
import { nameOf } from "./code.js";
import { draw, fraction, uuidOf } from "./draws.js";
import { Refused } from "../errors.js";
import { place } from "./place.js";
import { Handle, UpdateHandle } from "./task.js";
import { textOfValue, valueOfText } from "./values.js";

const CALL_OPTIONS = [
  "attempts", "backoff", "initial_ms", "cap_ms", "factor", "jitter", "final_errors", "no_retry_on_timeout", "schedule_to_start_ms",
  "start_to_close_ms", "schedule_to_close_ms", "heartbeat_ms", "tag", "max_crashes", "at_most_once", "key", "priority",
];
const CHILD_OPTIONS = ["instance", "version", "abandon", "inherit", "deadline_ms"];

/** Thrown by continueAsNew(): the function is left. */
class Continue extends Error {}

/** Those of `options` that were given; a name that nobody knows is refused. */
function optionsOf(options, known, api) {
  const given = {};
  for (const [name, value] of Object.entries(options ?? {})) {
    if (!known.includes(name)) throw new TypeError(`${api} has no option '${name}'; it knows ${known.join(", ")}`);
    if (value !== undefined) given[name] = value;
  }
  return given;
}

function textArgument(what, value) {
  if (typeof value !== "string") throw new TypeError(`${what} must be a text, not ${value === null ? "null" : typeof value}`);
  return value;
}

function integerArgument(what, value) {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${what} must be a whole number of milliseconds, not ${String(value)}`);
  return value;
}

const none = (options) => (Object.keys(options).length === 0 ? undefined : options);

export class Context {
  #run;

  constructor(run) {
    this.#run = run;
    this.log = Object.freeze(Object.fromEntries(["error", "warn", "info", "debug"].map((level) => [level, (...words) => this.#say(level, words)])));
    this.state = Object.freeze({
      get: (key) => this.#stateGet(key),
      set: (key, value) => this.#stateSet(key, value),
      clear: (key) => this.#stateClear(key),
    });
    Object.freeze(this);
  }

  // ---- Who and when ------------------------------------------------------------------------

  get instance() { return this.#run.instance; }
  get execution() { return this.#run.execution; }
  get name() { return this.#run.name; }
  get version() { return this.#run.version; }
  get historyLength() { return this.#run.seq; }
  get now() { return this.#run.now; }
  get date() { return new Date(this.#run.now); }
  get scheduledAt() { return this.#run.scheduledAt; }
  get cancelled() { return this.#run.cancelled; }
  get replaying() { return !this.#run.live; }

  random64() {
    this.#run.check();
    return draw(this.#run.seed, this.#run.messageSeq, ++this.#run.draws, 0);
  }

  random() {
    return fraction(this.random64());
  }

  uuid() {
    this.#run.check();
    return uuidOf(this.#run.seed, this.#run.messageSeq, ++this.#run.draws, this.#run.now);
  }

  #say(level, words) {
    if (this.#run.live && this.#run.active) this.#run.say(level, `${this.#run.instance}: ${words.map(String).join(" ")}`);
  }

  // ---- Work --------------------------------------------------------------------------------

  call(activity, input, options) {
    return this.#call("ctx.call", nameOf(activity, "activity"), input, optionsOf(options, CALL_OPTIONS, "ctx.call"), false);
  }

  step(name, run, options) {
    if (typeof name === "function") [name, run, options] = [name.name, name, run];
    if (typeof run !== "function") throw new TypeError("ctx.step needs a function: ctx.step('name', async () => …)");
    const { input, ...rest } = options ?? {};
    const task = this.#call("ctx.step", textArgument("the name of a step", name), input, optionsOf(rest, CALL_OPTIONS, "ctx.step"), true);
    const cell = Handle.cellOf(task, this.#run);
    if (cell.state === "open") this.#run.inline.set(cell.id, run);
    return task;
  }

  #call(api, name, input, opts, lease) {
    const run = this.#run, data = textOfValue(input, run.raw);
    const refused = run.live ? checkName("activity name", name) ?? checkCallOptions(opts) ?? this.#payload("input", data) : undefined;
    const wire = { do: "call", ref: 0, name: cutName(name), data };
    if (none(opts)) wire.opts = opts;
    if (lease) wire.lease = true;
    return new Handle(run, run.start({ kind: "ActivityScheduled", api, name: wire.name, data }, wire, refused));
  }

  #payload(what, text) {
    return checkPayload(what, text, this.#run.limits.payload_bytes);
  }

  timer(ms) {
    return this.#timer("ctx.timer", ms);
  }

  sleep(ms) {
    return this.#timer("ctx.sleep", ms);
  }

  #timer(api, ms) {
    const delay = integerArgument(`the delay of ${api}`, ms), run = this.#run;
    const refused = run.live ? checkDelay("delay", delay) : undefined;
    const call = { kind: "TimerCreated", api, name: "", data: "", delay };
    return new Handle(run, run.start(call, { do: "timer", ref: 0, delay_ms: delay }, refused));
  }

  child(orchestration, input, options) {
    return new Handle(this.#run, this.#child("SubOrchestrationScheduled", "child", "ctx.child", orchestration, input, options));
  }

  detach(orchestration, input, options) {
    const cell = this.#child("OrchestrationChained", "detach", "ctx.detach", orchestration, input, options);
    if (cell.refused) throw new Refused(cell.text, { kind: "refused", attempts: 0 });
    return cell.instance;
  }

  #child(kind, verb, api, orchestration, input, options) {
    const run = this.#run, name = nameOf(orchestration, "orchestration"), data = textOfValue(input, run.raw);
    const { instance, version, abandon, inherit, deadline_ms } = optionsOf(options, CHILD_OPTIONS, api);
    const id = instance === undefined ? `${run.instance}:${run.execution}:${run.cells.length + 1}` : textArgument("the instance", instance);
    const wire = {
      do: verb, ref: 0, name: cutName(name), data, instance: id, ...(version === undefined ? {} : { version: textArgument("the version", version) }),
      ...(abandon && verb === "child" ? { abandon: true } : {}), ...(inherit ? { inherit: true } : {}),
      ...(deadline_ms === undefined ? {} : { deadline_ms: integerArgument("deadline_ms", deadline_ms) }),
    };
    const refused = run.live
      ? checkName("orchestration name", name) ?? checkChildId(id, instance !== undefined) ?? (version && checkVersion(version)) ??
        (deadline_ms === undefined ? undefined : checkDelay("deadline", deadline_ms)) ?? this.#payload("input", data)
      : undefined;
    const cell = run.start({ kind, api, name: wire.name, data, instance: id, version: version ?? "" }, wire, refused || undefined);
    cell.abandon = wire.abandon === true;
    cell.instance = id;
    return cell;
  }

  push(queue, item, options) {
    const run = this.#run, name = textArgument("the queue", queue), data = textOfValue(item, run.raw);
    const opts = optionsOf(options, ["priority", "delay_ms"], "ctx.push");
    const wire = { do: "push", name: cutName(name), data, ...opts };
    const refused = run.live ? checkPush(name, data, opts, run.limits) : undefined;
    this.#refusedNow(run.plain({ kind: "QueuePushed", api: "ctx.push", name: wire.name, data }, wire, refused));
  }

  pop(queue, { ttl_ms = 30000, wait_ms = 0 } = {}) {
    return this.call("pawl.queue.pop", { queue, ttl_ms, wait_ms });
  }

  ack(queue, lock_id) {
    return this.call("pawl.queue.ack", { queue, lock_id });
  }

  #refusedNow(text) {
    if (text !== undefined) throw new Refused(text, { kind: "refused", attempts: 0 });
  }

  // ---- What others send --------------------------------------------------------------------

  event(name, options) {
    const { fresh } = optionsOf(options, ["fresh"], "ctx.event");
    return this.#event("ctx.event", name, fresh ? { fresh: true } : {});
  }

  ask(name, question) {
    const ask = textOfValue(question);
    return this.#event("ctx.ask", name, { ask: JSON.parse(ask) }, this.#run.live ? checkAsk(question, ask) : undefined);
  }

  #event(api, event, more, fault) {
    const run = this.#run, name = textArgument("the event", event);
    const refused = run.live ? checkName("event name", name) ?? fault : undefined;
    const wire = { do: "event", ref: 0, name: cutName(name), ...more };
    return new Handle(run, run.start({ kind: "ExternalSubscribed", api, name: wire.name, data: "" }, wire, refused));
  }

  raise(instance, event, data, options) {
    const run = this.#run, { await_start } = optionsOf(options, ["await_start"], "ctx.raise");
    const id = textArgument("the instance", instance), name = textArgument("the event", event), text = textOfValue(data, run.raw);
    const wire = { do: "raise", ref: 0, instance: id, name: cutName(name), data: text, ...(await_start ? { await_start: true } : {}) };
    const refused = run.live ? checkName("event name", name) ?? checkInstance(id, 1024) ?? this.#payload("input", text) : undefined;
    const cell = run.start({ kind: "EventSent", api: "ctx.raise", name: wire.name, data: text, instance: id, version: "" }, wire, refused);
    if (cell.refused) this.#refusedNow(cell.text);
  }

  update(update) {
    const run = this.#run, name = textArgument("the update", update);
    const wire = { do: "update", ref: 0, name: cutName(name) };
    const refused = run.live ? checkName("update name", name) : undefined;
    const cell = run.start({ kind: "UpdateWaited", api: "ctx.update", name: wire.name, data: "" }, wire, refused);
    return new UpdateHandle(run, cell, (answer) => this.#answer(cell, answer));
  }

  #answer(cell, { value, error }) {
    const run = this.#run, rejected = error !== undefined, api = rejected ? "reject" : "answer";
    run.check();
    if (!cell.owed) {
      const why = cell.state === "open" ? "no update has come yet" : cell.state !== "done" ? "its wait was given up" : "it was answered before";
      return this.#say("warn", [`${api} of task ${cell.id} is ignored: ${why}`]);
    }
    const data = rejected ? error : textOfValue(value, run.raw), max = run.limits.payload_bytes;
    const over = run.live && max && bytesOf(data) > max;
    const wire = { do: "answer", ref: cell.id, data, ...(rejected ? { rejected } : {}) };
    run.see(cell); // code that answers it has seen it
    run.plain({ kind: "UpdateAnswered", api, ref: cell.id, name: cell.name, data, rejected }, wire,
      over ? `its answer is ${bytesOf(data)} bytes, limit ${max} (--max-payload)` : undefined);
    cell.owed = false;
    return undefined;
  }

  // ---- Waiting -----------------------------------------------------------------------------

  #cells(tasks, api) {
    const list = tasks.length === 1 && Array.isArray(tasks[0]) ? tasks[0] : tasks;
    if (!Array.isArray(list)) throw new TypeError(`${api} needs tasks`);
    return list.map((task) => Handle.cellOf(task, this.#run));
  }

  all(...tasks) {
    const run = this.#run, cells = this.#cells(tasks, "ctx.all");
    return run.wait("all", cells, (w) => (w.hit ? run.valueOf(w.hit) : cells.map((cell) => run.valueOf(cell))));
  }

  settled(...tasks) {
    const cells = this.#cells(tasks, "ctx.settled");
    return this.#run.wait("settled", cells, () => cells.map((cell) => cell.task)); // an array is not unwrapped
  }

  any(...tasks) {
    return this.#first(this.#cells(tasks, "ctx.any"));
  }

  #first(cells) {
    return this.#run.wait("any", cells, ({ hit }) => ({ index: cells.indexOf(hit), task: hit.task }));
  }

  race(...tasks) {
    const run = this.#run, cells = this.#cells(tasks, "ctx.race");
    return this.#first(cells).then((won) => {
      cells.forEach((cell, i) => i !== won.index && run.cancel(cell, "lost the race", "ctx.race"));
      return won;
    });
  }

  select(tasks) {
    const keys = Object.keys(tasks), cells = this.#cells([Object.values(tasks)], "ctx.select");
    return this.#run.wait("any", cells, ({ hit }) => ({ key: keys[cells.indexOf(hit)], task: hit.task }));
  }

  async *asDone(...tasks) {
    const cells = this.#cells(tasks, "ctx.asDone"), left = new Set(cells);
    while (left.size) {
      const { task } = await this.#first([...left]);
      const cell = Handle.cellOf(task, this.#run);
      left.delete(cell);
      yield { index: cells.indexOf(cell), task };
    }
  }

  async map(items, start, { window = Infinity } = {}) {
    const list = [...items], tasks = [], open = new Set();
    for (let next = 0; next < list.length || open.size; ) {
      for (; next < list.length && open.size < Math.max(1, window); next++) {
        tasks[next] = start(list[next], next);
        open.add(tasks[next]);
      }
      const { task } = await this.#first([...open].map((t) => Handle.cellOf(t, this.#run)));
      task.result(); // the first failure is thrown at once; the open ones go on
      open.delete(task);
    }
    return tasks.map((task) => task.result());
  }

  cancel(task) {
    this.#run.cancel(Handle.cellOf(task, this.#run), "cancelled by the orchestration", "ctx.cancel");
  }

  shield(run) {
    if (typeof run !== "function") throw new TypeError("ctx.shield needs a function: await ctx.shield(async () => …)");
    return place.run({ run: this.#run, shielded: true }, async () => run());
  }

  // ---- What others see ---------------------------------------------------------------------

  status(text) {
    const shown = typeof text === "string" ? text : textOfValue(text);
    this.#run.plain({ kind: "CustomStatusUpdated", api: "ctx.status", name: "", data: shown }, { do: "status", text: shown }, checkStatus(shown));
  }

  attributes(change) {
    if (change === null || typeof change !== "object" || Array.isArray(change)) throw new TypeError("ctx.attributes needs an object of names and values");
    const data = textOfValue(change), call = { kind: "AttributesSet", api: "ctx.attributes", name: "", data };
    this.#refusedNow(this.#run.plain(call, { do: "attributes", attributes: JSON.parse(data) }, this.#run.live ? checkAttributes(change, data) : undefined));
  }

  #stateGet(key) {
    const text = this.#run.state.get(textArgument("the key", key));
    return text === undefined ? undefined : valueOfText(text, this.#run.raw);
  }

  #stateSet(key, value) {
    if (value === undefined) throw new TypeError("ctx.state.set needs a value; ctx.state.clear(key) removes one");
    const data = textOfValue(value, this.#run.raw);
    this.#change(key, data, { do: "state", name: cutName(textArgument("the key", key)), data }, "ctx.state.set");
    this.#run.state.set(key, data);
  }

  #stateClear(key) {
    this.#change(key, undefined, { do: "state", name: cutName(textArgument("the key", key)), cleared: true }, "ctx.state.clear");
    this.#run.state.clear(key);
  }

  #change(key, data, wire, api) {
    const run = this.#run, call = { kind: "StateChanged", api, name: wire.name, data: data ?? "", cleared: data === undefined };
    this.#refusedNow(run.plain(call, wire, run.live ? checkState(run.state, key, data) : undefined));
  }

  patched(name) {
    return this.#run.patched(textArgument("the patch", name));
  }

  continueAsNew(input, version) {
    const run = this.#run;
    run.check();
    run.continuing = { input: textOfValue(input, run.raw), version: version === "same" ? run.version : version };
    throw new Continue("continues as new: let this error pass");
  }
}

function checkChildId(id, chosen) {
  if (chosen) return checkInstance(id, 512);
  return bytesOf(id) > 1024 ? `the child's id would be ${bytesOf(id)} bytes, limit 1024: give it a shorter one` : checkInstance(id, 1024);
}
