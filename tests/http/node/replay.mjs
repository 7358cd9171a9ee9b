// SPDX-License-Identifier: MIT
// tests/replay/*.replay, the engine's specification, through the Node.js client: the scripts' programs run as
// orchestrations (program.mjs), the record is that of pawl/testing (lib/testing/execution.js), and what the
// scripts say of events, findings, open tasks and mail must hold.  After every act the history is replayed by
// fresh code, and every prefix that ends before a message.  So both the client and its world for tests are
// held to what the C engine does.
//
//     node tests/http/node/replay.mjs [WORD]        REPLAY=DIRECTORY: other scripts (tests/replay/random)
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { Runner } from "../../../clients/node/lib/turns/runner.js";
import { orchestration } from "../../../clients/node/lib/turns/code.js";
import { FAMILIES, classOf, isCancel, scheduleOf } from "../../../clients/node/lib/turns/kinds.js";
import { Execution } from "../../../clients/node/lib/testing/execution.js";
import { walk } from "./program.mjs";

const HERE = process.env.REPLAY ?? path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "..", "..", "replay");

/** What a script needs that code outside the server does not have. */
const NOT_OURS = [
  [/^\s+(end-)?scope\b/m, "memory scopes of C"],
  [/^rules .*\bstrict\b/m, "--strict-await"],
  [/= none /, "forged handles"],
  [/update \S+ checked/, "checks run inside the server"],
  [/\\x(ff|c3")/, "names that are no text"],
  [/outcome (corrupt|limit|no-memory)/, "the server's checks"],
  [/^event .*exec=/m, "the server's checks"],
  [/^rules .*\bdrop-early\b/m, "--early-events"],
];

// ---- Scripts -----------------------------------------------------------------------------------

const ESCAPES = { n: "\n", t: "\t", "\\": "\\", '"': '"', 0: "\0" };

function quoted(text) {
  const bytes = Buffer.from(text.replace(/\\x([0-9a-fA-F]{2})/g, (_, hex) => String.fromCharCode(0xe000 + parseInt(hex, 16))));
  const raw = bytes.toString().replace(/\\(.)/g, (_, c) => ESCAPES[c] ?? c);
  if (!/[\ue000-\ue0ff]/.test(raw)) return raw;
  const parts = [...raw].map((c) => (c >= "\ue000" && c <= "\ue0ff" ? Buffer.from([c.charCodeAt(0) - 0xe000]) : Buffer.from(c)));
  return Buffer.concat(parts).toString();
}

/** One word up to white space; key="value" and ~"part" are one word too; c*N repeats. */
function wordsOf(line) {
  const words = [];
  for (const m of line.matchAll(/\s+|#(?=\s|$).*|((?:[^\s"]*[=~])?)"((?:\\.|[^"\\])*)"|([^\s"]+)/gs)) {
    if (m[2] !== undefined) words.push(m[1] + quoted(m[2]));
    else if (m[3] !== undefined) words.push(m[3].replace(/^(.)\*(\d+)$/s, (_, c, n) => c.repeat(Number(n))));
  }
  return words;
}

const EXPECTATIONS = new Set(["out", "out-fan", "fate", "outcome", "finding", "recorded", "attempted", "at-event", "open", "mail", "consumed", "returned", "discarded", "logged"]);

function read(file) {
  const programs = {}, acts = [];
  let lines = null;
  for (const line of fs.readFileSync(file, "utf8").split("\n")) {
    const words = wordsOf(line);
    if (words.length === 0) continue;
    if (words[0] === "program") lines = programs[words[1]] = [];
    else if (/^\s/.test(line) && lines) lines.push(words);
    else if (EXPECTATIONS.has(words[0])) acts.at(-1).expect.push(words);
    else {
      lines = null;
      acts.push({ words, expect: [] });
    }
  }
  return { programs, acts };
}

// ---- Events as words (tests/replay/event_text.c) -----------------------------------------------

const SHAPES = {
  OrchestrationStarted: "started %d", OrchestrationCompleted: "finished ok %d", OrchestrationFailed: "finished failed %d",
  OrchestrationContinuedAsNew: "finished continued %d", OrchestrationCancelled: "finished cancelled %d",
  OrchestrationTerminated: "finished terminated %d", OrchestrationCancelRequested: "cancel-requested %d",
  OrchestrationSuspended: "suspended %d", OrchestrationResumed: "resumed %d", ActivityScheduled: "%r activity %n %d",
  ActivityCompleted: "completed %r %d", ActivityFailed: "failed %r %d", TimerCreated: "%r timer %D", TimerFired: "fired %r",
  ExternalSubscribed: "%r wait %n", ExternalEvent: "event %r %n %d", UpdateWaited: "%r update %n", UpdateAccepted: "accepted %r %n %d",
  UpdateAnswered: "answered %r %n %d", SubOrchestrationScheduled: "%r child %n %d", SubOrchestrationCompleted: "child-completed %r %d",
  SubOrchestrationFailed: "child-failed %r %d", OrchestrationChained: "%r detached %n %d", EventSent: "%r raise %n %d",
  CustomStatusUpdated: "status %d", PatchRecorded: "patch %n", StateChanged: "state %n %d", AttributesSet: "attributes %d", StateCarried: "carried %n %d",
};

function textOf(e) {
  const form = isCancel(e.kind) ? "cancel %r %d" : SHAPES[e.kind];
  const parts = { "%r": `#${e.ref}`, "%n": e.name ?? "", "%d": e.data ?? "", "%D": String(e.attrs?.delay_ms ?? -1) };
  return form.split(" ").map((word) => parts[word] ?? word);
}

const OPTIONS = {
  seq: (e, v) => e.seq === Number(v), at: (e, v) => e.at === Number(v), fires: (e, v) => e.attrs?.fire_at_ms === Number(v),
  id: (e, v) => isCancel(e.kind) || (e.attrs?.instance ?? "") === v, version: (e, v) => (e.attrs?.version ?? "") === v,
  message: () => true, rid: () => true, attrs: (e, v) => { assert.deepEqual(e.attrs ?? {}, JSON.parse(v || "{}")); return true; },
};
const FLAGS = ["abandon", "cleared", "rejected", "left", "forced"];

function fits(e, words) {
  const text = textOf(e);
  let at = 0;
  for (const [i, word] of words.entries()) {
    const option = /^([a-z]+)=([^]*)$/.exec(word);
    if (i > 0 && option && OPTIONS[option[1]]) assert.ok(OPTIONS[option[1]](e, option[2]), `${word} of ${JSON.stringify(e)}`);
    else if (i > 0 && FLAGS.includes(word)) assert.ok(e.attrs?.[word], `${word} of ${JSON.stringify(e)}`);
    else if (i > 0 && word === "refused") assert.ok(e.attrs?.refused !== undefined || Object.values(FAMILIES).some((f) => f.refusal === e.kind));
    else if (word.startsWith("~") && word.length > 1) assert.ok((text[at++] ?? "").includes(word.slice(1)), `${word} in ${text.join(" ").slice(0, 300)}`);
    else assert.equal((text[at++] ?? "").slice(0, 599), word.slice(0, 599));
  }
  assert.ok(at === text.length || (at === text.length - 1 && (text[0] === "cancel" || text[at] === "")), `more than '${words.join(" ")}': ${text.join(" ")}`);
}

const CALLS = {
  pawl_await: "await", pawl_call_child: "ctx.child", pawl_start_child: "ctx.child", pawl_start_detached: "ctx.detach", pawl_start_with: "ctx.call", pawl_call: "ctx.call",
  pawl_start: "ctx.call", pawl_timer: "ctx.timer", pawl_sleep: "ctx.sleep", pawl_wait_event: "ctx.event", pawl_wait_event_with: "ctx.event",
  pawl_wait_event_ask: "ctx.ask", pawl_cancel: "ctx.cancel", pawl_race: "ctx.race", pawl_set_status: "ctx.status", pawl_raise: "ctx.raise",
  pawl_wait_update: "ctx.update", pawl_answer: "answer", pawl_reject: "reject", pawl_state_set: "ctx.state.set", pawl_state_clear: "ctx.state.clear",
};
const inOurWords = (text) => text.replace(/\bpawl_\w+/g, (name) => CALLS[name] ?? name);

// ---- Acts --------------------------------------------------------------------------------------

const MESSAGES = {
  completed: "ActivityCompleted", failed: "ActivityFailed", fired: "TimerFired", "child-completed": "SubOrchestrationCompleted",
  "child-failed": "SubOrchestrationFailed", cancel: "OrchestrationCancelRequested", suspend: "OrchestrationSuspended", resume: "OrchestrationResumed",
};

class Script {
  constructor({ programs }) {
    this.programs = programs;
    this.lines = programs.main ?? Object.values(programs)[0];
    Object.assign(this, { instance: "order-42", version: "1.0.0", clock: 1000, letters: 0, seed: "00000000deadbeef", limits: { payload_bytes: 100000 } });
    this.replays = 0;
    this.fresh(1);
  }

  fresh(execution) {
    this.x = new Execution(this.instance, execution);
    this.runner = new Runner();
    this.runner.limits = this.limits;
    this.runner.add(orchestration("Program", { codec: "raw", version: this.version }, (ctx, input) => walk(ctx, this.lines, input)));
  }

  about() {
    return { token: "t", run: "r", instance: this.instance, execution: this.x.execution, orchestration: "Program", version: this.version };
  }

  /** Drive the code as long as something is owed; the finding, if there is one. */
  async pump() {
    const { x } = this;
    for (x.settle(this.clock); x.owed; x.settle(this.clock)) {
      const first = x.owed, after = this.runner.runs.get("r")?.seq ?? 0, { seq: _, ...message } = first;
      const { answer } = await this.runner.drive({
        ...this.about(), after, events: x.events.slice(after, first.seq - 1), seq: first.seq - 1, carried: x.events.slice(first.seq), messages: [message],
      });
      if (!answer.steps) {
        x.events.length = first.seq - 1;
        x.owed = null;
        return answer.mismatch ?? { text: answer.bug.error };
      }
      x.decide(answer.steps[0], this.clock);
      if (!x.end) x.expectWait(answer.wait);
    }
    return null;
  }

  letterOf([, what, ...rest]) {
    const options = Object.fromEntries(rest.filter((w) => /^(at|attrs|exec)=/.test(w)).map((w) => [w.split("=", 1)[0], w.slice(w.indexOf("=") + 1)]));
    if (options.at) this.clock = Number(options.at);
    const words = rest.filter((w) => !/^(at|attrs|exec)=/.test(w)), id = ++this.letters;
    if (what === "started") return { id, kind: "OrchestrationStarted", name: "Test", data: words[0] ?? "", attrs: { version: this.version, seed: this.seed } };
    if (what === "raised") return { id, kind: "raised", name: words[0], data: words[1] ?? "" };
    if (what === "update") return { id, kind: "update", name: words[0], data: words[1] ?? "", update: JSON.parse(options.attrs).update };
    const ref = /^#\d+$/.test(words[0]) ? Number(words.shift().slice(1)) : undefined;
    return { id, kind: MESSAGES[what], ...(ref ? { ref } : {}), data: words[0] ?? "", ...(options.attrs ? { attrs: JSON.parse(options.attrs) } : {}) };
  }

  async check(events) {
    const run = this.runner.make(this.about());
    await run.feed(structuredClone(events));
    this.replays++;
    return run;
  }

  /** {fate?, finding?, from: the first event that the script must name} */
  async act(words) {
    const { x } = this, before = x.events.length;
    switch (words[0]) {
      case "in": {
        if (words[1] === "wake") return { from: before, fate: "ignored", finding: await this.pump() };
        const letter = this.letterOf(words), of = words.find((w) => w.startsWith("exec="));
        if (of && Number(of.slice(5)) !== x.execution) return { from: before, fate: "ignored" };
        const odd = !x.end && scheduleOf(letter.kind) && scheduleOf(letter.kind) !== x.tasks[letter.ref - 1]?.kind;
        const fate = odd ? "odd" : x.apply(letter, this.clock), finding = await this.pump();
        return { from: before + (fate === "applied" && x.events.length > before ? 1 : 0), fate, finding };
      }
      case "complete-all":
        for (let ref = Number(words[1].replace("#", "")); ref <= Number(words[2].replace("#", "")); ref++) {
          x.apply({ id: ++this.letters, kind: "ActivityCompleted", ref, data: words[3] ?? "" }, this.clock);
          assert.equal(await this.pump(), null);
        }
        return { from: x.events.findLastIndex((e) => e.kind === "ActivityCompleted") + 1 };
      case "drop-fiber":
        this.runner.clear();
        return { from: before };
      case "swap-program":
        this.lines = this.programs[words[1]];
        this.runner.clear();
        // fallthrough
      case "replay":
        this.table();
        return { from: before, finding: (await this.check(x.events)).broken?.mismatch };
      case "replay-tables":
        return { from: before };
      case "finish":
        if (words[1] !== "terminated") return { skip: "the server's force" };
        x.force(words[2] ?? "", this.clock);
        return { from: before };
      case "next-execution": {
        const { end, mail, state, execution } = x;
        this.version = end.version ?? this.version;
        this.seed = "2";
        this.fresh(execution + 1);
        Object.assign(this.x, { mail, state });
        this.x.apply(this.letterOf(["in", "started", end.data]), this.clock);
        return { from: 1, finding: await this.pump() };
      }
      case "mail-add":
        x.mail.push({ id: Number(words[1]), kind: "raised", name: words[2], data: words[3] ?? "" });
        return { from: before };
      case "event":
        x.events.push(eventOf(words));
        return { from: before + 1, raw: true };
      case "clear-history":
        this.fresh(1);
        return { from: 0 };
      case "rules":
        return this.rules(words.slice(1));
      default:
        throw new Error(`unknown act ${words.join(" ")}`);
    }
  }

  rules(words) {
    for (const word of words) {
      const [name, value] = word.split("=");
      if (name === "payload") this.limits = { payload_bytes: Number(value) };
      else if (name === "instance") this.instance = value;
      else if (name === "instance-bytes") this.instance = "i".repeat(Number(value));
      else if (name === "version") this.version = value;
      else if (name !== "history") throw new Error(`unknown rule ${word}`);
    }
    if (this.x.events.length === 0) this.fresh(1);
    else this.runner.limits = this.limits;
    return { from: this.x.events.length };
  }

  /** The tables of events that a script gave. */
  table() {
    const { x } = this;
    if (x.tasks.length || x.events.length === 0) return;
    for (const e of x.events) {
      if (FAMILIES[e.kind]) x.tasks.push({ ref: e.ref, kind: e.kind, name: e.name ?? "", state: FAMILIES[e.kind].cancel ? "open" : "done", fireAt: e.attrs?.fire_at_ms });
      else if (scheduleOf(e.kind) && x.tasks[e.ref - 1]) x.tasks[e.ref - 1].state = isCancel(e.kind) ? "cancelled" : "done";
      x.now = Math.max(x.now, e.at);
    }
  }

  async checkPrefixes() {
    const { events } = this.x, cuts = [];
    events.forEach((e, i) => {
      const refusal = events[i - 1]?.attrs?.refused !== undefined && events[i - 1].ref === e.ref;
      if (i > 0 && classOf(e.kind) === "message" && !refusal) cuts.push(i);
    });
    for (const n of [...(cuts.length < 30 ? cuts : [...cuts.slice(0, 3), ...cuts.slice(-3)]), events.length]) {
      const { broken, seq } = await this.check(events.slice(0, n));
      assert.deepEqual([broken, seq], [null, n], `replay of ${n} events`);
    }
  }
}

function eventOf([, seq, kind, ...rest]) {
  const e = { seq: Number(seq), kind, at: 1000 };
  for (const word of rest) {
    const value = word.slice(word.indexOf("=") + 1);
    if (word.startsWith("#")) e.ref = Number(word.slice(1));
    else if (word.startsWith("attrs=")) e.attrs = JSON.parse(value);
    else if (word.startsWith("at=")) e.at = Number(value);
    else e[word.split("=", 1)[0]] = value;
  }
  return e;
}

async function runScript(file) {
  const { programs, acts } = read(file), script = new Script({ programs });
  for (const { words, expect } of acts) {
    const done = await script.act(words);
    if (done.skip) return script.replays;
    try {
      judge(script, done, expect);
      if (!done.finding && !done.raw && script.x.events.length) await script.checkPrefixes();
    } catch (error) {
      error.message = `${path.basename(file)}: after '${words.join(" ").slice(0, 100)}': ${error.message}`;
      throw error;
    }
    if (done.finding) script.runner.clear();
  }
  return script.replays;
}

function judge(script, { from, fate, finding }, expect) {
  const { x } = script, outs = [], wanted = (name) => expect.filter((e) => e[0] === name);
  for (const e of expect) {
    if (e[0] === "out") outs.push(e.slice(1));
    else if (e[0] === "out-fan") {
      const [first, last] = [e[1], e[2]].map((w) => Number(w.replace("#", "")));
      for (let ref = first; ref <= last; ref++) outs.push([`#${ref}`, "activity", e[3], String(ref - first)]);
    }
  }
  const mismatch = wanted("outcome").some((e) => e[1] === "mismatch");
  assert.equal(Boolean(finding), mismatch, finding?.text ?? "no mismatch");
  if (!finding) {
    const events = x.events.slice(from);
    assert.equal(events.length, outs.length, `got ${events.map((e) => textOf(e).join(" ").slice(0, 80)).join(" | ")}`);
    events.forEach((e, i) => fits(e, outs[i]));
  }
  if (finding) for (const [, part] of wanted("finding")) assert.ok(finding.text.includes(inOurWords(part)), `'${inOurWords(part)}' in '${finding.text}'`);
  if (finding) for (const [, part] of wanted("attempted")) assert.ok(finding.attempted.includes(inOurWords(part)), `'${part}' in '${finding.attempted}'`);
  if (finding) for (const [, part] of wanted("recorded")) assert.ok(finding.recorded.includes(part), `'${part}' in '${finding.recorded}'`);
  for (const [, seq] of wanted("at-event")) assert.equal(finding.seq, Number(seq));
  for (const [, word] of wanted("fate")) assert.equal(fate, word);
  for (const [, ...refs] of wanted("open"))
    assert.deepEqual(x.tasks.filter((t) => t.state === "open").map((t) => `#${t.ref}`), refs.filter((r) => r !== "none"));
  for (const [, count] of wanted("mail")) assert.equal(x.mail.length, Number(count));
}

const word = process.argv[2] ?? "", left = {};
let passed = 0, replays = 0, failed = 0;
for (const name of fs.readdirSync(HERE).filter((n) => n.endsWith(".replay") && n.includes(word)).sort()) {
  const file = path.join(HERE, name), text = fs.readFileSync(file, "utf8");
  const why = NOT_OURS.find(([pattern]) => pattern.test(text))?.[1];
  if (why) {
    (left[why] ??= []).push(name);
    continue;
  }
  try {
    replays += await runScript(file);
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAILED ${error.message}${process.env.TRACE ? `\n${error.stack}` : ""}`);
  }
}
const count = Object.values(left).flat().length;
console.log(`replay: ${passed} scripts passed, ${failed} failed, ${replays} replays; ${count} are not for workers`);
if (process.env.LEFT) console.log(left);
process.exit(failed ? 1 : 0);
