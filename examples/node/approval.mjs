// SPDX-License-Identifier: MIT
// Ask a person; ask somebody else when nobody answers.
//
//     node approval.mjs
//     pawl start Purchase --id chair --input '{"what":"a new chair"}'
//     pawl asks                                        what is asked, of whom
//     pawl raise chair Decision '{"approved":true,"by":"ada"}' && pawl wait chair
//
// Input: {"what":"…"} and, optionally, "patience_ms" (how long each person has; 3 days), "people".
import { Fail, Worker, activity, orchestration } from "pawl";

export const notify = activity("Notify", async (letter) => {
  if (process.env.PAWL_EXAMPLE_LOUD) console.error(`    -> ${letter}`);
  return "sent";
});

export const purchase = orchestration("Purchase", { version: "1.0.0" }, async (ctx, { what, patience_ms, people }) => {
  for (const person of people ?? ["the team lead", "the head of the department"]) {
    ctx.status(`waits for ${person}`);
    await ctx.call(notify, `${person}, may we buy ${what}?`, { attempts: 5 });
    const decision = ctx.ask("Decision", { title: `${person}: may we buy ${what}?`, choices: ["yes", "no"] });
    const patience = ctx.timer(patience_ms ?? 3 * 86400e3);
    if ((await ctx.race(decision, patience)).task === patience) continue; // no answer: ask the next
    const { approved, by = person } = decision.result();
    return `${approved ? "approved" : "refused"} by ${by}`;
  }
  throw new Fail("nobody answered");
});

if (process.argv[1] === new URL(import.meta.url).pathname) await new Worker().orchestration(purchase).activity(notify).run();
