// SPDX-License-Identifier: MIT
// Time, chance and the network inside an orchestration: they throw, instead of making a history that no
// replay can follow.  Outside orchestrations, in activities and inline steps too, nothing changes.
// Installed once, with the first orchestration of a worker that does not say `guards: false`.
import { Foreign } from "../errors.js";
import { place } from "./place.js";

let installed = false;

function guard(what, instead) {
  const here = place.getStore();
  if (!here?.run.active) return;
  const error = new Foreign(`${what} inside an orchestration: ${instead}`);
  throw error;
}

function wrap(owner, name, what, instead) {
  const real = owner?.[name];
  if (typeof real !== "function") return;
  const guarded = function (...args) {
    guard(what, instead);
    return Reflect.apply(real, this, args);
  };
  Object.defineProperties(guarded, Object.getOwnPropertyDescriptors(real));
  owner[name] = guarded;
}

export function installGuards() {
  if (installed) return;
  installed = true;
  const RealDate = globalThis.Date;
  wrap(RealDate, "now", "Date.now()", "use ctx.now");
  globalThis.Date = new Proxy(RealDate, {
    construct(target, args, created) {
      if (args.length === 0) guard("new Date()", "use ctx.date");
      return Reflect.construct(target, args, created);
    },
    apply(target, self, args) {
      guard("Date()", "use ctx.date");
      return Reflect.apply(target, self, args);
    },
  });
  RealDate.prototype.constructor = globalThis.Date;
  wrap(Math, "random", "Math.random()", "use ctx.random()");
  wrap(globalThis.crypto, "randomUUID", "crypto.randomUUID()", "use ctx.uuid()");
  wrap(globalThis.crypto, "getRandomValues", "crypto.getRandomValues()", "use ctx.random64()");
  for (const name of ["setTimeout", "setInterval", "setImmediate"]) wrap(globalThis, name, `${name}()`, "use await ctx.sleep(ms)");
  wrap(globalThis, "fetch", "fetch()", "use ctx.step() or an activity");
  wrap(globalThis.performance, "now", "performance.now()", "use ctx.now");
}
