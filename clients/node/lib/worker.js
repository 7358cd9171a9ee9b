// SPDX-License-Identifier: MIT
// A worker: it serves activities (work/poll) and orchestrations (turns/session.js) until it is stopped.
//
// Invariants: at most `concurrency` activities run at a time.  After a stop nothing new is taken; what runs
// is finished and handed in, then run() returns.  index.d.ts is the manual.
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { PawlError } from "./errors.js";
import { Client } from "./client.js";
import { Leases, Task } from "./leases.js";
import { activity, isCode, orchestration } from "./turns/code.js";
import { installGuards } from "./turns/guards.js";
import { tryRuntime } from "./turns/place.js";
import { Runner } from "./turns/runner.js";
import { Session } from "./turns/session.js";

const LOOKER = Symbol.for("pawl.looker"); // set while check.js looks at a file: there is one in the process
const POLL_MS = 2000; // short enough that a stop does not wait for long

export class Worker {
  #functions = new Map();
  #runner;
  #stop = new AbortController();
  #toldAway = false;
  #guards;
  #turns;

  constructor(client = new Client(), { concurrency = 8, turns = 100, cache = 1000, lock_ms = 30000, tags = [], name, say = printed, guards = true, errors = [] } = {}) {
    Object.assign(this, { client, concurrency, lock_ms, tags, say });
    this.name = name ?? `${os.hostname()}:${process.pid}`;
    this.#guards = guards;
    this.#turns = turns;
    const classes = new Map(errors.map((Class) => [Class.name, Class]));
    this.#runner = new Runner({ say: (level, text) => this.say(`${level}: ${text}`), most: cache, errors: classes });
  }

  activity(name, run) {
    const code = isCode(name, "activity") ? name : activity(name, run);
    this.#functions.set(code.name, code.run);
    return this;
  }

  orchestration(name, options, run) {
    this.#runner.add(isCode(name, "orchestration") ? name : orchestration(name, options, run));
    return this;
  }

  stop() {
    this.#stop.abort();
  }

  async run({ signals = true, signal } = {}) {
    if (globalThis[LOOKER]) return this.#runner.codes.forEach((code) => globalThis[LOOKER](code)); // it serves nothing
    const orchestrates = this.#runner.codes.size > 0;
    if (this.#functions.size === 0 && !orchestrates)
      throw new Error("a worker needs an activity or an orchestration: call worker.activity(name, function) or worker.orchestration(…) first");
    if (orchestrates) await tryRuntime();
    if (orchestrates && this.#guards) installGuards();
    const stop = () => this.stop();
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.on(name, stop);
    const leases = new Leases(this.client, this.lock_ms, this.say), quieten = leases.beatAlong();
    try {
      await this.#serve(leases, orchestrates);
    } finally {
      await leases.all();
      quieten();
      signal?.removeEventListener("abort", stop);
      if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.removeListener(name, stop);
    }
  }

  /** Both kinds of work; when one of them fails for good, the other one stops too. */
  async #serve(leases, orchestrates) {
    const own = new Leases(this.client, this.lock_ms, this.say), quieten = own.beatAlong();
    const session = new Session(this.client, this.#runner, own, { worker: this.name, places: this.#turns, say: this.say });
    const parts = [];
    if (this.#functions.size) parts.push(this.#activities(leases));
    if (orchestrates) parts.push(session.run(this.#stop.signal));
    const ends = await Promise.allSettled(parts.map((part) => part.catch((error) => {
      this.stop();
      throw error;
    })));
    quieten();
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  async #activities(leases) {
    while (!this.#stop.signal.aborted) {
      if (leases.tasks.size >= this.concurrency) await Promise.race([...leases.tasks.values()].map((t) => t.done));
      else for (const item of await this.#poll(leases)) void leases.begin(new Task(item), (task) => this.#work(leases, task));
    }
  }

  async #poll(leases) {
    const body = {
      activities: [...this.#functions.keys()], tags: this.tags, worker: this.name,
      max: Math.min(this.concurrency - leases.tasks.size, 100), wait_ms: POLL_MS, lock_ms: this.lock_ms,
    };
    try {
      const { items } = await this.client.request("POST", "/api/v1/work/poll", { body });
      this.#toldAway = false;
      return items;
    } catch (error) {
      if (error instanceof PawlError && !error.passes) throw error;
      if (!this.#toldAway) this.say(`${this.client.wire.url.origin} does not answer (${error.message}); trying again`);
      this.#toldAway = true; // once, until it has answered again
      await sleep(500, undefined, { signal: this.#stop.signal }).catch(() => {});
      return [];
    }
  }

  async #work(leases, task) {
    const { verb, body, result } = await leases.attempt(task, () => this.#functions.get(task.activity)(task.input, task));
    await leases.handIn(task, verb ?? "complete", body ?? { result: result ?? null });
  }
}

/** One line on standard error, without control characters. */
function printed(text) {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
  process.stderr.write(`pawl: worker: ${clean}\n`);
}
