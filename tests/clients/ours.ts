// SPDX-License-Identifier: MIT
// clients/node as a TypeScript program sees it: this must compile with --strict, and what is marked must not.
import { Client, Conflict, Final, Instance, Json, Worker } from "pawl";

async function main(url: string, token: string): Promise<void> {
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
