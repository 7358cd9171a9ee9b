// SPDX-License-Identifier: MIT
// Limits of calls, looked at live only: a call that breaks one is refused at once, and its refusal is
// recorded, so that a limit that changes later cannot change a replay (S30).  The words are the server's
// (src/base/limits.c, src/engine/api_*.c).  Each check gives the refusal, or undefined.  Called by context.js.

export const DELAY_MAX = 3162240000000; // 100 years
const NAME_MAX = 255;
const STATUS_MAX = 256 * 1024, ASK_MAX = 16 * 1024, ATTRIBUTES_MAX = 64 * 1024;
const STATE_KEY_MAX = 128, STATE_VALUE_MAX = 64 * 1024, STATE_KEYS = 1000, STATE_BYTES = 1024 * 1024;
const PUSH_DELAY_MAX = 7 * 86400000;

export const bytesOf = (text) => Buffer.byteLength(text);

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const PLAIN = /^[\x20-\x7e]+$/;

function wellFormed(text) {
  return text.isWellFormed ? text.isWellFormed() : !/\p{Surrogate}/u.test(text);
}

function checkText(what, text, max) {
  if (text.length === 0) return `${what} is empty; give 1 to ${max} bytes`;
  if (text.length <= max && PLAIN.test(text)) return undefined; // most often
  if (bytesOf(text) > max) return `${what} has ${bytesOf(text)} bytes, the limit is ${max}; shorten it`;
  if (!wellFormed(text)) return `${what} is not UTF-8; encode it as UTF-8`;
  const at = text.search(CONTROL);
  return at < 0 ? undefined : `${what} has a control character at byte ${bytesOf(text.slice(0, at))}; remove it`;
}

export function checkName(what, name) {
  const wrong = checkText(what, name, NAME_MAX);
  const slash = wrong ? -1 : name.indexOf("/");
  return slash < 0 ? wrong : `${what} has a '/' at byte ${bytesOf(name.slice(0, slash))}; use '.' or '-' instead`;
}

/** What is recorded of a name that breaks the limit: at most 255 bytes of whole characters. */
export function cutName(name) {
  if (name.length < 80) return wellFormed(name) ? name : name.replace(/\p{Surrogate}.*$/su, "");
  let kept = name.replace(/\p{Surrogate}.*$/su, "");
  while (bytesOf(kept) > NAME_MAX) kept = [...kept].slice(0, -1).join("");
  return kept;
}

export function checkInstance(id, max) {
  const wrong = checkText("instance id", id, max);
  if (wrong || max > 512 || !/^queue~.*~[0-9]+$/s.test(id)) return wrong;
  return `instance id '${id.slice(0, 100)}' has the form that bound queues make (queue~NAME~NUMBER); choose another id`;
}

const VERSION = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

export function checkVersion(version) {
  if (bytesOf(version) > 64) return `version has ${bytesOf(version)} bytes, the limit is 64; shorten it`;
  if (VERSION.test(version)) return undefined;
  return `version "${version}" is not major.minor.patch[-pre][+build]; write it like 1.4.0`;
}

export function checkDelay(what, ms) {
  return ms >= 0 && ms <= DELAY_MAX ? undefined : `${what} is ${ms} ms, limit 0..${DELAY_MAX} (100 years)`;
}

export function checkPayload(what, text, max) {
  if (!max || text.length * 3 <= max) return undefined;
  const bytes = bytesOf(text);
  return bytes > max ? `${what} is ${bytes} bytes, limit ${max} (--max-payload)` : undefined;
}

export function checkStatus(text) {
  const bytes = bytesOf(text);
  return bytes > STATUS_MAX ? `status is ${bytes} bytes, limit ${STATUS_MAX}` : undefined;
}

/** What a call is for, and how urgent it is. */
export function checkCallOptions(opts) {
  if (opts.tag !== undefined) {
    const wrong = checkName("tag", opts.tag);
    if (wrong) return wrong;
    if (opts.tag.startsWith("pawl.")) return "tag begins with 'pawl.', which is reserved; choose another";
  }
  if (opts.key !== undefined) {
    const wrong = checkText("key", opts.key, 128);
    if (wrong) return wrong;
  }
  const p = opts.priority;
  return p === undefined || (p >= 0 && p <= 999) ? undefined : `priority is ${p}, limit 1..999`;
}

export function checkPush(name, data, opts, limits) {
  const base = name.length <= 2 * NAME_MAX ? name.replace(/(?:-deadletter)+$/, "") || name : name;
  const wrong = checkName("queue name", base);
  if (wrong) return wrong;
  if (name === "." || name === "..") return `queue name is '${name}', which a URL cannot hold; choose another`;
  if (limits.queues === false) return "the store has no queues";
  const max = Math.min(limits.item_bytes ?? 1048576, limits.payload_bytes || Infinity);
  if (bytesOf(data) > max) return `item is ${bytesOf(data)} bytes, limit ${max}`;
  if ((opts.priority ?? 0) < 0) return "Priority must be non-negative";
  const delay = opts.delay_ms ?? 0;
  return delay < 0 || delay > PUSH_DELAY_MAX ? "delay must be between 0 and 7 days" : undefined;
}

export function checkState(state, key, value) {
  if (bytesOf(key) > STATE_KEY_MAX) return `state key is ${bytesOf(key)} bytes, limit ${STATE_KEY_MAX}`;
  const wrong = checkName("state key", key);
  if (wrong || value === undefined) return wrong;
  if (bytesOf(value) > STATE_VALUE_MAX) return `state value is ${bytesOf(value)} bytes, limit ${STATE_VALUE_MAX}`;
  const count = state.count + (state.has(key) ? 0 : 1);
  const bytes = state.bytes + bytesOf(value) + (state.has(key) ? -bytesOf(state.get(key)) : bytesOf(key));
  if (count <= STATE_KEYS && bytes <= STATE_BYTES) return undefined;
  return `state would have ${count} keys and ${bytes} bytes, limit ${STATE_KEYS} keys and ${STATE_BYTES} bytes`;
}

const ATTRIBUTE = /^[a-z][a-z0-9_.-]*$/;

export function checkAttributes(change, text) {
  if (bytesOf(text) > ATTRIBUTES_MAX) return `attributes are ${bytesOf(text)} bytes, limit ${ATTRIBUTES_MAX}`;
  if (Object.keys(change).length > 64) return "a change has more than 64 attributes; make two of it";
  for (const [name, value] of Object.entries(change)) {
    const wrong = checkAttribute(name, value);
    if (wrong) return wrong;
  }
  return undefined;
}

function checkAttribute(name, value) {
  if (!ATTRIBUTE.test(name)) return "an attribute's name begins with a-z and has a-z, 0-9, '_', '.' or '-'; rename one of them";
  const about = (why) => `attribute '${name.slice(0, 63)}' ${why}`;
  if (name.length > 63) return about("has a name of more than 63 bytes; shorten it");
  if (name.startsWith("pawl.")) return about("begins with 'pawl.', which is reserved; rename it");
  if (value === null || value === undefined || Number.isSafeInteger(value)) return undefined;
  if (typeof value === "number") return about("is no integer of 64 bits; give one, or a text");
  if (typeof value === "boolean") return about("is true or false; give 1 or 0");
  if (typeof value !== "string") return about("is an array or an object; give a text or an integer");
  if (bytesOf(value) > 255) return about("is a text of more than 255 bytes; shorten it");
  // eslint-disable-next-line no-control-regex
  return /[\u0000-\u001f\u007f]/.test(value) ? about("has a control character in its text; remove it") : undefined;
}

export function checkAsk(ask, text) {
  const wrong = askFault(ask, text);
  return wrong && `what it asks for cannot be used: ${wrong}`;
}

function askFault(ask, text) {
  if (bytesOf(text) > ASK_MAX) return "it has more than 16384 bytes";
  if (ask === null || typeof ask !== "object" || Array.isArray(ask)) return "it is not a JSON object";
  for (const [key, value] of Object.entries(ask)) {
    if (key === "title" || key === "text") {
      if (typeof value !== "string") return `${key} is not a text`;
    } else if (key === "schema") {
      if (value === null || typeof value !== "object" || Array.isArray(value)) return "schema is not an object";
    } else if (key === "choices") {
      if (!Array.isArray(value) || !value.every((c) => typeof c === "string")) return "choices is not a list of texts";
      if (value.length < 1 || value.length > 100) return "choices has none, or more than 100";
    } else return "its members are title, text, schema and choices";
  }
  return ask.title === undefined && ask.text === undefined ? "it needs a title or a text" : undefined;
}
