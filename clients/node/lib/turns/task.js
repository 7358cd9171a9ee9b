// SPDX-License-Identifier: MIT
// A started piece of work, from two sides.  A Cell is what the run knows of it; a Handle is what the author
// holds.  A Handle is a thenable and no promise: a task that nobody awaits can fail without an unhandled
// rejection.  Never resolve a promise with a Handle: it would be unwrapped, and the author got its value.
//
// Invariants: a cell is open, done, failed or cancelled, and leaves `open` once, except that a wait whose
// event the code has not seen may be given back (done → cancelled, S16).  `order` counts the ends.
// Called by run.js, context.js.
import { ChildCancelled, ChildExists, ChildFailed, Poison, Refused, TaskCancelled, TaskFailed, TaskLost, Timeout } from "../errors.js";
import { FAMILIES } from "./kinds.js";
import { valueOfText } from "./values.js";

export class Cell {
  constructor(id, kind, name) {
    this.id = id;
    this.kind = kind;
    this.name = name;
    this.state = "open"; // done, failed, cancelled
    this.text = "";
    this.attrs = undefined;
    this.refused = false;
    this.order = 0;
    this.abandon = false;
    this.unseen = false; // it took an event or an update, and no code was told
    this.owed = false; // an update that waits for its answer
    this.waits = null; // those that count it, in the order they began
    this.instance = undefined; // of a child
  }

  get family() {
    return FAMILIES[this.kind];
  }
}

const TIMEOUTS = new Set(["schedule_to_start", "start_to_close", "schedule_to_close", "heartbeat"]);

function classOfFailure(cell, kind, errors) {
  if (cell.refused || kind === "refused") return Refused;
  if (cell.state === "cancelled") return TaskCancelled;
  if (TIMEOUTS.has(kind) || cell.text.startsWith("timeout:")) return Timeout;
  if (kind === "poison" || cell.text.startsWith("poison:")) return Poison;
  if (kind === "lost") return TaskLost;
  if (cell.kind === "SubOrchestrationScheduled") {
    if (kind === "cancelled") return ChildCancelled;
    return cell.text.endsWith("exists already") ? ChildExists : ChildFailed;
  }
  return errors?.get(/^[A-Za-z_$][\w$.]*(?=: )/.exec(cell.text)?.[0]) ?? TaskFailed;
}

/** The error that an await of this cell throws. */
export function failureOf(cell, errors) {
  const kind = cell.attrs?.kind ?? (cell.refused ? "refused" : cell.state === "cancelled" ? "cancelled" : "failed");
  const attempts = cell.attrs?.attempts ?? (kind === "refused" ? 0 : 1);
  return new (classOfFailure(cell, kind, errors))(cell.text, { kind, attempts, task: cell.task });
}

export class Handle {
  #run;
  #cell;

  constructor(run, cell) {
    this.#run = run;
    this.#cell = cell;
    cell.task = this;
  }

  /** The cell of a task of this run; throws for anything else. */
  static cellOf(task, run) {
    if (task === null || typeof task !== "object" || !(#cell in task))
      throw new TypeError(`${task instanceof Promise ? "a promise" : String(task)} is no task of this orchestration: pass what ctx.call(), ctx.timer() … returned, not awaited`);
    if (task.#run !== run) throw new TypeError("the task belongs to another execution");
    return task.#cell;
  }

  get id() {
    return this.#cell.id;
  }

  /** The instance id of a child. */
  get instance() {
    return this.#cell.instance;
  }

  /** Would an await return at once?  Code that asks has seen it. */
  get done() {
    this.#run.see(this.#cell);
    return this.#cell.state !== "open";
  }

  /** Its value, or its error thrown, once it is done. */
  result() {
    const cell = this.#cell;
    this.#run.see(cell);
    if (cell.state === "open") throw new TypeError(`task #${cell.id} is not done: await it first`);
    return this.#run.valueOf(cell);
  }

  then(done, failed) {
    const cell = this.#cell;
    return this.#run.wait("settled", [cell], () => this.#run.valueOf(cell)).then(done, failed);
  }

  catch(failed) {
    return this.then(undefined, failed);
  }

  finally(after) {
    return this.then(undefined, undefined).finally(after);
  }
}

/** A wait for an update: its value is the request. */
export class UpdateHandle extends Handle {
  #answer;

  constructor(run, cell, answer) {
    super(run, cell);
    this.#answer = answer;
  }

  answer(value) {
    this.#answer({ value });
  }

  reject(error) {
    this.#answer({ error: String(error?.message ?? error) });
  }
}

/** The value of a cell that is done, decoded. */
export function decoded(cell, raw) {
  return cell.kind === "TimerCreated" ? undefined : valueOfText(cell.text, raw);
}
