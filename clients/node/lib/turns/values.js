// SPDX-License-Identifier: MIT
// Payloads are texts: JSON on our side, whatever another language wrote on theirs.  Nothing (undefined) is
// the empty text; a text that is no JSON is given as it is.  Two payloads are the same for replay when
// their bytes are, or when both are JSON objects, or both arrays, and equal as values: another order of
// members is no change of the code.  Called by run.js, context.js, session.js.
import { encode } from "../wire.js";

/** `raw`: texts are left alone. */
export function textOfValue(value, raw) {
  if (value === undefined) return "";
  if (raw) {
    if (typeof value !== "string") throw new TypeError(`with codec "raw" a payload is a text, not ${typeof value}`);
    return value;
  }
  if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) return JSON.stringify(value);
  return encode(value) ?? "";
}

export function valueOfText(text, raw) {
  if (raw) return text;
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function same(a, b) {
  if (a === b) return true;
  if ((a[0] !== "{" && a[0] !== "[") || a[0] !== b[0]) return false;
  try {
    return equal(JSON.parse(a), JSON.parse(b));
  } catch {
    return false;
  }
}

function equal(a, b) {
  if (a === b) return true;
  if (!a || !b || typeof a !== "object" || typeof b !== "object" || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && equal(a[k], b[k]));
}

/** The byte where two texts begin to differ. */
export function firstDifference(a, b) {
  const x = Buffer.from(a), y = Buffer.from(b);
  let i = 0;
  while (i < x.length && i < y.length && x[i] === y[i]) i++;
  return i;
}

/** At most `max` bytes, of whole characters. */
export function cut(text, max) {
  const bytes = Buffer.from(text);
  if (bytes.length <= max) return bytes.toString();
  let n = max;
  while (n > 0 && (bytes[n] & 0xc0) === 0x80) n--;
  return bytes.toString("utf8", 0, n);
}
