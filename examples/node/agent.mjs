// SPDX-License-Identifier: MIT
// An agent: a model decides, tools act, and a person is asked before the dangerous one.
//
//     node agent.mjs
//     pawl start Agent --id a-1 --input '{"task":"refund order 7"}'
//     pawl asks && pawl raise a-1 Approve '"yes"' && pawl wait a-1
//
// The call of the model and each tool are activities: retried, recorded, never paid for twice after a crash.
// The conversation is the state of an ordinary loop; clients may read it (`pawl state a-1`), and talk to the
// agent while it runs (`pawl update a-1 tell '"hurry"'`).
import { Fail, Refused, Worker, activity, orchestration } from "pawl";

/** A model of this example's own.  Put the call of yours here: task.key is its idempotency key. */
export const think = activity("Think", async ({ messages }) => {
  const task = messages.find((m) => m.role === "user").text, done = messages.filter((m) => m.role === "tool").map((m) => m.tool);
  if (!done.includes("Look")) return { tool: "Look", input: task };
  if (!done.includes("Refund")) return { tool: "Refund", input: { task, amount: 900 } };
  return { answer: `done: ${messages.at(-1).text}` };
});

export const look = activity("Look", async (what) => `found ${what}`);
export const refund = activity("Refund", async ({ amount }, task) => `refunded ${amount} (key ${task.key.length ? "given" : "none"})`);

const TOOLS = { Look: { run: look }, Refund: { run: refund, dangerous: true } };
const LONG = 500; // events: then the conversation goes on in a fresh history

export const agent = orchestration("Agent", { version: "1.0.0" }, async (ctx, { task, messages = [{ role: "user", text: task }] }) => {
  let told = ctx.update("tell");
  for (;;) {
    ctx.state.set("messages", messages.slice(-20));
    const thought = ctx.call(think, { messages }, { attempts: 5, start_to_close_ms: 120_000 });
    const { key } = await ctx.select({ told, thought });
    if (key === "told") { // somebody talks while the model thinks: it thinks again, with that
      messages.push({ role: "user", text: told.result() });
      told.answer("noted");
      told = ctx.update("tell");
      ctx.cancel(thought);
      continue;
    }
    const { answer, tool, input } = thought.result();
    if (answer !== undefined) return answer;
    messages.push({ role: "tool", tool, text: await use(ctx, tool, input) });
    if (ctx.historyLength > LONG) ctx.continueAsNew({ task, messages });
  }
});

async function use(ctx, name, input) {
  const tool = TOOLS[name];
  if (!tool) return `there is no tool ${name}`;
  if (tool.dangerous) {
    const approve = ctx.ask("Approve", { title: `May the agent use ${name}?`, text: JSON.stringify(input), choices: ["yes", "no"] });
    const { task } = await ctx.race(approve, ctx.timer(24 * 3600e3));
    if (task !== approve || approve.result() !== "yes") return `a person said no to ${name}`;
  }
  try {
    return await ctx.call(tool.run, input, { attempts: 3 });
  } catch (error) {
    if (!(error instanceof Fail) || error instanceof Refused) throw error;
    return `${name} failed: ${error.message}`; // the model may try something else
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  await new Worker().orchestration(agent).activity(think).activity(look).activity(refund).run();
