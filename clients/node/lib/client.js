// SPDX-License-Identifier: MIT
// Calls to one server.  Bodies and answers have the names of the HTTP API (docs/guide/http.md), so
// that one page describes both and a new field needs no new client.  index.d.ts is the manual.
import { Limits } from "./limits.js";
import { Queue } from "./queue.js";
import { Schedules } from "./schedules.js";
import { changes } from "./stream.js";
import { WaitTimeout } from "./errors.js";
import { Wire, pages, path } from "./wire.js";
import { nameOf } from "./turns/code.js";
import { randomUUID } from "node:crypto";

const LONGEST_WAIT = 60000; // of one request; the server's limit
const instances = "/api/v1/instances";

export class Client {
  constructor(url, { token, timeout_ms = 75000 } = {}) {
    const where = url ?? process.env.PAWL_URL ?? "http://127.0.0.1:8000";
    this.wire = new Wire(where, token ?? process.env.PAWL_TOKEN, timeout_ms);
    this.schedules = new Schedules(this.wire);
    this.limits = new Limits(this.wire);
  }

  /** Any call of the HTTP API; the decoded answer. */
  async request(method, where, options) {
    return (await this.wire.call(method, where, options)).value;
  }

  start(what, input, options) {
    const orchestration = nameOf(what, "orchestration");
    return this.request("POST", instances, { body: { orchestration, input, ...options }, repeat: hasId(options) });
  }

  job(what, input, options) {
    const activity = nameOf(what, "activity");
    return this.request("POST", "/api/v1/jobs", { body: { activity, input, ...options }, repeat: hasId(options) });
  }

  rerun(instance, options = {}) {
    return this.request("POST", path`/api/v1/instances/${instance}/rerun`, { body: options });
  }

  get(instance, query) {
    return this.request("GET", path`/api/v1/instances/${instance}`, { query });
  }

  why(instance) {
    return this.request("GET", path`/api/v1/instances/${instance}/why`);
  }

  async wait(instance, { timeout_ms = Infinity, signal } = {}) {
    const end = performance.now() + timeout_ms;
    for (;;) {
      const left = Math.max(0, Math.min(LONGEST_WAIT, Math.ceil(end - performance.now())));
      const where = path`/api/v1/instances/${instance}/wait`;
      const answer = await this.wire.call("GET", where, { query: { timeout_ms: left }, signal });
      if (answer.status === 200) return answer.value;
      if (performance.now() >= end) throw new WaitTimeout(`instance '${instance}' is still ${answer.value.status}`);
    }
  }

  async raise(instance, event, data = null, { key, await_start } = {}) {
    await this.request("POST", path`/api/v1/instances/${instance}/events/${event}`, {
      body: data,
      query: { await_start: await_start ? 1 : undefined },
      headers: key === undefined ? {} : { "Idempotency-Key": key },
    });
  }

  async update(instance, name, data = null, { key = randomUUID(), timeout_ms = Infinity, signal } = {}) {
    const end = performance.now() + timeout_ms;
    const left = () => Math.max(0, Math.min(LONGEST_WAIT, Math.ceil(end - performance.now())));
    let answer = await this.wire.call("POST", path`/api/v1/instances/${instance}/updates/${name}`, {
      body: data, query: { timeout_ms: left() }, headers: { "Idempotency-Key": key }, signal,
    });
    while (answer.status !== 200) {
      if (performance.now() >= end) throw new WaitTimeout(`update '${name}' of instance '${instance}' is not answered yet; its id is ${answer.value.update}`);
      const where = path`/api/v1/instances/${instance}/updates/${answer.value.update}`;
      answer = await this.wire.call("GET", where, { query: { wait_ms: left() }, signal });
    }
    return answer.value.result;
  }

  updateOf(instance, update, query) {
    return this.request("GET", path`/api/v1/instances/${instance}/updates/${update}`, { query });
  }

  async setAttributes(instance, change) {
    await this.request("PATCH", path`/api/v1/instances/${instance}/attributes`, { body: change, repeat: true });
  }

  asks(query) {
    return pages(this.wire, "/api/v1/asks", "asks", query);
  }

  async steer(verb, instance, reason) {
    await this.request("POST", `${path`/api/v1/instances/${instance}`}/${verb}`, {
      body: reason === undefined ? undefined : { reason },
    });
  }

  cancel(instance, reason) {
    return this.steer("cancel", instance, reason);
  }

  terminate(instance, reason) {
    return this.steer("terminate", instance, reason);
  }

  suspend(instance, reason) {
    return this.steer("suspend", instance, reason);
  }

  resume(instance, reason) {
    return this.steer("resume", instance, reason);
  }

  retry(instance, reason) {
    return this.steer("retry", instance, reason);
  }

  remove(instance, { force } = {}) {
    return this.request("DELETE", path`/api/v1/instances/${instance}`, { query: { force: force ? 1 : undefined } });
  }

  batch(body) {
    return this.request("POST", `${instances}:batch`, { body });
  }

  list(query) {
    return pages(this.wire, instances, "instances", query);
  }

  history(instance, query) {
    return pages(this.wire, path`/api/v1/instances/${instance}/history`, "events", query);
  }

  executions(instance, query) {
    return pages(this.wire, path`/api/v1/instances/${instance}/executions`, "executions", query);
  }

  async state(instance, key) {
    if (key !== undefined) return (await this.stateOf(instance, key)).value;
    const { items } = await this.request("GET", path`/api/v1/instances/${instance}/state`);
    return Object.fromEntries(items.map((item) => [item.key, item.value]));
  }

  stateOf(instance, key, query) {
    return this.request("GET", path`/api/v1/instances/${instance}/state/${key}`, { query });
  }

  workers() {
    return this.request("GET", "/api/v1/workers");
  }

  overview() {
    return this.request("GET", "/api/v1/overview");
  }

  changes(options) {
    return changes(this.wire, options);
  }

  queue(name) {
    return new Queue(this.wire, name);
  }

  queues(query) {
    return pages(this.wire, "/queue", "queues", query);
  }

  close() {
    this.wire.close();
  }
}

/** Is the second of two such starts recognized? */
function hasId(options) {
  return options?.instance !== undefined || options?.id !== undefined;
}
