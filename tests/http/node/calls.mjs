// SPDX-License-Identifier: MIT
// Every call of clients/node against the server of PAWL_URL (tests/http/test_node.py).
import assert from "node:assert/strict";
import { Client, Conflict, Locked, Lost, NotFound, PawlError, UpdateRefused, WaitTimeout, orchestration } from "../../../clients/node/index.js";

const client = new Client();
const all = async (list) => {
  const got = [];
  for await (const item of list) got.push(item);
  return got;
};
const refused = (promise, kind, text) =>
  assert.rejects(promise, (e) => e instanceof kind && (!text || e.message.includes(text)) || assert.fail(`${e.name}: ${e.message}`));

const exists = (id) => client.get(id).then(() => true, (e) => e instanceof NotFound ? false : Promise.reject(e));

async function instances() {
  assert.deepEqual(await client.start("Echo", { a: [1, "ü"] }, { instance: "e/1 ?" }),
    { instance: "e/1 ?", execution: 1, created: true });
  assert.equal((await client.start("Echo", { a: [1, "ü"] }, { instance: "e/1 ?" })).created, false);
  await refused(client.start("Echo", 2, { instance: "e/1 ?" }), Conflict);
  await refused(client.start("Echoo", 1), NotFound);
  await refused(client.start("Echo", 1, { verison: "1" }), PawlError, "version");
  await refused(client.start("Echo", { mean: NaN }), TypeError, "'mean' is NaN");
  await refused(client.start("Echo", [undefined]), TypeError, "undefined");
  const end = await client.wait("e/1 ?");
  assert.deepEqual([end.status, end.output], ["completed", { a: [1, "ü"] }]);
  assert.equal((await client.get("e/1 ?")).orchestration, "Echo");
  const kinds = (await all(client.history("e/1 ?", { limit: 2 }))).map((e) => e.kind);
  assert.deepEqual(kinds, ["OrchestrationStarted", "ActivityScheduled", "ActivityCompleted", "OrchestrationCompleted"]);
  assert.equal((await client.rerun("e/1 ?", { input: 5 })).execution, 2);
  assert.equal((await client.wait("e/1 ?")).output, 5);
  assert.equal((await all(client.executions("e/1 ?", { limit: 1 }))).length, 2);
  assert.deepEqual(await client.job("Twice", 7, { instance: "job", attempts: 2 }), { instance: "job", execution: 1, created: true });
  assert.equal((await client.wait("job")).output, 7);
}

async function steering() {
  await client.start("Ask", null, { instance: "ask" });
  await assert.rejects(client.wait("ask", { timeout_ms: 50 }), WaitTimeout);
  assert.match((await client.why("ask")).sentence, /Answer/);
  await client.suspend("ask", "lunch");
  await client.resume("ask");
  await client.raise("ask", "Answer", { yes: true }, { key: "k" });
  await client.raise("ask", "Answer", { yes: true }, { key: "k" });
  assert.deepEqual((await client.wait("ask")).output, { yes: true });
  await refused(client.raise("ask", "Answer", 1), Conflict);
  await refused(client.cancel("none"), NotFound, "none");
  for (const [id, verb] of [["c", "cancel"], ["t", "terminate"]]) {
    await client.start("Ask", null, { instance: id });
    await client[verb](id, "enough");
    assert.notEqual((await client.wait(id)).status, "completed");
  }
  assert.equal((await client.remove("t")).instances, 1);
  await refused(client.get("t"), NotFound);
  assert.deepEqual((await all(client.list({ prefix: "as", limit: 1 }))).map((i) => i.instance), ["ask"]);
  const dry = await client.batch({ action: "cancel", filter: { prefix: "as" }, dry_run: true });
  assert.equal(dry.matched, 1);
}

async function state() {
  await client.start("Board", { k: 1 }, { instance: "board" });
  await client.raise("board", "Put", [1]);
  const seen = await client.stateOf("board", "last", { wait_ms: 20000 });
  assert.deepEqual([seen.value, seen.version], [[1], 1]);
  await client.raise("board", "Put", "x");
  await client.wait("board");
  assert.deepEqual(await client.state("board"), { first: { k: 1 }, last: [1], "raw é": "not JSON" });
  assert.equal(await client.state("board", "raw é"), "not JSON");
  await refused(client.state("board", "a/b"), NotFound, "is not set");
}

async function updates() {
  await client.start("Account", 10, { instance: "account" });
  assert.equal(await client.update("account", "add", 5), 15);
  assert.equal(await client.update("account", "add", 5, { key: "once" }), 20);
  assert.equal(await client.update("account", "add", 5, { key: "once" }), 20);
  assert.deepEqual(await client.updateOf("account", "once"), { update: "once", result: 20 });
  await refused(client.update("account", "add", -1), Conflict, "not minus one");
  await refused(client.update("account", "add", "five"), UpdateRefused, "is no number");
  await client.suspend("account");
  await assert.rejects(client.update("account", "add", 1, { timeout_ms: 50 }), WaitTimeout);
  const late = client.update("account", "add", 2, { key: "late" });
  await client.resume("account");
  assert.equal(await late, 23);
  await client.raise("account", "end", 1);
  await client.wait("account");
  await refused(client.update("account", "add", 1), Lost);
}

async function attributes() {
  const echo = orchestration("Echo", async (ctx, input) => input); // the name is what counts
  for (const [id, total] of [["a-1", 10], ["a-2", 600]])
    await client.start(echo, id, { instance: id, attributes: { customer: "c-1", total } });
  await client.setAttributes("a-1", { total: 700, note: "moved" });
  await client.setAttributes("a-1", { note: null });
  const found = async (where) => (await all(client.list({ where }))).map((i) => i.instance).sort();
  assert.deepEqual(await found("customer=c-1"), ["a-1", "a-2"]);
  assert.deepEqual(await found(["customer=c-1", "total>650"]), ["a-1"]);
  await refused(client.setAttributes("a-1", { total: 1.5 }), PawlError, "integer");
  await client.start("Ask", null, { instance: "told", raise: [{ event: "Answer", data: { yes: 1 } }] });
  assert.deepEqual((await client.wait("told")).output, { yes: 1 });
  assert.deepEqual(await all(client.asks({ event: "Approve" })), []);
  assert.throws(() => client.start({ name: "Echo" }), TypeError);
}

async function queues() {
  const mail = client.queue("mail/ü");
  await refused(mail.push(1), PawlError);
  const q = client.queue("mail");
  await q.push({ n: 1 }, { priority: 5 });
  assert.equal((await q.push({ n: 2 }, { priority: 1, dedup_id: "two" })).duplicate, false);
  assert.equal((await q.push({ n: 2 }, { priority: 1, dedup_id: "two" })).duplicate, true);
  const many = await q.pushMany([{ item: 3, priority: 9 }, { item: 4, priority: 9 }], { key: "both" });
  assert.equal(many.items_pushed, 2);
  assert.equal((await q.pushMany([{ item: 3, priority: 9 }, { item: 4, priority: 9 }], { key: "both" })).items_pushed, 0);
  assert.deepEqual((await all(q.messages({ limit: 1 }))).map((m) => m.item), [{ n: 2 }, { n: 1 }, 3, 4]);
  assert.deepEqual(await q.pop(), [{ n: 2 }]);
  const { items, lock_id } = await q.popLocked({ ttl_seconds: 30 });
  assert.deepEqual(items, [{ n: 1 }]);
  await assert.rejects(q.popLocked(), (e) => e instanceof Locked && e.lock_expires_at > 0);
  assert.ok(await q.extend(lock_id, { ttl_seconds: 60 }) > Date.now() / 1000);
  assert.equal((await q.locks()).length, 1);
  assert.equal(await q.ack(lock_id), 1);
  await refused(q.ack(lock_id), PawlError);
  const back = await q.popLocked();
  assert.equal(await q.release(back.lock_id, { reason: "later" }), 1);
  const dead = await q.popLocked();
  assert.equal(await q.deadletter(dead.lock_id, "bad"), "mail-deadletter");
  assert.equal(await client.queue("mail-deadletter").redrive(), 1);
  assert.equal((await q.changeConfig({ max_locks: 0 })).max_locks, 0);
  assert.equal((await q.setConfig({ max_locks: 2 })).max_locks, 2);
  assert.equal((await q.config()).max_locks, 2);
  await q.pause();
  assert.equal((await q.get()).paused, true);
  await q.resume();
  const [one] = await all(q.messages());
  assert.deepEqual((await q.message(one.id)).item, one.item);
  await q.drop(one.id);
  assert.equal(await q.purge(), 1);
  assert.deepEqual(await q.popLocked(), { items: [], count: 0, locked: false, lock_id: null });
  assert.ok((await all(client.queues({ limit: 1 }))).some((x) => x.name === "mail"));
  assert.equal(await q.remove({ force: true }), 0);
}

async function schedules() {
  const s = client.schedules;
  const spec = { cron: "30 2 * * *", zone: "Europe/Berlin", orchestration: "Echo", input: 1 };
  assert.equal((await s.preview(spec, { count: 2 })).length, 2);
  assert.equal((await s.put("nightly", spec)).revision, 1);
  await refused(s.put("nightly", spec, { if_revision: 9 }), PawlError);
  await refused(s.put("never", { ...spec, cron: "30 2 30 2 *" }), PawlError, "never fires");
  assert.equal((await s.next("nightly", { count: 3 })).length, 3);
  await s.pause("nightly", "holiday");
  assert.equal((await s.get("nightly")).paused, true);
  await s.resume("nightly");
  const { instance } = await s.run("nightly", "k1");
  for (let i = 0; (await s.get("nightly")).triggered !== 1 || !(await exists(instance)); i++) assert.ok(i < 1000);
  assert.equal((await client.wait(instance)).output, 1);
  assert.deepEqual((await all(s.list({ limit: 1 }))).map((x) => x.name), ["nightly"]);
  await s.backfill("nightly", { from_ms: Date.now() - 3 * 86400e3, to_ms: Date.now(), allow: true });
  await s.remove("nightly");
  await refused(s.get("nightly"), NotFound);
}

async function limits() {
  const { revision } = await client.limits.put("bank", { match: [{ activity: "Twice" }], concurrency: 2, rate: { count: 100, per_ms: 1000 } });
  assert.equal((await client.limits.get("bank")).spec.concurrency, 2);
  assert.deepEqual((await all(client.limits.list({ prefix: "ba" }))).map((l) => l.name), ["bank"]);
  await refused(client.limits.put("bank", { match: [{ activity: "Twice" }], concurrency: 3 }, { if_revision: revision + 7 }), PawlError);
  await refused(client.limits.put("bad", { match: [], concurrency: 1 }), PawlError);
  await client.limits.remove("bank");
  await refused(client.limits.get("bank"), NotFound);
}

async function stream() {
  const stop = new AbortController();
  const seen = (async () => {
    for await (const batch of client.changes({ signal: stop.signal }))
      if (batch.instances.some((i) => i.instance === "seen" && i.status === "completed")) return "seen";
  })();
  await client.wait((await client.start("Echo", 1, { instance: "before" })).instance);
  for (let i = 0; i < 100; i++) { // the stream may begin after the first of them
    await client.start("Echo", i, { instance: "seen", if_exists: "terminate" });
    if (await Promise.race([seen, new Promise((r) => setTimeout(r, 100))])) break;
  }
  assert.equal(await seen, "seen");
  stop.abort();
  const none = new AbortController();
  setTimeout(() => none.abort(), 50);
  for await (const _ of client.changes({ signal: none.signal }));
}

for (const part of [instances, steering, state, updates, attributes, queues, schedules, limits, stream]) await part();
assert.equal(typeof (await client.overview()).now, "number");
assert.ok(Array.isArray((await client.workers()).items));
await refused(new Client("http://127.0.0.1:9").get("x"), Error);
assert.throws(() => new Client("ftp://x"), /http/);
assert.ok(new Lost(410, "lost", "x") instanceof PawlError);
client.close();
console.log("all calls");
