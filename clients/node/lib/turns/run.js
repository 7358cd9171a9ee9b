// SPDX-License-Identifier: MIT
// One execution of one orchestration in this process: its code, and how far it has come.
//
// The walk of a turn: feed() gives the code what is recorded, message() what is new; each acts, wakes the
// waits it satisfies, and the code runs until it is quiet.  What the code calls meets the next recorded
// decision while replaying (compare.js), and is put into `step` when live.
//
// Invariants: a message is applied only when the code is quiet, one at a time.  `seq` is the number of the
// last event, recorded or decided.  Once `broken` is set the code decides nothing more: every call throws,
// and the answer is the finding, whatever the function does with that error.  `active` is true only between
// a message and quiet: a call at any other time was reached by something foreign.
//
// Called by runner.js (drives), context.js and task.js (the author's calls).
import { Cancelled, Foreign, errorText, isBug } from "../errors.js";
import { checkPayload, checkVersion } from "./checks.js";
import { describeCall, difference, findings } from "./compare.js";
import { seedOf } from "./draws.js";
import { FAMILIES, belongsToEnd, classOf, describe, scheduleOf, wordOf } from "./kinds.js";
import { place, whenQuiet } from "./place.js";
import { capture, siteOf } from "./sites.js";
import { State } from "./state.js";
import { Cell, decoded, failureOf } from "./task.js";
import { cut, textOfValue, valueOfText } from "./values.js";

const LEFT = "orchestration continued as new";
const ENDS = { cancelled: "OrchestrationCancelled", continue: "OrchestrationContinuedAsNew", failed: "OrchestrationFailed", completed: "OrchestrationCompleted" };

/** What a call throws once the run is broken. */
class Stop extends Error {}

const dataOf = (event) => event.data ?? (event.data64 === undefined ? "" : Buffer.from(event.data64, "base64").toString());

export class Run {
  constructor(code, turn, { limits = {}, errors, say = () => {}, contextOf }) {
    Object.assign(this, { code, limits, errors, say, raw: code.raw });
    this.id = turn.run;
    this.instance = turn.instance;
    this.execution = turn.execution;
    this.name = turn.orchestration;
    this.version = turn.version;
    this.scheduledAt = 0;
    this.seq = 0; // of the last event
    this.messageSeq = 0; // of the last message
    this.now = 0;
    this.seed = 0n;
    this.draws = 0; // since the last message
    this.ends = 0; // of cells, counted
    this.cells = [];
    this.waits = new Set(); // in the order they began
    this.unseen = new Set(); // cells, oldest first
    this.state = new State();
    this.patches = new Map();
    this.inline = new Map(); // ref → function
    this.events = []; // being replayed
    this.cursor = 0;
    this.live = false;
    this.active = false;
    this.step = null; // decisions of the message at hand
    this.cancelled = false;
    this.reason = "";
    this.continuing = null;
    this.out = undefined; // {value} or {error}: the function has returned
    this.ended = null; // the kind of the end
    this.broken = null; // {mismatch} or {bug}
    this.last = null; // where the code called last
    this.context = contextOf(this);
  }

  // ---- Driving -----------------------------------------------------------------------------

  /** Recorded events, in order, beginning behind `seq`. */
  async feed(events) {
    this.events = events;
    this.cursor = 0;
    this.live = false;
    for (const e of events) {
      if (e.kind === "PatchRecorded") this.patches.set(e.name, true);
      if (classOf(e.kind) === undefined) return this.fault(new Error(`cannot: event kind ${e.kind} needs a newer SDK`), "");
    }
    for (let e; !this.broken && !this.ended && (e = this.peek()); ) {
      const kind = classOf(e.kind);
      if (kind === "decision" || kind === "end") {
        if (this.endsByForce()) this.meetForce();
        else this.mismatch("await", e, findings.await(e, this.describeWaits()), "await", siteOf(this.last));
        break;
      }
      this.meet();
      if (kind === "start") this.recallState();
      const wait = this.apply(e, e.seq);
      if (wait) await wait;
    }
    this.events = [];
    this.cursor = 0;
  }

  /** A new message and the code's decisions on it; null when it concerns nothing that is open. */
  async message(m, carried = []) {
    if (classOf(m.kind) === undefined) return this.fault(new Error(`cannot: event kind ${m.kind} needs a newer SDK`), "");
    const cell = scheduleOf(m.kind) && this.cells[m.ref - 1];
    if (cell && cell.state !== "open") return null;
    this.live = true;
    this.step = [];
    const seq = ++this.seq;
    for (const item of carried) {
      this.state.set(item.name, item.data ?? "");
      this.seq++;
    }
    const wait = this.apply(m, seq);
    if (wait) await wait;
    return { seq, decisions: this.step };
  }

  /** Let it act; a promise when code was woken, resolved when that is quiet again. */
  apply(e, seq) {
    this.messageSeq = seq;
    this.now = e.at;
    this.draws = 0;
    this.active = true;
    if (this.act(e)) return new Promise((quiet) => whenQuiet(() => quiet(this.quieten())));
    this.quieten();
    return undefined;
  }

  /** True: code was woken. */
  act(e) {
    switch (e.kind) {
      case "OrchestrationStarted":
        return this.begin(e);
      case "OrchestrationCancelRequested":
        return this.interrupt(dataOf(e));
      case "OrchestrationSuspended":
      case "OrchestrationResumed":
        return false;
      default:
        return this.complete(e);
    }
  }

  begin(e) {
    const attrs = e.attrs ?? {};
    this.seed = seedOf(attrs.seed);
    this.version = attrs.version ?? this.version;
    this.name = e.name ?? this.name;
    this.scheduledAt = attrs.scheduled_at ?? 0;
    const input = valueOfText(dataOf(e), this.raw);
    place.run({ run: this, shielded: false }, async () => this.code.run(this.context, input)).then(
      (value) => { this.out = { value }; },
      (error) => { this.out = { error }; });
    return true;
  }

  interrupt(reason) {
    if (this.cancelled) return false;
    this.cancelled = true;
    this.reason = reason;
    const ended = [...this.waits].filter((w) => !w.shielded);
    for (const w of ended) {
      this.drop(w);
      w.reject(new Cancelled(reason));
    }
    return ended.length > 0;
  }

  complete(e) {
    const cell = this.cells[e.ref - 1];
    if (!cell || cell.kind !== scheduleOf(e.kind)) {
      this.mismatch("completion", e, findings.completion(e, cell), "", "");
      return false;
    }
    if (cell.state !== "open") {
      this.mismatch("completion", e, `nondeterministic: event ${e.seq ?? this.seq} completes task ${e.ref}, which is closed already`, "", "");
      return false;
    }
    cell.attrs = e.attrs;
    if (cell.family.mail) {
      cell.unseen = true;
      this.unseen.add(cell);
      cell.owed = cell.kind === "UpdateWaited";
    }
    return this.close(cell, e.kind === cell.family.failed ? "failed" : "done", dataOf(e));
  }

  quieten() {
    this.active = false;
    if (this.broken || this.ended) return;
    if (this.out) this.finish();
    else if (this.waits.size === 0)
      this.fault(new Foreign("the code awaits something that is not Pawl's: await only what ctx gave you, and do the rest in activities or ctx.step()"),
        this.last ? `after ${siteOf(this.last)}` : "");
  }

  // ---- Waiting -----------------------------------------------------------------------------

  /** `finish` gives the value of the wait once it is over. */
  wait(mode, cells, finish) {
    this.check();
    if (mode === "any" && cells.length === 0) throw this.foreign("waits for the first of nothing: it would wait for ever");
    const w = { mode, cells, finish, pending: 0, hit: null, shielded: place.getStore()?.shielded === true };
    const open = new Set();
    for (const cell of cells) {
      if (cell.state === "open") open.add(cell);
      else if (isHit(mode, cell) && (!w.hit || cell.order < w.hit.order)) w.hit = cell;
    }
    w.pending = open.size;
    return new Promise((resolve, reject) => {
      w.resolve = resolve;
      w.reject = reject;
      if (isOver(w)) return this.settle(w);
      if (this.cancelled && !w.shielded) return reject(new Cancelled(this.reason));
      for (const cell of open) (cell.waits ??= new Set()).add(w);
      this.waits.add(w);
      return undefined;
    });
  }

  /** The wait returns: whatever it says has ended is seen now (S16). */
  settle(w) {
    if (this.unseen.size) {
      if (w.mode === "any") this.see(w.hit);
      else if (w.mode === "settled" || !w.hit) w.cells.forEach((cell) => this.see(cell));
    }
    try {
      w.resolve(w.finish(w));
    } catch (error) {
      w.reject(error);
    }
  }

  see(cell) {
    if (!cell.unseen) return;
    cell.unseen = false;
    this.unseen.delete(cell);
  }

  drop(w) {
    this.waits.delete(w);
    for (const cell of w.cells) cell.waits?.delete(w);
  }

  /** True: code was woken. */
  close(cell, state, text) {
    cell.state = state;
    cell.text = text;
    cell.order = ++this.ends;
    const waits = cell.waits;
    cell.waits = null;
    let woke = false;
    for (const w of waits ?? []) {
      w.pending--;
      if (isHit(w.mode, cell)) w.hit = cell;
      if (!isOver(w)) continue;
      this.drop(w);
      this.settle(w);
      woke = true;
    }
    return woke;
  }

  valueOf(cell) {
    if (cell.state === "done") return decoded(cell, this.raw);
    throw failureOf(cell, this.errors);
  }

  /** What the server must tell the code: the canonical `wait` of an answer. */
  waiting() {
    const refs = new Set();
    for (const w of this.waits) for (const cell of w.cells) if (cell.state === "open") refs.add(cell.id);
    const [first] = this.waits, one = this.waits.size === 1 && refs.size > 1;
    return { for: one ? first.mode : "any", refs: [...refs].sort((a, b) => a - b) };
  }

  describeWaits() {
    const [w] = this.waits;
    if (!w) return "has nothing to wait for";
    if (w.cells.length === 1) return `waits for ${wordOf(w.cells[0].kind)} #${w.cells[0].id}`;
    return `waits for ${w.mode === "any" ? "the first" : "all"} of ${w.cells.length} tasks`;
  }

  // ---- Deciding ----------------------------------------------------------------------------

  /** May the code call now? */
  check() {
    if (this.broken) throw new Stop("this run was stopped");
    if (!this.active) throw this.foreign("called outside its turn: the code awaited something that is not Pawl's");
  }

  /** The recorded event that the call meets; null when live. */
  decide(call, wire) {
    this.check();
    if (this.live) {
      this.step.push(wire);
      this.seq += wire.refused !== undefined && FAMILIES[call.kind]?.refusal ? 2 : 1;
      return null;
    }
    const e = this.peek();
    if (!e || classOf(e.kind) !== "decision") this.stop("frontier", e, findings.frontier(e, call, this.seq), call);
    const why = difference(e, call);
    if (why) this.stop("schedule", e, findings.schedule(e, call, why), call);
    this.meet();
    return e;
  }

  /** What only the server knows of a call (its id is taken): by the number of its event, or by a world. */
  refuses(wire) {
    return this.live ? this.refusals?.get(this.seq + 1) ?? this.judge?.(this, wire) : undefined;
  }

  /** A decision that opens a task: its cell. */
  start(call, wire, refused) {
    const id = this.cells.length + 1, family = FAMILIES[call.kind];
    call.ref = wire.ref = id;
    refused ??= this.refuses(wire);
    if (refused !== undefined && this.live) wire = refusedWire(wire, refused);
    const e = this.decide(call, wire);
    this.last = capture();
    const cell = new Cell(id, call.kind, call.name);
    this.cells.push(cell);
    const why = this.live ? refused : e.attrs?.refused;
    if (why !== undefined) {
      if (e && family.refusal && this.peek()) this.meet(); // the event that closes it
      cell.refused = true;
      this.close(cell, "failed", why);
    } else if (!family.cancel) this.close(cell, "done", "");
    return cell;
  }

  /** A decision without a task; the text of its refusal, or undefined. */
  plain(call, wire, refused) {
    refused ??= this.refuses(wire);
    if (refused !== undefined && this.live) wire = refusedWire(wire, refused);
    const e = this.decide(call, wire);
    this.last = capture();
    return e ? e.attrs?.refused : refused;
  }

  cancel(cell, reason, api) {
    this.check();
    if (cell.state === "open") {
      this.decide({ kind: cell.family.cancel, ref: cell.id, api }, { do: "cancel", ref: cell.id, reason });
      this.close(cell, "cancelled", "cancelled");
    } else if (cell.unseen) this.giveBack(cell, reason, api);
  }

  /** The event that a wait took and no code was told of goes back to the mailbox (S16, S63). */
  giveBack(cell, reason, api) {
    this.see(cell);
    const call = { kind: cell.family.cancel, ref: cell.id, api };
    if (!this.live && cell.kind === "ExternalSubscribed") {
      const e = this.peek(); // histories from before events came back do not say it, and are believed
      if (!e || e.kind !== call.kind || e.ref !== cell.id) return;
    }
    this.decide(call, { do: "cancel", ref: cell.id, reason });
    cell.owed = false;
    cell.state = "cancelled";
    cell.text = "cancelled";
  }

  patched(name) {
    this.check();
    if (this.patches.has(name)) {
      const e = this.events[this.cursor];
      if (e?.kind === "PatchRecorded" && e.name === name) this.meet();
      return this.patches.get(name);
    }
    this.patches.set(name, this.live);
    if (this.live) {
      this.step.push({ do: "patch", name });
      this.seq++;
    }
    return this.live;
  }

  // ---- Ending ------------------------------------------------------------------------------

  /** What the return of the code means: the `end` of the step, strongest reason first. */
  verdict() {
    if (this.cancelled) return { end: "cancelled" };
    if (this.continuing) {
      const { input, version } = this.continuing;
      return { end: "continue", input, ...(version === undefined ? {} : { version }) };
    }
    if (!("error" in this.out)) return { end: "completed", output: textOfValue(this.out.value, this.raw) };
    return { end: "failed", error: errorText(this.out.error) };
  }

  finish() {
    if (!this.continuing && isBug(this.out.error) && this.code.bugs !== "fail")
      return this.fault(this.out.error, siteOf(this.out.error));
    this.active = true; // withdrawals are decisions
    try {
      const end = this.verdict();
      const data = this.cancelled ? this.reason : end.input ?? end.error ?? end.output;
      if (this.live) this.endLive(end, data);
      else this.endRecorded(end, data);
      this.ended = ENDS[end.end];
    } catch (trouble) {
      if (!this.broken) this.fault(trouble, siteOf(trouble));
    } finally {
      this.active = false;
    }
    return undefined;
  }

  endLive(end, data) {
    if (end.end === "continue") for (const cell of this.unseen) this.giveBack(cell, LEFT, "return");
    const what = { continue: "input of continue as new", failed: "error text", completed: "output" }[end.end];
    const version = end.version === undefined ? undefined : checkVersion(end.version);
    const refused = version ? `continue as new: ${version}` : what && checkPayload(what, data, this.limits.payload_bytes);
    this.step.push(refused ? { end: end.end, refused: cut(refused, 399) } : end);
    this.seq++;
  }

  endRecorded(end, data) {
    const call = { kind: ENDS[end.end], api: "return" };
    this.leftover();
    if (end.end === "continue") for (const cell of this.unseen) this.giveBack(cell, LEFT, "return");
    for (const cell of this.cells)
      if (cell.owed) this.decide({ kind: "UpdateAnswered", ref: cell.id, name: cell.name, data: "", rejected: true, left: true, api: "return" }, {});
    for (const cell of this.cells)
      if (cell.state === "open" && !cell.abandon) this.decide({ kind: cell.family.cancel, ref: cell.id, api: "return" }, {});
    const e = this.leftover();
    if ((e.kind !== call.kind || dataOf(e) !== data) && e.attrs?.refused === undefined)
      this.stop("ending", e, findings.ending(e, call.kind, data), call);
    this.meet();
  }

  /** The code has returned: only withdrawals and the end may follow. */
  leftover() {
    const e = this.peek(), call = { kind: "", api: "return" };
    if (!e) this.stop("returned", null, findings.returned(this.seq), call);
    if (!belongsToEnd(e.kind) && classOf(e.kind) !== "end") this.stop("leftover", e, findings.leftover(e), call);
    return e;
  }

  /** Are only withdrawals and a forced end left? */
  endsByForce() {
    const rest = this.events.slice(this.cursor).filter((e) => classOf(e.kind) !== "mark"), last = rest.at(-1);
    return classOf(last.kind) === "end" && last.attrs?.forced === true && rest.slice(0, -1).every((e) => belongsToEnd(e.kind));
  }

  meetForce() {
    this.ended = this.events.at(-1).kind;
    this.seq = this.events.at(-1).seq;
  }

  // ---- The record --------------------------------------------------------------------------

  /** The next event that is no mark; null at the end of what is recorded. */
  peek() {
    for (; this.cursor < this.events.length; this.meet())
      if (classOf(this.events[this.cursor].kind) !== "mark") return this.events[this.cursor];
    return null;
  }

  meet() {
    this.seq = this.events[this.cursor++].seq;
  }

  /** The code begins with what the execution before had published (S60). */
  recallState() {
    for (; this.events[this.cursor]?.kind === "StateCarried"; this.meet())
      this.state.set(this.events[this.cursor].name, dataOf(this.events[this.cursor]));
  }

  mismatch(code, e, text, attempted, site) {
    this.broken ??= {
      mismatch: { code, seq: e?.seq ?? 0, text: cut(text, 399), recorded: e ? describe(e) : "", attempted, ...(site ? { site } : {}) },
    };
  }

  stop(code, e, text, call) {
    this.mismatch(code, e, text, describeCall(call), siteOf(capture(20)) || siteOf(this.last));
    throw new Stop("the code does not fit its history");
  }

  /** The code is wrong: nothing is recorded, and the instance is blocked until the code is repaired. */
  fault(error, site) {
    const text = error?.name && error.name !== "Error" ? `${error.name}: ${error.message}` : String(error?.message ?? error);
    const trace = typeof error?.stack === "string" ? { trace: cut(error.stack, 8192) } : {};
    this.broken ??= { bug: { error: cut(text, 399), ...(site ? { site } : {}), ...trace } };
    return null;
  }

  foreign(text) {
    const error = new Foreign(text);
    this.fault(error, siteOf(error));
    return error;
  }
}

function isHit(mode, cell) {
  return mode === "any" || (mode === "all" && cell.state !== "done");
}

function isOver(w) {
  return w.hit !== null || w.pending === 0;
}

/** As it is sent when it is refused: without what broke the limit. */
function refusedWire({ do: verb, ref, name, text }, refused) {
  return {
    do: verb, ...(ref === undefined ? {} : { ref }), ...(name === undefined ? {} : { name }),
    ...(text === undefined ? {} : { text: "" }), refused: cut(refused, 399),
  };
}
