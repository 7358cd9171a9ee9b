// SPDX-License-Identifier: MIT
// The workloads on Restate: a service with its JavaScript SDK in this process, called
// through the server's ingress; each step is a ctx.run().
//
//     main.mjs INGRESS_URL ADMIN_URL SECONDS WORKLOAD:IN_FLIGHT…
import * as http from "node:http";
import * as http2 from "node:http2";
import * as restate from "@restatedev/restate-sdk";
import { OUTPUT, body, workflows } from "./load.mjs";

// The SDK wants Node 22; this is all it misses in Node 20.
Promise.withResolvers ??= function () {
  let resolve, reject;
  const promise = new Promise((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
};

const [ingress, admin, seconds, ...plans] = process.argv.slice(2);

const service = restate.service({
  name: "bench",
  handlers: {
    run: (ctx, workload) => body(workload, () => ctx.run("step", () => OUTPUT)),
  },
});

// A port of its own, told to the server.
const server = http2.createServer(restate.createEndpointHandler({ services: [service], logger: () => {} }));
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const made = await fetch(`${admin}/deployments`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ uri: `http://127.0.0.1:${server.address().port}` }),
});
if (!made.ok) throw new Error(`deployment: ${made.status} ${await made.text()}`);

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
const url = new URL(`${ingress}/bench/run`);

function call(id, workload) {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(workload);
    const request = http.request(url, { method: "POST", agent, headers: {
      "content-type": "application/json", "content-length": text.length, "idempotency-key": id } }, (answer) => {
      answer.resume();
      answer.on("end", () => (answer.statusCode === 200 ? resolve() : reject(new Error(`ingress: ${answer.statusCode}`))));
    });
    request.on("error", reject);
    request.end(text);
  });
}

await workflows(seconds, plans, call);
process.exit(0);
