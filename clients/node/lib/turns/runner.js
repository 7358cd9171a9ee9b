// SPDX-License-Identifier: MIT
// Runs of this process by their ids, and how a turn becomes an answer.  No network: session.js has that,
// and the tests give turns by hand.
//
// A kept run is a confirmed prefix of its history: whoever sends an answer must drop() the run unless the
// server said `ok`.  Runs are kept in order of use, at most `most`; those that go are named in `forgotten`
// until somebody tells the server.
import { Context } from "./context.js";
import { Run } from "./run.js";

const MOST_RUNS = 1000;

export class Runner {
  constructor({ say = () => {}, most = MOST_RUNS, errors } = {}) {
    this.codes = new Map();
    this.runs = new Map();
    this.forgotten = [];
    this.limits = {};
    Object.assign(this, { say, most, errors });
  }

  add(code) {
    const key = `${code.name}@${code.version}`;
    if (this.codes.has(key)) throw new TypeError(`orchestration '${code.name}' ${code.version} is registered twice`);
    this.codes.set(key, code);
  }

  /** As a session tells it. */
  list() {
    return [...this.codes.values()].map(({ name, version }) => ({ name, version }));
  }

  drop(id) {
    return this.runs.delete(id);
  }

  clear() {
    this.runs.clear();
    this.forgotten.length = 0;
  }

  make(turn) {
    const code = this.codes.get(`${turn.orchestration}@${turn.version}`);
    if (!code) throw new Error(`this worker does not have ${turn.orchestration} ${turn.version}`);
    return new Run(code, turn, { limits: this.limits, say: this.say, errors: this.errors, contextOf: (run) => new Context(run) });
  }

  /** The kept run that the turn goes on with, or a new one; `whole` reads a history from its beginning. */
  async #runOf(turn, whole) {
    let run = this.runs.get(turn.run), events = turn.events;
    if (run && !(turn.after <= run.seq && run.seq <= turn.seq)) {
      this.drop(turn.run);
      run = undefined;
    }
    if (turn.more || (!run && turn.after > 0)) events = await whole(turn);
    run ??= this.make(turn);
    run.limits = this.limits;
    return { run, events: run.seq === 0 ? events : events.filter((e) => e.seq > run.seq) };
  }

  #keep(run) {
    this.runs.delete(run.id);
    this.runs.set(run.id, run);
    for (const [id, old] of this.runs) {
      if (this.runs.size <= this.most) break;
      if (old.busy) continue; // it has a turn or a step in hand
      this.runs.delete(id);
      this.forgotten.push(id);
    }
  }

  /** Drive the code through a turn: {run, answer}.  `refusals`: calls of an earlier answer to this turn that
   *  the server refused, by the number of their event. */
  async drive(turn, whole, refusals) {
    const { run, events } = await this.#runOf(turn, whole);
    Object.assign(run, { refusals, judge: this.judge });
    await run.feed(events);
    const steps = [];
    for (let i = 0; i < turn.messages.length && !run.broken && !run.ended; i++) {
      const step = await run.message(turn.messages[i], i === 0 ? turn.carried : undefined);
      if (step && !run.broken) steps.push({ m: i + 1, seq: step.seq, decisions: step.decisions });
    }
    run.refusals = undefined; // they are of this turn
    return { run, answer: this.#answer(run, turn.token, steps) };
  }

  /** Let the code go on with results of its inline steps: [{lease, ref, data}], at the time `at`. */
  async results(run, results, at) {
    const steps = [];
    for (const { lease, ref, data } of results) {
      if (run.broken || run.ended) break;
      const time = Math.max(run.now, at);
      const step = await run.message({ kind: "ActivityCompleted", ref, data, at: time });
      if (step && !run.broken) steps.push({ result: { lease, data, at: time }, seq: step.seq, decisions: step.decisions });
      run.inline.delete(ref);
    }
    return this.#answer(run, run.token, steps);
  }

  #answer(run, token, steps) {
    if (run.broken) {
      this.drop(run.id);
      return { token, ...run.broken };
    }
    if (run.ended) {
      this.drop(run.id);
      return { token, steps };
    }
    this.#keep(run);
    return { token, steps, wait: run.waiting() };
  }
}
