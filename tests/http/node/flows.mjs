// SPDX-License-Identifier: MIT
// Orchestrations of clients/node against the server of PAWL_URL (tests/http/test_node_turns.py): every call of
// ctx, what clients see of it, C and Node side by side, and what blocks.  A worker runs in this process.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Cancelled, ChildFailed, Client, Conflict, Fail, Final, Refused, TaskFailed, Worker, activity, orchestration } from "../../../clients/node/index.js";

const client = new Client(), said = [];
const worker = new Worker(client, { say: (text) => said.push(text) });
const all = async (list) => { const got = []; for await (const item of list) got.push(item); return got; };
const kinds = async (id, query) => (await all(client.history(id, query))).map((e) => e.kind);
const ended = async (id) => client.wait(id, { timeout_ms: 20000 });
let count = 0;
const run = async (what, input, options) => {
  const { instance } = await client.start(what, input, { instance: `f-${++count}`, ...options });
  return instance;
};
const output = async (what, input) => {
  const end = await ended(await run(what, input));
  assert.equal(end.status, "completed", JSON.stringify(end));
  return end.output;
};
const until = async (fact, what) => { for (let i = 0; i < 400; i++) { if (await fact()) return; await sleep(25); } assert.fail(`never: ${what}`); };

const square = activity("Square", async (x) => x * x);
worker.activity(square).activity("Flaky", (input, task) => { if (task.attempt < 3) throw new Error("down"); return task.attempt; })
  .activity("Never", () => { throw new Final("no use"); });

// ---- Work ----------------------------------------------------------------------------------------

const basics = orchestration("Basics", { version: "1.0.0" }, async (ctx, n) => {
  const a = await ctx.call(square, n), [b, c] = await ctx.all(ctx.call(square, 3), ctx.step("inline", (task) => [task.attempt, task.key.length > 9]));
  const errors = [];
  for (const call of [() => ctx.call("Never"), () => ctx.call("a/b"), () => ctx.child("Fails", 1)])
    await call().catch((e) => errors.push([e.constructor.name, e.text]));
  const d = await ctx.call("Flaky", 0, { attempts: 5, initial_ms: 1 });
  return { a, b, c, d, errors, many: (await ctx.map([1, 2, 3, 4, 5], (x) => ctx.call(square, x), { window: 2 })).at(-1), chance: [ctx.uuid().length, ctx.random() < 1] };
});
worker.orchestration(basics).orchestration("Fails", async () => { throw new Fail("as it must"); });
worker.orchestration("Again", async (ctx) => ctx.step("again", (task) => { if (task.attempt < 3) throw new Error("not yet"); return task.attempt; }, { attempts: 3, initial_ms: 1 }));
worker.orchestration("Fan", async (ctx, n) => (await ctx.all(Array.from({ length: n }, (_, i) => ctx.call(square, i)))).length);

async function work() {
  assert.deepEqual(await output(basics, 2), {
    a: 4, b: 9, c: [1, true], d: 3, many: 25, chance: [36, true],
    errors: [["TaskFailed", "no use"], ["Refused", "activity name has a '/' at byte 1; use '.' or '-' instead"], ["ChildFailed", "as it must"]],
  });
  assert.equal(await output("Fan", 300), 300);
}

/** A failed inline step is leased again when its policy says so. */
async function again() {
  assert.equal(await output("Again"), 3);
}

// ---- What others send, and see -------------------------------------------------------------------

worker.orchestration("Mail", async (ctx) => {
  await ctx.call(square, 1);
  const both = [await ctx.event("E"), await ctx.event("E")];
  const lost = ctx.event("F"), tick = ctx.timer(10);
  const { index } = await ctx.race(tick, lost); // what it did not see goes back
  return [both, index === 1 ? lost.result() : await ctx.event("F")];
});
worker.orchestration("NodeAccount", async (ctx, start) => {
  let sum = ctx.state.get("sum") ?? start;
  ctx.attributes({ customer: "c-7", sum });
  for (let i = 0; i < 2; i++) {
    const { key, task } = await ctx.select({ add: ctx.update("add"), end: ctx.event("end") });
    if (key === "end") return sum;
    const by = task.result();
    if (by < 0) task.reject("not below zero");
    else {
      ctx.state.set("sum", (sum += by));
      task.answer(sum);
    }
  }
  ctx.state.clear("none");
  return ctx.continueAsNew(sum);
});
worker.orchestration("Asks", async (ctx) => {
  const { approved } = await ctx.ask("Approve", { title: "May we?", choices: ["yes", "no"] });
  ctx.push("node-mail", { approved }, { priority: 3 });
  const other = ctx.detach("Mail", null, { instance: `${ctx.instance}-mail` });
  for (const [event, data] of [["E", 1], ["E", 2], ["F", 3]]) ctx.raise(other, event, data, { await_start: true });
  ctx.status(`told ${other}`);
  return other;
});

async function mail() {
  const id = await run("Mail", null, { raise: [{ event: "E", data: "a" }, { event: "E", data: "b" }] });
  await until(async () => (await kinds(id)).includes("TimerFired"), "the timer");
  await client.raise(id, "F", "c");
  assert.deepEqual((await ended(id)).output, [["a", "b"], "c"]);

  const account = await run("NodeAccount", 10);
  for (const [by, sum] of [[1, 11], [2, 13], [3, 16]]) assert.equal(await client.update(account, "add", by), sum);
  await assert.rejects(client.update(account, "add", -1), (e) => e instanceof Conflict && e.message.includes("not below zero"));
  assert.deepEqual(await client.state(account), { sum: 16 });
  assert.ok((await all(client.list({ where: ["customer=c-7", "sum>=13"] }))).some((i) => i.instance === account));
  await client.raise(account, "end");
  const end = await ended(account);
  assert.deepEqual([end.output, end.execution], [16, 3]);
  assert.equal((await kinds(account))[1], "StateCarried");

  const asks = await run("Asks", null);
  await until(async () => (await all(client.asks({ event: "Approve" }))).some((a) => a.instance === asks && a.ask.title === "May we?"), "the ask");
  await client.raise(asks, "Approve", { approved: true });
  const other = (await ended(asks)).output;
  await until(async () => client.get(other).then(() => true, () => false), "the detached instance");
  assert.deepEqual((await ended(other)).output, [[1, 2], 3]);
  assert.deepEqual(await client.queue("node-mail").pop(), [{ approved: true }]);
  assert.equal((await client.get(asks)).custom_status, `told ${other}`);
}

// ---- Cancel, suspend, time -----------------------------------------------------------------------

const refunds = [];
worker.activity("Refund", (what) => void refunds.push(what));
worker.orchestration("Pay", async (ctx, what) => {
  try {
    await ctx.event("Go");
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    await ctx.shield(async () => { await ctx.sleep(20); await ctx.call("Refund", what); });
    throw error;
  }
  return "went";
});
worker.orchestration("Tick", async (ctx, n) => {
  await ctx.sleep(20);
  return n < 3 ? ctx.continueAsNew(n + 1, "same") : [n, ctx.execution, ctx.scheduledAt > 0];
});

async function time() {
  const id = await run("Pay", "p-1");
  await until(async () => (await kinds(id)).length > 1, "it waits");
  await client.cancel(id, "enough");
  assert.deepEqual([(await ended(id)).status, refunds], ["cancelled", ["p-1"]]);
  const held = await run("Pay", "p-2");
  await until(async () => (await kinds(held)).length > 1, "it waits");
  await client.suspend(held);
  await client.raise(held, "Go");
  await sleep(100);
  assert.equal((await client.get(held)).status, "suspended");
  await client.resume(held);
  assert.equal((await ended(held)).output, "went");
  const cut = await run("Pay", "p-3");
  await client.terminate(cut, "cut");
  assert.equal((await ended(cut)).status, "cancelled");
  assert.deepEqual(await output("Tick", 0), [3, 4, false]);
  await client.schedules.put("node-tick", { every_ms: 3600e3, orchestration: "Tick", input: 3 });
  const { instance } = await client.schedules.run("node-tick", "k");
  await until(async () => client.get(instance).then(() => true, () => false), "the run of the schedule");
  assert.deepEqual((await ended(instance)).output.slice(0, 2), [3, 1]);
  await client.schedules.remove("node-tick");
}

async function rerun() {
  const id = await run("Pay", "p-5");
  await client.raise(id, "Go");
  await ended(id);
  assert.equal((await client.rerun(id, { input: "p-4" })).execution, 2);
  await client.raise(id, "Go");
  assert.deepEqual((await ended(id)).output, "went");
}

// ---- C and Node ----------------------------------------------------------------------------------

worker.orchestration("AcrossC", async (ctx, x) => {
  const echo = await ctx.child("Echo", { x }); // C's orchestration, C's activity
  return [echo, await ctx.call("Twice", 7), await ctx.child("NotThere", 1, { version: "9.9.9", instance: `${ctx.instance}-gone`, deadline_ms: 50 }).catch((e) => e instanceof ChildFailed)];
});

async function across() {
  assert.deepEqual(await output("AcrossC", 5), [{ x: 5 }, 7, true]);
}

// ---- What blocks ---------------------------------------------------------------------------------

let repaired = false, flip = 0;
worker.orchestration("Typo", async (ctx, o) => { await ctx.call(square, 1); return repaired ? "repaired" : o.missing.deep; });
worker.orchestration("Clock", async (ctx) => { await ctx.sleep(1); return repaired ? "repaired" : Date.now(); });
worker.orchestration("Large", async (ctx) => ctx.call(square, "x".repeat(200_000)).catch((e) => [e instanceof Refused, e.text]));
worker.orchestration("Drifts", async (ctx) => { await ctx.call(square, repaired ? 0 : flip++); await ctx.event("Go"); return "fine"; });

async function blocks() {
  for (const [name, words] of [["Typo", "TypeError"], ["Clock", "ctx.now"]]) {
    repaired = false;
    const id = await run(name, {});
    await until(async () => (await client.get(id)).status === "blocked", `${name} is blocked`);
    const why = (await client.why(id)).sentence;
    assert.ok(why.includes(words) && why.includes("flows.mjs:"), why);
    assert.ok(said.some((t) => t.includes(`'${id}' is blocked at flows.mjs:`)), said.join("\n"));
    assert.ok(!(await kinds(id)).some((k) => k.startsWith("OrchestrationFailed")));
    repaired = true;
    await client.retry(id);
    assert.equal((await ended(id)).output, "repaired");
  }
  assert.deepEqual(await output("Large"), [true, "input is 200002 bytes, limit 102400 (--max-payload)"]);
}

worker.orchestration("Soft", { bugs: "fail" }, async (ctx, o) => o.missing.deep);

async function fails() {
  const soft = await ended(await run("Soft", {}));
  assert.ok(soft.status === "failed" && soft.error.startsWith("TypeError"), JSON.stringify(soft));
  assert.equal((await ended(await run("Fails", 0))).error, "as it must");
  assert.ok(new TaskFailed("Type: text").type === "Type");
}

// ---- Calls that the server refuses ---------------------------------------------------------------

worker.orchestration("Told", async (ctx, id) => {
  const said = [await ctx.call(square, 2)];
  const tries = (call) => { try { said.push(call()); } catch (error) { said.push(`${error.constructor.name}: ${error.message}`); } };
  for (const instance of [id, `${ctx.instance}-d`, `${ctx.instance}-d`]) tries(() => ctx.detach("Fails", 0, { instance }));
  ctx.attributes(Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`n${n}`, n])));
  tries(() => ctx.attributes({ more: 1 }));
  said.push(await ctx.step("inline", () => 5));
  tries(() => ctx.detach("Fails", 0, { instance: id }));
  return [...said, await ctx.call(square, 3)];
});

async function told() {
  await run("Fails", 0, { instance: "taken" });
  const id = await run("Told", "taken"), taken = "Refused: instance 'taken' exists already";
  const output = (await ended(id)).output;
  assert.match(output.splice(4, 1)[0], /^Refused: .*32/);
  assert.deepEqual(output, [4, taken, `${id}-d`, `Refused: instance '${id}-d' exists already`, 5, taken, 9]);
  await ended(`${id}-d`);
}

// A cold run of more events than a turn has.
worker.orchestration("Pages", async (ctx) => {
  for (let i = 0; i < 1200; i++) ctx.status(`${i}`);
  return ctx.event("Go");
});

async function paged() {
  const id = await run("Pages", null);
  await until(async () => (await client.get(id)).custom_status === "1199", "its first step");
  const other = new Worker(client, { say: (text) => said.push(text) });
  worker.stop();
  await served;
  other.orchestration("Pages", async (ctx) => {
    for (let i = 0; i < 1200; i++) ctx.status(`${i}`);
    return ctx.event("Go");
  });
  const again = other.run({ signals: false });
  await client.raise(id, "Go", 7);
  assert.equal((await ended(id)).output, 7);
  other.stop();
  await again;
}

// ---- A run that is not kept is built again -------------------------------------------------------

async function evicted() {
  const small = new Worker(client, { cache: 1, say: (text) => said.push(text) }).orchestration("Long", async (ctx, n) => {
    for (let i = 0; i < 5; i++) n += await ctx.event("More");
    return n;
  });
  const served = small.run({ signals: false });
  await until(async () => client.start("Long", 0, { instance: "long" }).then(() => true, () => false), "the server knows the code");
  const ids = await Promise.all([1, 2, 3, 4].map((n) => run("Long", n)));
  for (let i = 0; i < 5; i++) for (const id of ids) await client.raise(id, "More", 10);
  assert.deepEqual(await Promise.all(ids.map(async (id) => (await ended(id)).output)), [51, 52, 53, 54]);
  small.stop();
  await served;
}

const parts = { work, mail, time, across, blocks, fails, evicted, again, rerun, told, paged };
const served = worker.run({ signals: false });
await until(async () => client.start("Fails", 0, { instance: "first" }).then(() => true, () => false), "the server knows the code");
for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts)) {
  const watch = setTimeout(() => { console.log(`${name} hangs: ${said.join("\n")}`); process.exit(1); }, 40000);
  await parts[name]().catch((error) => { console.log(`${name}: ${error.stack}\n${said.join("\n")}`); process.exit(1); });
  clearTimeout(watch);
}
worker.stop();
await served;
client.close();
console.log("all flows");
