// SPDX-License-Identifier: MIT
// Schedules: what starts again and again (docs/guide/schedules.md).  Called through client.schedules.
import { randomUUID } from "node:crypto";
import { pages, path } from "./wire.js";

export class Schedules {
  constructor(wire) {
    this.wire = wire;
  }

  async call(method, name, verb, options) {
    return (await this.wire.call(method, path`/api/v1/schedules/${name}` + verb, options)).value;
  }

  put(name, spec, { if_revision } = {}) {
    return this.call("PUT", name, "", { body: spec, headers: ifMatch(if_revision) });
  }

  get(name) {
    return this.call("GET", name, "");
  }

  list(query) {
    return pages(this.wire, "/api/v1/schedules", "schedules", query);
  }

  async next(name, query) {
    return (await this.call("GET", name, "/next", { query })).next;
  }

  async preview(spec, query) {
    return (await this.wire.call("POST", "/api/v1/schedules:next", { body: spec, query, repeat: true })).value.next;
  }

  async pause(name, reason) {
    await this.call("POST", name, "/pause", { body: reason === undefined ? {} : { reason } });
  }

  async resume(name) {
    await this.call("POST", name, "/resume");
  }

  run(name, key = randomUUID()) {
    return this.call("POST", name, "/trigger", { headers: { "Idempotency-Key": key } });
  }

  async backfill(name, body) {
    await this.call("POST", name, "/backfill", { body });
  }

  async remove(name, { if_revision } = {}) {
    await this.call("DELETE", name, "", { headers: ifMatch(if_revision) });
  }
}

export function ifMatch(revision) {
  return revision === undefined ? {} : { "If-Match": `"${revision}"` };
}
