// SPDX-License-Identifier: MIT
// One request and its answer over HTTP/1.1, on connections that are kept.  Called by the client.
//
// When a connection breaks before the answer came, nobody knows whether the request was acted on.
// A request that may be sent twice (`repeat`) is sent once more; any other rejects, and the caller
// decides.
import http from "node:http";
import https from "node:https";
import { errorOf } from "./errors.js";

const BROKEN = new Set(["ECONNRESET", "EPIPE", "ECONNABORTED"]);

/** JSON of a value.  JSON.stringify turns what JSON does not have into null; this throws instead. */
export function encode(value) {
  return JSON.stringify(value, function check(key, v) {
    const kind = typeof v;
    const bad = (kind === "number" && !Number.isFinite(v)) || kind === "function" || kind === "symbol" ||
      (kind === "undefined" && Array.isArray(this));
    if (bad) throw new TypeError(`the value${key === "" ? "" : ` of '${key}'`} is ${String(v)}, which JSON does not have`);
    return v;
  });
}

/** A path whose parts are escaped: path`/queue/${name}/push`. */
export function path(texts, ...parts) {
  return texts.reduce((all, text, i) => all + encodeURIComponent(parts[i - 1]) + text);
}

/** "?a=1&b=2&b=3", without what is undefined or null; "" if nothing is left. */
export function queryOf(query) {
  const all = Object.entries(query ?? {}).flatMap(([k, v]) => (Array.isArray(v) ? v : [v]).map((one) => [k, one]));
  const given = all.filter(([, v]) => v !== undefined && v !== null);
  return given.length ? `?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}` : "";
}

export class Wire {
  constructor(url, token, timeoutMs) {
    this.url = new URL(url);
    if (this.url.protocol !== "http:" && this.url.protocol !== "https:")
      throw new TypeError("the address must begin with http:// or https://");
    this.base = this.url.pathname.replace(/\/+$/, ""); // of a server behind a proxy: http://host/pawl
    this.token = token;
    this.timeoutMs = timeoutMs;
    this.kind = this.url.protocol === "https:" ? https : http;
    this.agent = new this.kind.Agent({ keepAlive: true, noDelay: true });
  }

  options(method, where, headers, signal) {
    return {
      method,
      agent: this.agent,
      hostname: this.url.hostname.replace(/^\[|\]$/g, ""),
      port: this.url.port || undefined,
      path: this.base + where,
      headers: { ...headers, ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}) },
      signal,
    };
  }

  /** The status and the decoded answer; rejects with a PawlError for 4xx and 5xx. */
  async call(method, where, { body, query, headers, repeat, timeoutMs, signal } = {}) {
    const data = body === undefined ? "" : encode(body);
    const head = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(data), ...headers };
    const options = this.options(method, where + queryOf(query), head, signal);
    const twice = repeat ?? (method === "GET" || "Idempotency-Key" in head);
    let answer;
    try {
      answer = await this.once(options, data, timeoutMs);
    } catch (error) {
      if (!twice || !BROKEN.has(error.code) || signal?.aborted) throw error;
      answer = await this.once(options, data, timeoutMs);
    }
    if (answer.status >= 400) throw errorOf(answer.status, answer.value);
    return answer;
  }

  once(options, data, timeoutMs = this.timeoutMs) {
    return new Promise((resolve, reject) => {
      const request = this.kind.request(options, (response) => {
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => resolve({ status: response.statusCode, value: decode(Buffer.concat(parts)) }));
      });
      request.setTimeout(timeoutMs, () =>
        request.destroy(Object.assign(new Error(`${this.url.origin} did not answer within ${timeoutMs} ms`), { code: "ETIMEDOUT" })));
      request.on("error", reject);
      request.end(data);
    });
  }

  /** An answer that goes on: its response, once the head is there. */
  stream(where, headers, signal) {
    return new Promise((resolve, reject) => {
      const options = { ...this.options("GET", where, headers, signal), agent: undefined };
      const request = this.kind.request(options, (response) => {
        if (response.statusCode === 200) return resolve(response);
        const parts = [];
        response.on("data", (part) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => reject(errorOf(response.statusCode, decode(Buffer.concat(parts)))));
      });
      request.on("error", reject);
      request.end();
    });
  }

  close() {
    this.agent.destroy();
  }
}

/** The items of all pages of a list. */
export async function* pages(wire, where, member, query = {}) {
  for (let after = query.after; ; ) {
    const { value } = await wire.call("GET", where, { query: { ...query, after } });
    yield* value[member];
    if (value.next === null || value.next === undefined) return;
    after = value.next;
  }
}

function decode(bytes) {
  const text = bytes.toString();
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
