// SPDX-License-Identifier: MIT
// The examples in virtual time: `node --test` in this directory, no server needed.
import assert from "node:assert/strict";
import test from "node:test";
import { Cancelled } from "pawl";
import { World, simulate } from "pawl/testing";
import { order, reserveInventory, shipOrder, validatePayment } from "./order.mjs";
import { activities, trip } from "./saga.mjs";
import { notify, purchase } from "./approval.mjs";
import { agent, look, refund, think } from "./agent.mjs";

const shop = (world) => world.orchestration(order).activity(validatePayment).activity(reserveInventory).activity(shipOrder);

test("an order is reviewed, shipped and closed after thirty days", async () => {
  const world = shop(new World()), before = world.now;
  const id = await world.start(order, { id: "o-1" });
  await world.raise(id, "FraudReview", { approved: true });
  assert.equal(await world.result(id), "Order completed successfully");
  assert.equal(world.now - before, 30 * 86400e3);
});

test("an order that nobody reviews fails after two days, whatever the order of events", () =>
  simulate(async (world) => {
    const id = await shop(world).start(order, { id: "o-1" });
    await world.skip("47h");
    assert.equal(world.get(id).status, "running");
    await assert.rejects(world.result(id), /no fraud review in time/);
  }, { seeds: 20 }));

test("a refused card is not tried again, and a bank that is down is", async () => {
  await assert.rejects(shop(new World()).run(order, { id: "o-1", card: "refused" }), /card refused/);
  let tries = 0;
  const world = shop(new World()).activity("ValidatePayment", () => { if (++tries < 5) throw new Error("down"); });
  await assert.rejects(world.run(order, { id: "o-1", review_ms: 10 }), /no fraud review/);
  assert.equal(tries, 5);
});

test("a trip is undone in reverse, also when the traveller cancels", async () => {
  const undone = [], world = new World().orchestration(trip);
  for (const one of activities) world.activity(one.name, (input, task) => { if (one.name.startsWith("Cancel")) undone.push(one.name); return one.run(input, task); });
  await assert.rejects(world.run(trip, { trip: "Oslo", fail: "BookCar" }), /BookCar: sold out; 2 bookings undone/);
  assert.deepEqual(undone.splice(0), ["CancelHotel", "CancelFlight"]);
  const id = await world.start(trip, { trip: "Oslo" });
  await world.cancel(id, "ill");
  await assert.rejects(world.result(id), Cancelled);
  assert.deepEqual(undone.splice(0), ["CancelCar", "CancelHotel", "CancelFlight"]);
  const held = await world.start(trip, { trip: "Oslo" });
  await world.raise(held, "Confirm");
  assert.equal(await world.result(held), "booked: 3 legs");
});

test("the second person is asked after three days", async () => {
  const world = new World().orchestration(purchase).activity(notify), id = await world.start(purchase, { what: "a chair" });
  assert.match(world.get(id).asks[0].ask.title, /^the team lead/);
  await world.skip("3d");
  assert.match(world.get(id).asks[0].ask.title, /^the head/);
  await world.raise(id, "Decision", { approved: true });
  assert.equal(await world.result(id), "approved by the head of the department");
});

test("the agent asks before it refunds, and listens meanwhile", () =>
  simulate(async (world) => {
    world.orchestration(agent).activity(think).activity(look).activity(refund);
    const id = await world.start(agent, { task: "refund order 7" });
    assert.equal(world.get(id).asks[0].event, "Approve");
    await world.raise(id, "Approve", "yes");
    assert.match(await world.result(id), /^done: refunded 900/);
    assert.equal(world.get(id).state.messages.length, 3);
  }, { seeds: 20 }));
