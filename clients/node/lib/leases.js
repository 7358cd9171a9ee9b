// SPDX-License-Identifier: MIT
// Work in hand: leases are renewed while it runs, and what it returns is handed in.
//
// Invariants: a task is in `tasks` from its lease until it is handed in, so its lease is renewed meanwhile.
// A result is offered until it is recorded, known to be lost, or the lease is over: no result is thrown
// away because the server was away for a moment.  A result that the server refuses becomes a failure that
// is not retried, with the server's words: another attempt would return the same.
// Called by worker.js (activities) and turns/session.js (inline steps).
import { setTimeout as sleep } from "node:timers/promises";
import { Final, Lost, PawlError, errorText, textOf } from "./errors.js";
import { encode, path } from "./wire.js";

/** What an activity knows about its call. */
export class Task {
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

export class Leases {
  tasks = new Map();

  constructor(client, lock_ms, say) {
    Object.assign(this, { client, lock_ms, say });
  }

  /** Renew what is held, three times a lease, until the returned function is called. */
  beatAlong() {
    const beats = setInterval(() => this.beat(), this.lock_ms / 3);
    return () => clearInterval(beats);
  }

  /** The lease was given or renewed before its answer came: it is over by then. */
  hold(task) {
    task.leaseEnd = performance.now() + this.lock_ms;
  }

  /** Hold the task while `work` goes on with it. */
  begin(task, work) {
    this.hold(task);
    task.begun = performance.now();
    this.tasks.set(task.token, task);
    task.done = work(task).finally(() => this.tasks.delete(task.token));
    return task.done;
  }

  all() {
    return Promise.all([...this.tasks.values()].map((t) => t.done));
  }

  /** Run it once: {result} or the verb and body of a failure. */
  async attempt(task, run) {
    let result;
    try {
      result = await run();
    } catch (error) {
      const final = error instanceof Final;
      return { verb: "fail", body: { error: final ? textOf(error) : errorText(error), retryable: !final } };
    }
    try {
      encode(result ?? null);
    } catch (error) {
      const text = `the result is no JSON (${textOf(error)})`; // it would be none the next time either
      this.say(`${task}: ${text}`);
      return { verb: "fail", body: { error: text, retryable: false } };
    }
    return { result };
  }

  async handIn(task, verb, body) {
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

  beat() {
    const young = performance.now() - this.lock_ms / 6; // for what began since, the next beat is early enough
    for (const task of this.tasks.values()) {
      if (task.begun > young) continue;
      this.client
        .request("POST", path`/api/v1/work/${task.token}/heartbeat`, {
          body: { lock_ms: this.lock_ms }, repeat: true, timeoutMs: Math.max(1000, this.lock_ms / 3),
        })
        .then((answer) => {
          this.hold(task);
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
