// SPDX-License-Identifier: MIT
// pawl/testing: orchestrations in virtual time, without a server.  testing.d.ts is the manual.
export { World, Blocked, duration, simulate } from "./lib/testing/world.js";
