// SPDX-License-Identifier: MIT
// Book a trip; when anything goes wrong, or the traveller cancels, undo what was booked, in reverse.
//
//     node saga.mjs
//     pawl start Trip --id t-1 --input '{"trip":"Oslo","fail":"BookCar"}' && pawl wait t-1
//     pawl start Trip --id t-2 --input '{"trip":"Oslo"}' && pawl raise t-2 Confirm && pawl wait t-2
//
// Input: {"trip":"…"} and, optionally, "fail" (the activity that shall fail), "hold_ms" (how long the bookings
// are held for the event Confirm; 1 hour).
import { Cancelled, Fail, TaskFailed, Worker, activity, orchestration } from "pawl";

const agency = (name) => activity(name, async (trip) => {
  if (trip.fail === name) throw new Fail(`${name}: sold out`);
  return "ok";
});
const legs = ["Flight", "Hotel", "Car"].map((leg) => ({ book: agency(`Book${leg}`), undo: agency(`Cancel${leg}`) }));

export const trip = orchestration("Trip", { version: "1.0.0" }, async (ctx, input) => {
  const booked = [];
  try {
    for (const leg of legs) {
      await ctx.call(leg.book, input);
      booked.unshift(leg);
    }
    ctx.status("held, waits for Confirm");
    const { key } = await ctx.select({ confirm: ctx.event("Confirm"), hold: ctx.timer(input.hold_ms ?? 3600e3) });
    if (key === "confirm") return `booked: ${booked.length} legs`;
    throw new Fail("not confirmed in time");
  } catch (error) {
    if (!(error instanceof Fail || error instanceof Cancelled)) throw error; // a mistake in this code: it is blocked, not undone
    // Inside a shield awaits wait although the instance is being cancelled.
    await ctx.shield(async () => {
      for (const leg of booked) await ctx.call(leg.undo, input, { attempts: 10, initial_ms: 100 });
    });
    if (error instanceof Cancelled) throw error;
    throw new Fail(`${error instanceof TaskFailed ? error.text : error.message}; ${booked.length} bookings undone`);
  }
});

export const activities = legs.flatMap(({ book, undo }) => [book, undo]);

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const worker = new Worker().orchestration(trip);
  for (const one of activities) worker.activity(one);
  await worker.run();
}
