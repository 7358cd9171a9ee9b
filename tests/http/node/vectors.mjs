// SPDX-License-Identifier: MIT
// tests/protocol/turns.json through the Node.js client: each turn goes to a worker that never saw the run,
// and its answer must be the one in the file.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Runner } from "../../../clients/node/lib/turns/runner.js";
import { orchestration } from "../../../clients/node/lib/turns/code.js";
import { walk } from "./program.mjs";

/** Without what is said differently in each language. */
function plain({ mismatch, bug, ...answer }) {
  if (mismatch) return { mismatch: { code: mismatch.code, seq: mismatch.seq } };
  return bug ? { bug: true } : JSON.parse(JSON.stringify(answer));
}

async function answerOf({ program, limits }, turn) {
  const runner = new Runner();
  runner.limits = limits;
  runner.add(orchestration(turn.orchestration, { codec: "raw", version: turn.version }, (ctx, input) => walk(ctx, program, input)));
  return plain((await runner.drive(turn)).answer);
}

const vectors = JSON.parse(fs.readFileSync(new URL("../../protocol/turns.json", import.meta.url)));
let passed = 0, failed = 0;
for (const vector of vectors)
  for (const [i, { turn, answer }] of vector.cases.entries())
    try {
      assert.deepEqual(await answerOf(vector, turn), answer);
      passed++;
    } catch (error) {
      failed++;
      console.log(`FAILED ${vector.script}, case ${i + 1}: ${error.message}`);
    }
console.log(`vectors: ${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
