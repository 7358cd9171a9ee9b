// SPDX-License-Identifier: MIT
// One life of one worker process at the server: POST /api/v1/turns (docs/protocol/turns.md).
//
// The walk of a turn: a poll brings it → the runner drives the code → its answer waits in `out` → a call
// takes all answers that wait, up to 100 → the server's word on each answer → leases of inline steps, whose
// results become answers again.  While a poll waits, answers go by calls of their own: at most CALLS at a
// time, so that under load many answers share one call and one commit.
//
// Invariants: a run has at most one answer on its way (#locked), so what arrives for it waits for the
// server's word on the answer before.  A run whose answer was not `ok` is dropped, and its results are
// handed in by its leases: the next turn brings what was recorded.  When `boot` changes, all runs go.
//
// Called by worker.js.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { PawlError } from "../errors.js";
import { Task } from "../leases.js";
import { path } from "../wire.js";
import { textOfValue, valueOfText } from "./values.js";

const CALLS = 2; // with answers, at a time
const BATCH = 100; // answers of one call
const WAIT_MS = 20000;
const TURNS = 100; // of one call

export class Session {
  #client;
  #runner;
  #leases;
  #say;
  #worker;
  #places;
  #session = randomBytes(18).toString("base64url");
  #told = false; // does the server know what we can run?
  #boot;
  #clock = { now: 0, at: 0 }; // of the server, and ours at that moment
  #turnMs = 10000;
  #out = []; // answers that wait: {answer, done}
  #soon = false;
  #calls = 0;
  #hand = new Map(); // tokens of turns that are not answered, and since when
  #steps = 0; // inline steps that run
  #locks = new Map();
  #free = null; // called when a place is free
  #toldAway = false;

  constructor(client, runner, leases, { worker, places, say }) {
    this.#client = client;
    this.#runner = runner;
    this.#leases = leases;
    this.#worker = worker;
    this.#places = places;
    this.#say = say;
  }

  // ---- Calls -------------------------------------------------------------------------------

  /** Ask for turns until the signal; then finish what is in hand and say good-bye. */
  async run(signal) {
    const beats = setInterval(() => this.#beat(), this.#turnMs / 3);
    const poll = new AbortController();
    const leave = () => void this.#leave(poll);
    signal.addEventListener("abort", leave, { once: true });
    try {
      await this.#poll({ max: 0 }, signal, poll.signal); // what we can run is known at once
      while (!signal.aborted) {
        const room = this.#places - this.#hand.size - this.#steps;
        if (room <= 0) await new Promise((free) => { this.#free = free; });
        else await this.#poll({ max: Math.min(room, TURNS), wait_ms: WAIT_MS }, signal, poll.signal);
      }
    } finally {
      await this.#settled();
      clearInterval(beats);
      signal.removeEventListener("abort", leave);
    }
  }

  async #poll(body, stop, signal) {
    try {
      await this.#exchange(body, { signal, repeat: true });
      this.#toldAway = false;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof PawlError && !error.passes) throw error;
      if (!this.#toldAway) this.#say(`${this.#client.wire.url.origin} does not answer (${error.message}); trying again`);
      this.#toldAway = true; // once, until it has answered again
      await sleep(500, undefined, { signal: stop }).catch(() => {});
    }
  }

  async #leave(poll) {
    await this.#exchange({ leaving: true, max: 0 }).catch(() => {}); // the leases end by themselves
    setTimeout(() => poll.abort(), 1000).unref(); // the server answers the poll that waits, or never will
  }

  /** Everything in hand is answered, and everything that waits is sent. */
  async #settled() {
    while (this.#hand.size || this.#out.length || this.#calls || this.#steps) await sleep(20);
  }

  /** One call; throws when nobody knows what became of it. */
  async #exchange(body, options = {}) {
    const forget = this.#runner.forgotten.splice(0, 1000);
    const request = { protocol: 1, session: this.#session, worker: this.#worker, ...(forget.length ? { forget } : {}), ...body };
    for (let tries = 0; ; tries++) {
      if (!this.#told) Object.assign(request, { code: this.#runner.list(), lease_ms: this.#leases.lock_ms });
      try {
        const answer = await this.#client.request("POST", "/api/v1/turns", { body: request, timeoutMs: WAIT_MS + 15000, ...options });
        if (!this.#told && this.#boot === undefined) this.#sayServes();
        this.#told = true;
        this.#heard(answer);
        return answer;
      } catch (error) {
        const unknown = error instanceof PawlError && error.code === "unknown_session";
        const busy = error instanceof PawlError && (error.status === 429 || error.status === 503);
        if (unknown) this.#told = false; // nothing was done: the same again, with what we can run
        if (tries >= 5 || (!unknown && !busy)) throw error;
        if (busy) await sleep(200 * (tries + 1));
      }
    }
  }

  #sayServes() {
    const names = this.#runner.list().map(({ name, version }) => `${name} ${version}`);
    this.#say(`serves ${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""} for ${this.#client.wire.url.origin}`);
  }

  #heard(answer) {
    if (this.#boot !== undefined && this.#boot !== answer.boot) this.#runner.clear(); // perhaps another history
    this.#boot = answer.boot;
    this.#clock = { now: answer.now, at: performance.now() };
    this.#runner.limits = answer.limits ?? {};
    this.#turnMs = answer.limits?.turn_ms ?? this.#turnMs;
    for (const code of answer.code ?? [])
      if (code.status === "taken") this.#say(`${code.name} ${code.version} runs inside the server: this worker gets none of it`);
    queueMicrotask(() => (answer.turns ?? []).forEach((turn) => this.#take(turn))); // behind `answered`
  }

  /** Turns that take longer than a third of their lease. */
  #beat() {
    const old = performance.now() - this.#turnMs / 3;
    const beats = [...this.#hand].filter(([, since]) => since < old).map(([token]) => token).slice(0, 100);
    if (beats.length) this.#exchange({ beats, max: 0 }).catch(() => {});
  }

  // ---- Answers -----------------------------------------------------------------------------

  /** The server's word on an answer: {status, …}. */
  #answer(answer) {
    return new Promise((done) => {
      this.#out.push({ answer, done });
      this.#flushSoon();
    });
  }

  #flushSoon() {
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      while (this.#out.length && this.#calls < CALLS) void this.#send(this.#out.splice(0, BATCH));
    });
  }

  async #send(batch) {
    this.#calls++;
    try {
      const room = Math.max(0, Math.min(TURNS, this.#places - this.#hand.size - this.#steps + batch.length));
      const { answered } = await this.#exchange({ answers: batch.map((b) => b.answer), max: room });
      const by = new Map(answered.map((a) => [a.token, a]));
      for (const { answer, done } of batch) done(by.get(answer.token) ?? { status: "unknown" });
    } catch (error) {
      this.#notSent(batch, error);
    } finally {
      this.#calls--;
      if (this.#out.length) this.#flushSoon();
    }
  }

  /** The request as such was refused, or nobody knows what became of it. */
  #notSent(batch, error) {
    const refused = error instanceof PawlError && !error.passes && error.status !== 401 && error.status !== 403;
    if (refused && batch.length > 1) {
      for (const one of batch) void this.#send([one]); // one of them spoils it for all
      return;
    }
    if (refused) return batch[0].done({ status: "refused", code: error.code, message: error.message });
    for (const { done } of batch) done({ status: "unknown", message: error.message });
  }

  // ---- Turns -------------------------------------------------------------------------------

  /** One thing at a time for each run. */
  async #locked(id, work) {
    const before = this.#locks.get(id);
    const mine = (async () => {
      if (before) await before;
      await work();
    })();
    const quiet = mine.catch((error) => this.#say(`run ${id}: ${error.stack ?? error}`));
    this.#locks.set(id, quiet);
    await quiet;
    if (this.#locks.get(id) === quiet) this.#locks.delete(id);
  }

  async #take(turn) {
    this.#hand.set(turn.token, performance.now());
    try {
      await this.#locked(turn.run, () => this.#drive(turn));
    } finally {
      this.#hand.delete(turn.token);
      this.#release();
    }
  }

  #release() {
    this.#free?.();
    this.#free = null;
  }

  async #drive(turn, refusals = new Map()) {
    let driven;
    try {
      driven = await this.#runner.drive(turn, (t) => this.#history(t, 0), refusals);
    } catch (error) {
      this.#say(`a turn of '${turn.instance}' is given back: ${error.message}`);
      this.#runner.drop(turn.run);
      await this.#answer({ token: turn.token, release: true });
      return;
    }
    const { run, answer } = driven;
    const said = await this.#conclude(run, answer, []); // without messages too: then nothing is recorded, and no turn is held
    if (said.status === "refused" && said.code === "call") // the code is told, and the token is still good
      return this.#drive({ ...turn, leases: [] }, refusals.set(said.seq, said.message));
    if (!run.lost) this.#begin(run, turn.leases);
  }

  /** The whole history up to the turn's seq: pages behind `after`. */
  async #history(turn, after) {
    const events = [];
    for (;;) {
      const page = await this.#client.request("GET", path`/api/v1/turns/${turn.token}/history`, { query: { after } });
      events.push(...page.events);
      if (!page.next && !page.more) return events;
      after = page.next ?? events.at(-1).seq;
    }
  }

  /** Send an answer and act on the server's word. */
  async #conclude(run, answer, results) {
    const said = await this.#answer(answer);
    if (said.status === "ok") {
      run.token = said.next;
      this.#begin(run, said.leases);
      return said;
    }
    if (this.#runner.drop(run.id)) this.#runner.forgotten.push(run.id);
    run.lost = true;
    if (said.status === "blocked") this.#sayBlocked(run, answer);
    const ofResult = ["at", "lease", "call"].includes(said.code); // a call: told when its turn comes, or now by #drive
    if (said.status === "refused" && !ofResult && !answer.bug) await this.#confess(run, answer.token, said);
    else for (const result of results) await this.#handIn(run, result);
    return said;
  }

  #sayBlocked(run, { mismatch, bug }) {
    const where = (mismatch ?? bug)?.site ? ` at ${(mismatch ?? bug).site}` : "";
    this.#say(`${run.name} '${run.instance}' is blocked${where}: ${mismatch?.text ?? bug?.error ?? "the server parked it"}`);
  }

  /** The server refused what we made of the code: ours to repair, and the instance must not hang. */
  async #confess(run, token, { code, message }) {
    const error = `the server refused the answer: ${code}: ${message}`;
    this.#say(`${run.name} '${run.instance}': ${error}`);
    await this.#answer({ token, bug: { error: error.slice(0, 390) } });
  }

  // ---- Inline steps ------------------------------------------------------------------------

  #begin(run, leases) {
    for (const lease of leases ?? []) {
      const cell = run.cells[lease.ref - 1];
      const task = new Task({
        token: lease.lease, instance: run.instance, execution: run.execution, id: lease.ref, activity: cell?.name ?? "step",
        input: cell && valueOfText(cell.data ?? ""), attempt: lease.attempt ?? 1, key: lease.key,
      });
      this.#steps++;
      run.busy = (run.busy ?? 0) + 1;
      void this.#leases.begin(task, () => this.#step(run, lease, task));
    }
  }

  async #step(run, lease, task) {
    try {
      const work = run.inline.get(lease.ref);
      const { verb, body, result } = work
        ? await this.#leases.attempt(task, () => work(task))
        : { verb: "fail", body: { error: `the code has no inline step #${lease.ref}`, retryable: false } };
      if (verb) return await this.#leases.handIn(task, verb, body);
      const done = { lease: lease.lease, ref: lease.ref, data: textOfValue(result, run.raw), task };
      (run.results ??= []).push(done);
      return await this.#locked(run.id, () => this.#deliver(run));
    } finally {
      this.#steps--;
      run.busy--;
      this.#release();
    }
  }

  /** All results that are there become steps of one answer. */
  async #deliver(run) {
    const results = (run.results ?? []).splice(0);
    if (results.length === 0) return; // another one of this run took them along
    if (run.lost || this.#runner.runs.get(run.id) !== run) {
      for (const result of results) await this.#handIn(run, result);
      return;
    }
    const open = results.filter((r) => run.cells[r.ref - 1].state === "open");
    if (open.length === 0) return; // cancelled meanwhile
    const at = Math.floor(this.#clock.now + (performance.now() - this.#clock.at));
    await this.#conclude(run, await this.#runner.results(run, open, at), open);
  }

  /** By its lease, as any work: the run is not ours any more. */
  async #handIn(run, { task, data }) {
    const value = valueOfText(data);
    if (data !== "" && JSON.stringify(value) === undefined) return;
    await this.#leases.handIn(task, "complete", data === "" ? {} : { result: value });
  }
}
