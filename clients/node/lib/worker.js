// SPDX-License-Identifier: MIT
// A worker: it polls for work, runs activities, renews their leases and hands in what they return.
//
// Invariants: a task is in `tasks` from its poll until it is handed in, so its lease is renewed
// meanwhile; there are at most `concurrency` of them.  A result is offered until it is recorded,
// known to be lost, or the lease is over: no result is thrown away because the server was away for
// a moment.  A result that the server refuses becomes a failure that is not retried, with the
// server's words: another attempt would return the same.
import os from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { Final, Lost, PawlError } from "./errors.js";
import { Client } from "./client.js";
import { encode, path } from "./wire.js";

const POLL_MS = 2000; // short enough that a stop does not wait for long

/** What an activity knows about its call. */
class Task {
  #abort = new AbortController();

  constructor(item) {
    for (const name of ["token", "instance", "execution", "id", "activity", "input", "attempt", "key"])
      this[name] = item[name];
    this.wanted = true; // as far as the server said
    this.leaseEnd = 0; // by performance.now(); never before the server's
  }

  get signal() {
    return this.#abort.signal;
  }

  get cancelled() {
    return this.#abort.signal.aborted;
  }

  cancel() {
    this.#abort.abort(new Error("nobody waits for the result any more"));
  }

  toString() {
    return `${this.activity} of instance '${this.instance}' (attempt ${this.attempt})`;
  }
}

export class Worker {
  #functions = new Map();
  #tasks = new Map();
  #stop = new AbortController();
  #toldAway = false;

  constructor(client = new Client(), { concurrency = 8, lock_ms = 30000, tags = [], name, say = printed } = {}) {
    Object.assign(this, { client, concurrency, lock_ms, tags, say });
    this.name = name ?? `${os.hostname()}:${process.pid}`;
  }

  activity(name, run) {
    if (typeof run !== "function") throw new TypeError(`activity '${name}' needs a function: worker.activity(name, async (input, task) => …)`);
    this.#functions.set(name, run);
    return this;
  }

  stop() {
    this.#stop.abort();
  }

  async run({ signals = true, signal } = {}) {
    if (this.#functions.size === 0) throw new Error("a worker needs an activity: call worker.activity(name, function) first");
    const stop = () => this.stop();
    if (signal?.aborted) stop();
    signal?.addEventListener("abort", stop, { once: true });
    if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.on(name, stop);
    const beats = setInterval(() => this.#beat(), this.lock_ms / 3);
    try {
      while (!this.#stop.signal.aborted) {
        if (this.#tasks.size >= this.concurrency) await Promise.race([...this.#tasks.values()].map((t) => t.done));
        else for (const item of await this.#poll()) this.#begin(new Task(item));
      }
    } finally {
      await Promise.all([...this.#tasks.values()].map((t) => t.done));
      clearInterval(beats);
      signal?.removeEventListener("abort", stop);
      if (signals) for (const name of ["SIGTERM", "SIGINT"]) process.removeListener(name, stop);
    }
  }

  async #poll() {
    const body = {
      activities: [...this.#functions.keys()], tags: this.tags, worker: this.name,
      max: Math.min(this.concurrency - this.#tasks.size, 100), wait_ms: POLL_MS, lock_ms: this.lock_ms,
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

  /** The lease was given or renewed before its answer came: it is over by then. */
  #hold(task) {
    task.leaseEnd = performance.now() + this.lock_ms;
  }

  #begin(task) {
    this.#hold(task);
    this.#tasks.set(task.token, task);
    task.done = this.#work(task).finally(() => this.#tasks.delete(task.token));
  }

  async #work(task) {
    const [verb, body] = await this.#attempt(task);
    await this.#handIn(task, verb, body);
  }

  /** Run it once; the verb and body to hand in. */
  async #attempt(task) {
    let result;
    try {
      result = await this.#functions.get(task.activity)(task.input, task);
    } catch (error) {
      if (error instanceof Final) return ["fail", { error: textOf(error), retryable: false }];
      const name = error?.name ? `${error.name}: ` : "";
      return ["fail", { error: `${name}${textOf(error)}`, retryable: true }];
    }
    try {
      encode(result ?? null);
    } catch (error) {
      const text = `the result is no JSON (${textOf(error)})`; // it would be none the next time either
      this.say(`${task}: ${text}`);
      return ["fail", { error: text, retryable: false }];
    }
    return ["complete", { result: result ?? null }];
  }

  async #handIn(task, verb, body) {
    let told = "";
    for (let pause = 100; ; pause = Math.min(pause * 2, 2000)) {
      let trouble = await this.#offer(task, verb, body);
      if (trouble instanceof PawlError && !trouble.passes) {
        // Were it the credentials, the failure is refused as well, and the result stays what it
        // was: they may be repaired before the lease ends.
        let text = `the server refused the ${verb === "complete" ? "result" : "error text"}: ${trouble.status} ${trouble.message}`;
        if (text !== told) this.say(`${task}: ${text}`);
        told = text;
        if (verb === "fail") text += `; it begins: ${JSON.stringify(String(body.error).slice(0, 200))}`;
        trouble = await this.#offer(task, "fail", { error: text, retryable: false });
      }
      if (!trouble) return;
      const left = task.leaseEnd - performance.now();
      if (left <= 0) {
        this.say(`${task}: not handed in before the lease was over (${trouble.message}); it will run again`);
        return;
      }
      await sleep(Math.min(pause, left));
    }
  }

  /** Hand in once; undefined when that settled it, for good or not. */
  async #offer(task, verb, body) {
    try {
      await this.client.request("POST", path`/api/v1/work/${task.token}/${verb}`, {
        body, repeat: true, timeoutMs: Math.max(5000, this.lock_ms),
      });
    } catch (error) {
      if (!(error instanceof Lost)) return error; // perhaps it was recorded: then the next one says so
      if (task.wanted) this.say(`${task}: ${error.message}`); // another worker does it, or nobody waits
    }
    return undefined;
  }

  #beat() {
    for (const task of this.#tasks.values()) {
      this.client
        .request("POST", path`/api/v1/work/${task.token}/heartbeat`, {
          body: { lock_ms: this.lock_ms }, repeat: true, timeoutMs: Math.max(1000, this.lock_ms / 3),
        })
        .then((answer) => {
          this.#hold(task);
          if (!answer.cancelled) return;
          task.wanted = false;
          task.cancel();
        })
        .catch((error) => {
          if (error instanceof Lost) task.cancel(); // any other: the next beat comes before the lease ends
        });
    }
  }
}

/** What an error says, whatever was thrown, as text that can be sent. */
function textOf(error) {
  try {
    return String(error?.message ?? error).toWellFormed?.() ?? Buffer.from(String(error?.message ?? error)).toString();
  } catch {
    return "(an error that cannot be printed)";
  }
}

/** One line on standard error, without control characters. */
function printed(text) {
  const clean = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
  process.stderr.write(`pawl: worker: ${clean}\n`);
}
