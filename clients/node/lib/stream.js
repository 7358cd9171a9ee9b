// SPDX-License-Identifier: MIT
// What changes: GET /api/v1/stream as an async iterator that reconnects.  Called by the client.
//
// Each batch has {instances, queues, more?}.  A batch {reset: true} means that something may have
// been missed (the server restarted, or the connection was away too long): read your lists again.
import { setTimeout as sleep } from "node:timers/promises";

const SILENCE = 45000; // three of the server's pings

export async function* changes(wire, { signal } = {}) {
  let last;
  for (let tries = 0; !signal?.aborted; tries++) {
    const stop = new AbortController();
    const end = () => stop.abort();
    signal?.addEventListener("abort", end, { once: true });
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const response = await wire.stream("/api/v1/stream", headers, stop.signal);
      response.setTimeout(SILENCE, end);
      for await (const event of events(response)) {
        tries = 0;
        last = event.id ?? last;
        yield event.event === "reset" ? { reset: true, instances: [], queues: [] } : JSON.parse(event.data);
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (error.status && !error.passes) throw error;
    } finally {
      signal?.removeEventListener("abort", end);
      end();
    }
    await sleep(Math.min(5000, 200 * 2 ** Math.min(tries, 5)), undefined, { signal }).catch(() => {});
  }
}

/** Server-sent events: {id?, event?, data}, without comments. */
export async function* events(response) {
  let rest = "";
  response.setEncoding("utf8");
  for await (const part of response) {
    const blocks = (rest + part).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = {};
      for (const line of block.split("\n")) {
        const at = line.indexOf(":");
        if (at > 0) event[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, "");
      }
      if (event.data !== undefined) yield event;
    }
  }
}
