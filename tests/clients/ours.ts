// SPDX-License-Identifier: MIT
// clients/node as a TypeScript program sees it: this must compile with --strict, and what is marked must not.
import { activity, Cancelled, Client, Conflict, Context, Fail, Final, Instance, Json, orchestration, TaskFailed, Worker } from "pawl";
import { Blocked, simulate, World } from "pawl/testing";

interface Order { id: string; amount: number }
interface Review { approved: boolean }

const charge = activity("Charge", async (order: Order, task) => ({ receipt: `${order.id}/${task.attempt}` }));
const refund = activity("Refund", async (_receipt: string) => true);
const order = orchestration("TypedOrder", { version: "1.2.0" }, async (ctx: Context, o: Order): Promise<string> => {
  const { receipt } = await ctx.call(charge, o, { attempts: 5, start_to_close_ms: 30_000 });
  const review = ctx.event<Review>("Review"), limit = ctx.timer(48 * 3600e3);
  try {
    const { key, task } = await ctx.select({ review, limit });
    ctx.cancel(key === "review" ? limit : review);
    if (key === "limit") throw new Fail("no review in time");
    if (!task.result().approved) throw new Fail("refused");
    const [a, b]: [string, number] = await ctx.all(ctx.step("ship", () => receipt), ctx.call<number>("Weigh", o));
    const won = await ctx.race(ctx.sleep(10), ctx.call(charge, o));
    ctx.state.set("shipped", { a, b, index: won.index });
    return a;
  } catch (error) {
    if (error instanceof Cancelled) await ctx.shield(() => ctx.call(refund, receipt));
    if (error instanceof TaskFailed && error.kind === "poison") ctx.log.warn(error.text);
    throw error;
  }
  // @ts-expect-error: the activity takes an order
  ctx.call(charge, "order");
  // @ts-expect-error: an option that does not exist
  ctx.call(charge, o, { atempts: 5 });
});

async function world(): Promise<void> {
  await simulate(async (w) => {
    w.orchestration(order).activity(charge).activity(refund).activity("Weigh", () => 7);
    const id = await w.start(order, { id: "o-1", amount: 3 });
    await w.raise(id, "Review", { approved: true });
    const shipped: string = await w.result(id);
    if (shipped !== "o-1/1" || w.get(id).state["shipped"].b !== 7) throw new Error(shipped);
    await w.run(order, { id: "o-2", amount: 1 }).catch((e: unknown) => {
      if (!(e instanceof Fail) || e.message !== "no review in time") throw e;
    });
  }, { seeds: 20 });
  const clock = orchestration("Clock", async () => Date.now());
  await new World().orchestration(clock).run(clock, undefined).then(() => { throw new Error("not guarded"); }, (e: unknown) => {
    if (!(e instanceof Blocked) || !e.message.includes("ctx.now")) throw e;
  });
}

async function main(url: string, token: string): Promise<void> {
  await world();
  const client = new Client(url, { token });
  const started = await client.start("Echo", { a: 1 }, { instance: "ts", if_exists: "use" });
  const end: Instance = await client.wait(started.instance, { timeout_ms: 20000 });
  const output: Json | undefined = end.output;
  if (JSON.stringify(output) !== '{"a":1}') throw new Error("no echo");
  for await (const event of client.history("ts")) if (event.seq < 1) throw new Error(event.kind);
  const { lock_id, items } = await client.queue("q").popLocked({ ttl_seconds: 5 });
  if (lock_id !== null || items.length) throw new Error("not empty");
  await client.start("Echo", 2, { instance: "ts" }).catch((e: unknown) => {
    if (!(e instanceof Conflict) || e.status !== 409) throw e;
  });
  const worker = new Worker(client, { concurrency: 2 }).activity("Charge", (input, task) => {
    if (task.cancelled) throw new Final("too late");
    return input;
  });
  worker.stop();
  await worker.run({ signals: false });
  // @ts-expect-error: an option that does not exist
  await client.wait("ts", { timeout: 5 });
  client.close();
  console.log("ok");
}

main(process.argv[2]!, process.argv[3]!);
