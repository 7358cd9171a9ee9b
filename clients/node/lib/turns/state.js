// SPDX-License-Identifier: MIT
// What an orchestration has published, as far as its code has come: texts by key, with their bytes counted
// for the limit (S60).  Called by run.js, context.js.
import { bytesOf } from "./checks.js";

export class State {
  #items = new Map();
  bytes = 0; // of keys and values

  get count() {
    return this.#items.size;
  }

  has(key) {
    return this.#items.has(key);
  }

  get(key) {
    return this.#items.get(key);
  }

  set(key, text) {
    this.clear(key);
    this.#items.set(key, text);
    this.bytes += bytesOf(key) + bytesOf(text);
  }

  clear(key) {
    if (!this.#items.has(key)) return;
    this.bytes -= bytesOf(key) + bytesOf(this.#items.get(key));
    this.#items.delete(key);
  }

  entries() {
    return this.#items.entries();
  }
}
