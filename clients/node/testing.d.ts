// SPDX-License-Identifier: MIT
// pawl/testing: orchestrations in virtual time, without a server.
import type { Activity, Attributes, Context, Orchestration, OrchestrationOptions, Question, Task } from "./index.js";

/** 1500 (milliseconds), "90s", "15m", "48h", "7d". */
export type Span = number | string;

export function duration(span: Span): number;

/** The code does not fit its history, or is wrong: a server would block the instance. */
export class Blocked extends Error {
  readonly finding: { text?: string; error?: string; site?: string; [more: string]: unknown };
}

/**
 * A server in memory with a clock of its own. Everything that can happen at once has happened when a call
 * returns; time passes only in skip(), run() and result(). After every step the history is replayed by fresh
 * code: code that is not deterministic throws Blocked.
 *
 *     const world = new World().orchestration(order).activity("Charge", () => "r-1");
 *     const id = await world.start(order, { amount: 3 });
 *     await world.raise(id, "Review", { ok: true });
 *     assert.equal(await world.result(id), "shipped");
 */
export class World {
  constructor(options?: { now?: number; dice?: number; check?: boolean; guards?: boolean });
  now: number;
  readonly logs: { level: string; text: string }[];
  readonly queues: Record<string, any[]>;
  orchestration<In, Out>(orchestration: Orchestration<In, Out>): this;
  orchestration(name: string, options: OrchestrationOptions, run: (ctx: Context, input: any) => Promise<unknown>): this;
  orchestration(name: string, run: (ctx: Context, input: any) => Promise<unknown>): this;
  /** The same name again replaces the one before. */
  activity<In, Out>(activity: Activity<In, Out>): this;
  activity(name: string, run: (input: any, task: Task) => unknown): this;
  start<In>(orchestration: Orchestration<In, any>, input: In, options?: { instance?: string; version?: string }): Promise<string>;
  start(orchestration: string, input?: unknown, options?: { instance?: string; version?: string }): Promise<string>;
  /** Start it and let it end: its output. A failure is thrown as Fail, a cancellation as Cancelled. */
  run<In, Out>(orchestration: Orchestration<In, Out>, input: In, options?: { instance?: string; version?: string }): Promise<Out>;
  run(orchestration: string, input?: unknown, options?: { instance?: string; version?: string }): Promise<any>;
  result(instance: string): Promise<any>;
  raise(instance: string, event: string, data?: unknown): Promise<void>;
  update(instance: string, name: string, data?: unknown): Promise<any>;
  cancel(instance: string, reason?: string): Promise<void>;
  terminate(instance: string, reason?: string): Promise<void>;
  /** Let time pass. */
  skip(span: Span): Promise<void>;
  settle(): Promise<void>;
  get(instance: string): {
    instance: string; orchestration: string; version: string; status: "running" | "completed" | "failed" | "cancelled"; execution: number;
    output: any; error: string | undefined; custom_status: string | undefined; attributes: Attributes; state: Record<string, any>;
    asks: { event: string; ask: Question }[]; waiting_for: { id: number; kind: string; name: string }[];
  };
  history(instance: string, execution?: number): { seq: number; kind: string; at: number; ref?: number; name?: string; data?: string; attrs?: any }[];
}

/** Run a test in many orders: what could happen at once is swapped, runs are evicted, messages batched. */
export function simulate(test: (world: World) => Promise<void>, options?: { seeds?: number; from?: number }): Promise<void>;
