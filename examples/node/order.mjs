// SPDX-License-Identifier: MIT
// An order, from the payment to the end of its return window.
//
//     pawl serve &  cd examples/node && npm install && node order.mjs         the worker
//     pawl start Order --id o-1 --input '{"id":"o-1","return_window_ms":2000}'
//     pawl raise o-1 FraudReview '{"approved":true}'
//     pawl wait o-1
//
// Input: {"id":"o-1"} and, optionally, "step_ms" (how long each activity takes; 0), "return_window_ms" (30
// days), "review_ms" (48 hours), "card" ("refused" fails the payment).  kill -9 the worker, or the server, at
// any moment and start it again: the order goes on after its last recorded step.
import { setTimeout as sleep } from "node:timers/promises";
import { Fail, Final, Worker, activity, orchestration } from "pawl";

const HOURS = 3600e3, DAYS = 24 * HOURS;

// Activities: ordinary functions that may take long, fail, and be run again.
const work = (order, task) => sleep(order.step_ms ?? 0, undefined, { signal: task.signal });

export const validatePayment = activity("ValidatePayment", async (order, task) => {
  await work(order, task);
  if (order.card === "refused") throw new Final("card refused");
  return { payment: task.key }; // the same on every attempt: give it to the bank, and it pays once
});

export const reserveInventory = activity("ReserveInventory", async (order, task) => {
  await work(order, task);
  return { warehouse: "north" };
});

export const shipOrder = activity("ShipOrder", async (order, task) => {
  await work(order, task);
  return { carrier: "snail" };
});

// The orchestration: straight-line code.  It may run again from its top at any time.
export const order = orchestration("Order", { version: "1.0.0" }, async (ctx, o) => {
  if (!o?.id) throw new Fail('the order has no "id"');
  await ctx.call(validatePayment, o, { attempts: 5, initial_ms: 200 });
  await ctx.call(reserveInventory, o);

  // A person reviews it within 48 hours, or it fails.
  const review = ctx.event("FraudReview"), limit = ctx.timer(o.review_ms ?? 48 * HOURS);
  if ((await ctx.race(review, limit)).task === limit) throw new Fail("no fraud review in time");
  if (review.result()?.approved === false) throw new Fail("refused by the fraud review");

  await ctx.call(shipOrder, o);
  await ctx.sleep(o.return_window_ms ?? 30 * DAYS); // survives restarts, deploys and months
  await ctx.step("close", () => ({ closed: true })); // in this process, one commit
  return "Order completed successfully";
});

if (process.argv[1] === new URL(import.meta.url).pathname)
  await new Worker().orchestration(order).activity(validatePayment).activity(reserveInventory).activity(shipOrder).run();
