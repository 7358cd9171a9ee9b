// SPDX-License-Identifier: MIT
// Recorded histories against the code at hand: would a deploy block anything?
//
//     pawl-node check FILE.mjs …  [--url URL] [--history EXPORT.json …]
//
// FILE.mjs exports what orchestration(…) returned, or runs a worker with it, which then serves nothing.  Without --history every open instance of these
// orchestrations and versions is read from the server and replayed; nothing is changed there.  The status is 1
// when a history does not fit.  Called by bin/pawl-node.js and by tests.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "./client.js";
import { isCode } from "./turns/code.js";
import { installGuards } from "./turns/guards.js";
import { tryRuntime } from "./turns/place.js";
import { Runner } from "./turns/runner.js";
import { path as urlOf } from "./wire.js";

const LOOKER = Symbol.for("pawl.looker");
const OPEN = "pending,running,suspended,blocked";

/** The events of an export, as turns have them: payloads are texts again. */
export function eventsOf(exported) {
  return exported.events.map(({ seq, kind, ref, name, data, encoding, attrs, at }) => {
    const text = data === null && encoding === undefined ? "" : encoding === "text" ? data : encoding === "base64" ? undefined : JSON.stringify(data);
    return {
      seq, kind, at, ...(ref ? { ref } : {}), ...(name ? { name } : {}), ...(attrs ? { attrs } : {}),
      ...(text === undefined ? { data64: data } : text === "" ? {} : { data: text }),
    };
  });
}

/** What is wrong, or null. */
export async function checkHistory(runner, exported) {
  const run = runner.make({ run: "check", ...exported });
  await run.feed(eventsOf(exported));
  return run.broken;
}

/** The orchestrations that the files export, and those of workers that they run: these return at once. */
async function load(files) {
  const runner = new Runner(), found = new Set();
  globalThis[LOOKER] = (code) => found.add(code);
  try {
    for (const file of files)
      for (const what of Object.values(await import(pathToFileURL(path.resolve(file)).href)).flat())
        if (isCode(what, "orchestration")) found.add(what);
  } finally {
    delete globalThis[LOOKER];
  }
  for (const code of found) runner.add(code);
  if (runner.codes.size === 0)
    throw new Error(`no orchestration is exported by ${files.join(", ")}, or run by a worker there: export what orchestration(…) returned`);
  return runner;
}

async function* fromServer(client, runner) {
  for (const name of new Set(runner.list().map((c) => c.name)))
    for await (const { instance } of client.list({ orchestration: name, status: OPEN })) {
      let whole;
      for (let after = 0; after !== undefined && after !== null; ) {
        const page = await client.request("GET", urlOf`/api/v1/instances/${instance}/export`, { query: { after } });
        whole = whole ? { ...whole, events: [...whole.events, ...page.events] } : page;
        after = page.next;
      }
      yield whole;
    }
}

async function* fromFiles(files) {
  for (const file of files) yield JSON.parse(fs.readFileSync(file, "utf8"));
}

/** Look at all of them: {checked, left, wrong}; each finding goes to `say`. */
export async function check(files, { histories = [], client, say = () => {} }) {
  await tryRuntime();
  installGuards();
  const runner = await load(files), count = { checked: 0, left: 0, wrong: 0 };
  for await (const exported of histories.length ? fromFiles(histories) : fromServer(client, runner)) {
    if (!runner.codes.has(`${exported.orchestration}@${exported.version}`)) {
      count.left++; // another version has it
      continue;
    }
    count.checked++;
    const broken = await checkHistory(runner, exported);
    if (!broken) continue;
    count.wrong++;
    const { site, text, error } = broken.mismatch ?? broken.bug;
    say(`${exported.instance} (${exported.orchestration} ${exported.version})${site ? ` at ${site}` : ""}: ${text ?? error}`);
  }
  return count;
}

const USAGE = "usage: pawl-node check FILE.mjs … [--url URL] [--history EXPORT.json …]";

export async function main(words) {
  const files = [], histories = [];
  let url, to = files;
  if (words[0] !== "check") throw new Error(USAGE);
  for (const word of words.slice(1)) {
    if (to === null) [url, to] = [word, files];
    else if (word === "--url") to = null;
    else if (word === "--history") to = histories;
    else if (word.startsWith("-")) throw new Error(`unknown flag ${word}; ${USAGE}`);
    else to.push(word);
  }
  if (files.length === 0 || to === null) throw new Error(USAGE);
  const client = new Client(url), { checked, left, wrong } = await check(files, { histories, client, say: console.log });
  client.close();
  console.log(`${checked} checked, ${wrong} do not fit${left ? `, ${left} of other versions` : ""}`);
  return wrong ? 1 : 0;
}
