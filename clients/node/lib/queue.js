// SPDX-License-Identifier: MIT
// One durable priority queue (docs/guide/http.md, Queues).  Made by client.queue(name).
import { randomUUID } from "node:crypto";
import { pages, path } from "./wire.js";

export class Queue {
  constructor(wire, name) {
    this.wire = wire;
    this.name = name;
    this.path = path`/queue/${name}`;
  }

  async call(method, verb, options) {
    return (await this.wire.call(method, this.path + verb, options)).value;
  }

  push(item, options = {}) {
    return this.call("POST", "/push", { body: { item, ...options }, ...once(options.dedup_id) });
  }

  /** Under one key: each item without a dedup_id gets the key with its position. */
  pushMany(items, { key } = {}) {
    return this.call("POST", "/push", { body: { items }, ...once(undefined, key) });
  }

  async pop(query) {
    return (await this.call("POST", "/pop", { query })).items;
  }

  async popLocked(query) {
    const answer = await this.call("POST", "/pop", { query: { ...query, require_ack: true } });
    return { lock_id: null, ...answer };
  }

  async ack(lock_id) {
    return (await this.call("POST", "/acknowledge", { body: { lock_id }, repeat: true })).items_acknowledged;
  }

  ackMany(lock_ids) {
    return this.call("POST", "/acknowledge", { body: { lock_ids }, repeat: true });
  }

  async extend(lock_id, options = {}) {
    return (await this.call("POST", "/extend-lock", { body: { lock_id, ...options } })).new_expires_at;
  }

  async release(lock_id, options = {}) {
    return (await this.call("POST", "/release", { body: { lock_id, ...options } })).items_released;
  }

  async deadletter(lock_id, reason) {
    return (await this.call("POST", "/deadletter", { body: { lock_id, reason } })).dlq_id;
  }

  async redrive(options = {}) {
    return (await this.call("POST", "/redrive", { body: options })).items_moved;
  }

  async purge(options = {}) {
    return (await this.call("POST", "/purge", { body: options })).items_purged;
  }

  async pause() {
    await this.call("POST", "/pause");
  }

  async resume() {
    await this.call("POST", "/resume");
  }

  get() {
    return this.call("GET", "");
  }

  messages(query) {
    return pages(this.wire, this.path + "/messages", "messages", query);
  }

  message(id) {
    return this.call("GET", path`/messages/${id}`);
  }

  async drop(id) {
    await this.call("DELETE", path`/messages/${id}`);
  }

  async locks() {
    return (await this.call("GET", "/locks")).locks;
  }

  config() {
    return this.call("GET", "/config");
  }

  setConfig(config) {
    return this.call("PUT", "/config", { body: config });
  }

  changeConfig(config) {
    return this.call("PATCH", "/config", { body: config });
  }

  async remove({ force } = {}) {
    return (await this.call("DELETE", "", { query: { force: force ? true : undefined } })).items_removed;
  }
}

/** Either id lets the server recognize the second of two, should the answer get lost. */
function once(dedup_id, key = randomUUID()) {
  return { repeat: true, headers: dedup_id === undefined ? { "Idempotency-Key": key } : {} };
}
