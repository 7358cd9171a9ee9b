// SPDX-License-Identifier: MIT
// Source lines for findings.  Frames are kept with every call of the code and made into text only when a
// finding needs them: the text is what costs.  Called by run.js, context.js.
const OURS = new URL("..", import.meta.url).href; // lib/
const FRAMES = 5; // ours above the author's, at most: more cost time in every call

/** Where the caller is, for siteOf(). */
export function capture(most = FRAMES) {
  const before = Error.stackTraceLimit, frames = {};
  Error.stackTraceLimit = most;
  Error.captureStackTrace(frames, capture);
  Error.stackTraceLimit = before;
  return frames;
}

/** "order.mjs:41": the innermost frame that is neither ours nor Node's; "" if there is none. */
export function siteOf(frames) {
  for (const line of String(frames?.stack ?? "").split("\n")) {
    const found = /^\s+at .*?([^\s(]+):(\d+):\d+\)?$/.exec(line);
    if (!found || found[1].startsWith(OURS) || found[1].startsWith("node:") || found[1].includes("<anonymous>")) continue;
    return `${found[1].replace(/^.*[/\\]/, "")}:${found[2]}`;
  }
  return "";
}
