// SPDX-License-Identifier: MIT
// Orchestrations of clients/node without a server: draws, findings, guards, the world for tests, and a session
// whose server is a table of answers.  tests/http/test_node.py runs it.
import assert from "node:assert/strict";
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Cancelled, ChildExists, Fail, Final, PawlError, Refused, TaskCancelled, TaskFailed, Worker, activity, orchestration,
} from "../../../clients/node/index.js";
import { Blocked, World, simulate } from "../../../clients/node/testing.js";
import { draw, fraction, seedOf, uuidOf } from "../../../clients/node/lib/turns/draws.js";
import { tryRuntime } from "../../../clients/node/lib/turns/place.js";

const blocked = (promise, ...parts) =>
  assert.rejects(promise, (e) => {
    assert.ok(e instanceof Blocked, e.stack);
    for (const part of parts) assert.ok(e.message.includes(part), `'${part}' is not in '${e.message}'`);
    return true;
  });
const world = (run, activities = {}) => {
  const w = new World().orchestration("T", run);
  for (const [name, f] of Object.entries(activities)) w.activity(name, f);
  return w;
};
const ours = (line) => `turns.mjs:${line}`;
const here = () => Number(/turns\.mjs:(\d+)/.exec(new Error().stack.split("\n")[2])[1]);

function vectors() {
  const hex = (v) => v.toString(16).padStart(16, "0");
  for (const v of JSON.parse(fs.readFileSync(new URL("../../protocol/vectors.json", import.meta.url)))) {
    const seed = seedOf(v.seed), one = draw(seed, v.message_seq, 1, 0), two = draw(seed, v.message_seq, 2, 0);
    assert.deepEqual([hex(one), hex(two), uuidOf(seed, v.message_seq, 3, v.now)], v.draws);
    assert.deepEqual([fraction(one), fraction(two)], v.as_float);
  }
  assert.deepEqual(["x", "", undefined, "12345678901234567"].map(seedOf), [0n, 0n, 0n, 0n]);
}

async function findings() {
  let flip = 0;
  const line = here();
  const swapped = (ctx) => ctx.call(flip++ % 2 ? "B" : "A", 1);
  await blocked(world(async (ctx) => swapped(ctx), { A: () => 1 }).run("T"), "schedule mismatch at event 2", "another name", ours(line + 1));
  flip = 0;
  await blocked(world(async (ctx) => { const t = ctx.sleep(1); if (flip++ > 0) ctx.status("x"); await t; }).run("T"), "frontier");
  flip = 0;
  await blocked(world(async (ctx) => { if (flip++ === 0) await ctx.sleep(1); }).run("T"), "left over");
  flip = 0; // whoever swallows the stop is still reported
  await blocked(world(async (ctx) => { try { await ctx.call("A", flip++); } catch { /* swallowed */ } await ctx.sleep(5); }, { A: () => 1 }).run("T"), "input differs");
  const at = here();
  await blocked(world(async (ctx) => {
    await ctx.call("A");
    await new Promise((r) => { process.nextTick(r); });
    await ctx.sleep(1);
  }, { A: () => 1 }).run("T"), "not Pawl's", ours(at + 2));
  const strand = here();
  const other = async (ctx) => { await new Promise((r) => { process.nextTick(() => process.nextTick(r)); }); await ctx.sleep(5); };
  await blocked(world(async (ctx) => { void other(ctx); await ctx.sleep(1); await ctx.sleep(100); }).run("T"), "outside its turn", ours(strand + 1));
  await blocked(world(async (ctx) => ctx.any()).run("T"), "the first of nothing");
  await blocked(world(async (ctx) => ctx.race(Promise.resolve(1))).run("T"), "a promise is no task");
  await blocked(world(async (ctx) => ctx.call("A", { mean: NaN })).run("T"), "NaN");
  await blocked(world(async (ctx) => ctx.call("A", 1, { atempts: 3 })).run("T"), "no option 'atempts'", "attempts");
  await blocked(world(async (ctx) => ctx.sleep("5s")).run("T"), "whole number of milliseconds");
}

/** People's errors fail, the interpreter's block. */
async function bugs() {
  const typo = here();
  await blocked(world(async (ctx, o) => o.amount.toFixed()).run("T"), "TypeError", ours(typo + 1));
  await blocked(world(async () => missing).run("T"), "ReferenceError"); // eslint-disable-line no-undef
  await blocked(world(async () => assert.equal(1, 2)).run("T"), "AssertionError");
  class NoStock extends Error { name = "NoStock"; }
  const error = async (run, acts) => world(run, acts).run("T").then(() => assert.fail("no failure"), (e) => { assert.ok(e instanceof Fail, e.stack); return e.message; });
  assert.equal(await error(async () => { throw new NoStock("none left"); }), "NoStock: none left");
  assert.equal(await error(async () => { throw new Fail("as it is"); }), "as it is");
  assert.equal(await error(async () => { throw "a text"; }), "a text"); // eslint-disable-line no-throw-literal
  assert.equal(await error(async (ctx) => ctx.call("A"), { A: () => { throw new NoStock("gone"); } }), "NoStock: gone");
  const soft = orchestration("Soft", { bugs: "fail" }, async (ctx, o) => o.amount.toFixed());
  await assert.rejects(new World().orchestration(soft).run(soft, undefined), /TypeError/);
  // In a cancelled instance too: a typo in the compensation must not end it half compensated.
  const w = world(async (ctx) => { try { await ctx.event("E"); } catch { ctx.nothing(); } }), id = await w.start("T");
  await blocked(w.cancel(id), "ctx.nothing is not a function");
}

async function guards() {
  for (const [what, run] of Object.entries({
    "Date.now()": () => Date.now(), "new Date()": () => new Date(), "Math.random()": () => Math.random(), "randomUUID()": () => crypto.randomUUID(),
    "setTimeout()": () => setTimeout(() => {}, 1), "setImmediate()": () => setImmediate(() => {}), "fetch()": () => fetch("http://127.0.0.1:9/"),
    "performance.now()": () => performance.now(),
  })) await blocked(world(async (ctx) => { await ctx.sleep(1); run(); }).run("T"), what, "inside an orchestration");
  assert.ok(new Date() instanceof Date && Date.now() > 0 && new Date(5).getTime() === 5 && typeof Date() === "string");
  const free = { A: async () => { await sleep(1); return [typeof Date.now(), typeof Math.random()]; } };
  const both = world(async (ctx) => [await ctx.call("A"), await ctx.step("s", async () => { await sleep(1); return typeof Date.now(); }), ctx.date.getTime() === ctx.now], free);
  assert.deepEqual(await both.run("T"), [["number", "number"], "number", true]);
}

async function worlds() {
  let tries = 0;
  const charge = activity("Charge", async () => { if (tries++ < 2) throw new Error("down"); return "r-1"; });
  const order = orchestration("Order", { version: "1.0.0" }, async (ctx, o) => {
    const paid = await ctx.call(charge, o, { attempts: 5 });
    const review = ctx.event("Review"), limit = ctx.timer(48 * 3600e3);
    try {
      if ((await ctx.race(review, limit)).task === limit) throw new Fail("no review in time");
      return await ctx.step("ship", () => ({ shipped: paid, by: review.result() }));
    } catch (e) {
      if (e instanceof Cancelled) await ctx.shield(() => ctx.call("Refund", paid));
      throw e;
    }
  });
  const refunds = [], make = (w) => w.orchestration(order).activity(charge).activity("Refund", (r) => void refunds.push(r));
  const w = make(new World());
  await assert.rejects(w.run(order, { id: 1 }), /^Fail: no review in time$/);
  assert.ok(w.now >= Date.UTC(2026, 0, 1) + 48 * 3600e3);
  const id = await w.start(order, { id: 2 });
  await w.raise(id, "Review", "ada");
  assert.deepEqual(await w.result(id), { shipped: "r-1", by: "ada" });
  const gone = await w.start(order, { id: 3 });
  await w.cancel(gone, "enough");
  assert.deepEqual([w.get(gone).status, w.get(gone).error, refunds], ["cancelled", "enough", ["r-1"]]);
  await assert.rejects(world(async (ctx) => ctx.call("Nobody")).run("T"), /waits for activity 'Nobody', which nobody serves/);
  await assert.rejects(world(async (ctx) => ctx.event("E")).run("T"), /waits for ExternalSubscribed 'E'/);
  assert.deepEqual(await world(async (ctx) => {
    const err = [];
    for (const run of [() => ctx.call("A/B"), () => ctx.child("None"), () => ctx.call("A", 1)]) await run().catch((e) => err.push(e.constructor.name));
    const t = ctx.timer(1000);
    ctx.cancel(t);
    await t.catch((e) => err.push(e.constructor.name));
    return err;
  }, { A: () => { throw new Final("never"); } }).run("T"), [Refused.name, "ChildFailed", TaskFailed.name, TaskCancelled.name]);
  assert.equal(ChildExists.name, await world(async (ctx) => { ctx.detach("T2", 1, { instance: "kid" }); return ctx.child("T2", 1, { instance: "kid" }).catch((e) => e.constructor.name); })
    .orchestration("T2", async () => 1).run("T"));
  assert.deepEqual(await world(async (ctx) => ["kid", "kid"].map((instance) => { try { return ctx.detach("T2", 1, { instance }); } catch (e) { return `${e.constructor.name} ${e.message}`; } }))
    .orchestration("T2", async () => 1).run("T"), ["kid", "Refused instance 'kid' exists already"]);
}

async function orders() {
  await simulate(async (w) => {
    w.activity("Sq", (x) => x * x).orchestration("Many", async (ctx, n) => ctx.map(Array.from({ length: n }, (_, i) => i), (i) => ctx.call("Sq", i), { window: 3 }));
    assert.deepEqual(await w.run("Many", 7), [0, 1, 4, 9, 16, 25, 36]);
    w.orchestration("Both", async (ctx) => {
      const two = async (name) => { const a = await ctx.call("Sq", 2); return [name, await ctx.call("Sq", a)]; };
      const strands = await Promise.all([two("l"), two("r")]), seen = [];
      for await (const { index } of ctx.asDone([ctx.call("Sq", 3), ctx.timer(5), ctx.child("Many", 2)])) seen.push(index);
      return [strands, seen.sort(), await ctx.settled(ctx.call("Sq", 1)).then(([t]) => t.result())];
    });
    assert.deepEqual(await w.run("Both"), [[["l", 16], ["r", 16]], [0, 1, 2], 1]);
    w.orchestration("Account", async (ctx, start) => {
      let sum = ctx.state.get("sum") ?? start;
      for (let i = 0; i < 3; i++) {
        const add = ctx.update("add"), end = ctx.event("end");
        if ((await ctx.race(add, end)).task === end) return sum;
        const by = add.result();
        if (by < 0) add.reject("not below zero");
        else { sum += by; ctx.state.set("sum", sum); add.answer(sum); }
      }
      return ctx.continueAsNew(sum);
    });
    const id = await w.start("Account", 10);
    for (const [by, sum] of [[1, 11], [2, 13], [3, 16], [4, 20]]) assert.equal(await w.update(id, "add", by), sum);
    await assert.rejects(w.update(id, "add", -1), /not below zero/);
    await w.raise(id, "end");
    assert.equal(await w.result(id), 20);
    assert.equal(w.get(id).execution, 2);
  }, { seeds: 40 });
}

// ---- A session whose server is a table --------------------------------------------------------

/** A client whose POST /api/v1/turns is answered by `turns(body)`; other calls are noted. */
class Table {
  calls = [];
  notes = [];
  wire = { url: new URL("http://table") };
  constructor(turns) { this.turns = turns; }
  async request(method, where, { body, query, signal } = {}) {
    if (where !== "/api/v1/turns") {
      this.notes.push([where, body ?? query]);
      return this.other?.(where, body, query) ?? {};
    }
    this.calls.push(body);
    const said = await this.turns(body, signal);
    if (said instanceof Error) throw said;
    return { protocol: 1, boot: "b1", now: 1000, limits: { turn_ms: 10000 }, answered: [], turns: [], ...said };
  }
}

const started = (n = 1, more = {}) => ({
  token: `t${n}`, run: `${n}.1`, instance: `i-${n}`, execution: 1, orchestration: "Order", version: "1.0.0", after: 0, events: [], seq: 0,
  messages: [{ kind: "OrchestrationStarted", name: "Order", data: "1", attrs: { version: "1.0.0", seed: "1" }, at: 1000 }], leases: [], ...more,
});

/** Serve `code` by the table until it says so. */
async function serve(table, code, options = {}) {
  const said = [], worker = new Worker(table, { say: (text) => said.push(text), ...options }).orchestration("Order", code);
  table.stop = () => worker.stop();
  await worker.run({ signals: false });
  assert.equal(said.shift(), "serves Order 1.0.0 for http://table");
  return said;
}

/** Polls wait until the worker leaves. */
const idle = (body, signal) => body.leaving ? {} : new Promise((done) => { const t = setTimeout(() => done({}), 15); signal?.addEventListener("abort", () => { clearTimeout(t); done({}); }); });

async function sessions() {
  let given = false;
  const table = new Table((body, signal) => {
    if (table.calls.length === 1) return new PawlError(409, "unknown_session", "who?");
    if (body.answers) return { answered: body.answers.map((a) => ({ token: a.token, status: "ok", seq: 2, ...(a.steps.at(-1).decisions.at(-1).end ? (table.stop(), {}) : { next: "n1", leases: [{ ref: 1, lease: "w1", attempt: 1 }] }) })) };
    if (!given && !body.leaving) { given = true; return { turns: [started()] }; }
    return idle(body, signal);
  });
  const said = await serve(table, async (ctx, n) => (await ctx.step("one", () => n + 1)) * 2);
  assert.deepEqual(said, []);
  const [, first] = table.calls, answers = table.calls.flatMap((c) => c.answers ?? []);
  assert.deepEqual(first.code, [{ name: "Order", version: "1.0.0" }]);
  assert.match(first.session, /^[A-Za-z0-9_-]{16,64}$/);
  assert.deepEqual(answers[0], { token: "t1", steps: [{ m: 1, seq: 1, decisions: [{ do: "call", ref: 1, name: "one", data: "", lease: true }] }], wait: { for: "any", refs: [1] } });
  assert.equal(answers[1].token, "n1");
  assert.deepEqual([answers[1].steps[0].result.lease, answers[1].steps[0].result.data, answers[1].steps[0].seq, answers[1].steps[0].decisions, "wait" in answers[1]],
    ["w1", "2", 3, [{ end: "completed", output: "4" }], false]);
  assert.ok(answers[1].steps[0].result.at >= 1000);
  assert.ok(table.calls.some((c) => c.leaving), "it says good-bye");
}

/** What the server says of an answer, and what the worker does then. */
async function troubles() {
  const chain = async (ctx, n) => (await ctx.step("one", () => n + 1)) * 2;
  const run = async (word, code = chain) => {
    let given = false;
    const table = new Table((body, signal) => {
      if (!body.answers) return !given && (given = true) ? { turns: [started()] } : idle(body, signal);
      return word(body.answers, table);
    });
    const said = await serve(table, code);
    return { table, said, answers: table.calls.flatMap((c) => c.answers ?? []) };
  };
  const ok = (a, more) => ({ token: a.token, status: "ok", seq: 2, ...more });
  const step = ([a], table) => a.steps?.[0].m ? { answered: [ok(a, { next: "n", leases: [{ ref: 1, lease: "w1" }] })] } : (setTimeout(() => table.stop(), 5), null);
  // Lost: the result goes in by its lease.
  const lost = await run((answers, table) => step(answers, table) ?? { answered: [{ token: answers[0].token, status: "lost" }] });
  assert.deepEqual(lost.table.notes, [["/api/v1/work/w1/complete", { result: 2 }]]);
  // Nobody knows: the same.
  const unknown = await run((answers, table) => step(answers, table) ?? Object.assign(new Error("gone"), { code: "ECONNRESET" }));
  assert.deepEqual(unknown.table.notes, [["/api/v1/work/w1/complete", { result: 2 }]]);
  // Refused: the instance is blocked with the server's words, and the token is the same.
  const no = await run(([a], table) => (a.bug ? (table.stop(), { answered: [{ token: a.token, status: "blocked" }] }) : { answered: [{ token: a.token, status: "refused", code: "bad_step", message: "ref 7" }] }));
  assert.deepEqual(no.answers[1], { token: "t1", bug: { error: "the server refused the answer: bad_step: ref 7" } });
  assert.ok(no.said.some((t) => t.includes("ref 7")));
  // A failed attempt goes to the policy.
  const fail = await run((answers, table) => { setTimeout(() => table.stop(), 30); return step(answers, table); }, async (ctx) => ctx.step("one", () => { throw new Error("no"); }));
  assert.deepEqual(fail.table.notes, [["/api/v1/work/w1/fail", { error: "Error: no", retryable: true }]]);
  // A bug is said where it happened.
  const bug = await run(([a], table) => { table.stop(); return { answered: [{ token: a.token, status: "blocked" }] }; }, async (ctx, n) => n.no.thing);
  assert.match(bug.said[0], /'i-1' is blocked at turns\.mjs:\d+: TypeError/);
  assert.match(bug.answers[0].bug.site, /^turns\.mjs:\d+$/);
}

async function batches() {
  let rest = Array.from({ length: 30 }, (_, i) => started(i + 1));
  const table = new Table((body, signal) => {
    if (!body.answers) return rest.length && body.max ? { turns: rest.splice(0, body.max) } : idle(body, signal);
    if (body.answers.some((a) => JSON.stringify(a).includes("spoilt")) && body.answers.length > 1) return new PawlError(400, "invalid", "spoilt");
    if (table.calls.flatMap((c) => c.answers ?? []).length >= 30) setTimeout(() => table.stop(), 20);
    return { answered: body.answers.map((a) => (JSON.stringify(a).includes("spoilt") ? { token: a.token, status: "blocked" } : { token: a.token, status: "ok", seq: 2 })) };
  });
  await serve(table, async (ctx) => (ctx.instance === "i-7" ? "spoilt" : ctx.instance));
  assert.ok(table.calls.filter((c) => c.answers).length < 40 && table.calls.some((c) => c.answers?.length > 5), "answers share calls");
  assert.equal(new Set(table.calls.flatMap((c) => c.answers ?? []).map((a) => a.token)).size, 30, "one bad answer does not spoil the others");
}

/** A run that is not kept is read from its beginning; another boot forgets all runs. */
async function histories() {
  const past = [
    { seq: 1, kind: "OrchestrationStarted", name: "Order", data: "1", attrs: { version: "1.0.0", seed: "1" }, at: 1000 },
    { seq: 2, kind: "TimerCreated", ref: 1, attrs: { delay_ms: 5, fire_at_ms: 1005 }, at: 1000 },
  ];
  const fired = (n, after, events) => started(1, { token: `t${n}`, after, events, seq: n * 2, messages: [{ kind: "TimerFired", ref: n, at: 1000 + n }] });
  const turns = [fired(1, 2, []), fired(2, 4, []), fired(3, 6, [])], boots = ["b1", "b1", "b1", "b1", "b2", "b2"];
  let answered = 0;
  const table = new Table((body, signal) => {
    const boot = boots[Math.min(answered, 5)];
    if (!body.answers) return turns.length && !body.leaving && answered === 3 - turns.length ? { boot, turns: [turns.shift()] } : idle(body, signal);
    answered++;
    if (answered === 3) table.stop();
    return { boot, answered: body.answers.map((a) => ({ token: a.token, status: "ok", seq: 4, next: "n" })) };
  });
  const reads = [];
  table.other = (where, body, query) => {
    reads.push(where);
    const n = Number(/t(\d)/.exec(where)[1]), all = [...past];
    for (let i = 1; i < n; i++) all.push({ seq: 2 * i + 1, kind: "TimerFired", ref: i, at: 1000 + i }, { seq: 2 * i + 2, kind: "TimerCreated", ref: i + 1, attrs: { delay_ms: 5 }, at: 1000 + i });
    const events = all.filter((e) => e.seq > query.after).slice(0, 2);
    return { events, next: events.at(-1).seq < all.length ? events.at(-1).seq : null };
  };
  const code = async (ctx) => { for (let i = 0; i < 9; i++) await ctx.sleep(5); };
  const said = await serve(table, code);
  assert.deepEqual(said, []);
  assert.deepEqual(reads, ["/api/v1/turns/t1/history"], "the second and third go on with the kept run");
  assert.deepEqual(table.calls.flatMap((c) => c.answers ?? []).map((a) => a.steps[0].seq), [3, 5, 7]);
}

await tryRuntime();
for (const part of [vectors, findings, bugs, guards, worlds, orders, sessions, troubles, batches, histories]) {
  const watch = setTimeout(() => { console.log(`${part.name} hangs`); process.exit(1); }, 20000);
  await part();
  clearTimeout(watch);
}
console.log("all turns");
process.exit(0);
