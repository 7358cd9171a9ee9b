// SPDX-License-Identifier: MIT
// The manual of the Node.js client.  Bodies, options and answers have the names of the HTTP API
// (docs/guide/http.md): what a field means stands there.  Times are milliseconds since 1970 and
// durations `…_ms`, in queues seconds, as on the wire.

/** Anything that JSON has. NaN, Infinity, functions and undefined in arrays are refused, not turned into null. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };

/** An answer other than 2xx. `status` is HTTP's, `code` a stable word, `message` says what to do. */
export class PawlError extends Error {
  readonly status: number;
  readonly code: string;
  /** About the moment, not the request: the same request may succeed later (5xx, 408, 425, 429). */
  readonly passes: boolean;
}
/** 404: there is no such thing. */
export class NotFound extends PawlError {}
/** 409: the state forbids it, or it exists with other contents. */
export class Conflict extends PawlError {}
/** 410: the lock or lease was lost. */
export class Lost extends PawlError {}
/** 423: another consumer holds the queue's lock. */
export class Locked extends PawlError {
  /** Until when, in seconds since 1970. */
  readonly lock_expires_at?: number;
}
/** wait() took longer than its `timeout_ms`; the instance goes on. */
export class WaitTimeout extends Error {}
/** Throw it in an activity: this failure must not be retried. */
export class Final extends Error {}

export type Status =
  | "pending" | "running" | "suspended" | "blocked" | "completed" | "failed" | "cancelled" | "continued_as_new";

/** An instance as the server describes it; more members than these may be there. */
export interface Instance {
  instance: string;
  orchestration: string;
  version: string;
  status: Status;
  execution: number;
  created_at: number;
  updated_at: number;
  input?: Json;
  output?: Json;
  error?: string | null;
  custom_status?: Json;
  waiting_for?: Json;
  parent?: string | null;
  [more: string]: unknown;
}

export interface HistoryEvent {
  seq: number;
  kind: string;
  ref: number;
  name: string | null;
  data: Json;
  at: number;
  [more: string]: unknown;
}

export interface Started {
  instance: string;
  execution: number;
  /** False: this start had been made before. */
  created: boolean;
}

export interface StartOptions {
  /** The id of the instance. With it a start may be repeated: it starts once. */
  instance?: string;
  version?: string;
  allow_unregistered?: boolean;
  start_at?: number;
  delay_ms?: number;
  deadline_ms?: number;
  if_exists?: "same" | "use" | "rerun" | "terminate";
  [more: string]: unknown;
}

export interface JobOptions extends StartOptions {
  attempts?: number;
  backoff?: "exponential" | "linear" | "fixed";
  initial_ms?: number;
  cap_ms?: number;
  factor?: number;
  jitter?: number;
  start_to_close_ms?: number;
  schedule_to_start_ms?: number;
  schedule_to_close_ms?: number;
  heartbeat_ms?: number;
  tag?: string;
  at_most_once?: boolean;
}

export interface RequestOptions {
  body?: unknown;
  query?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** May be sent twice, should the connection break before the answer. Default: GET, or with an Idempotency-Key. */
  repeat?: boolean;
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** What changed in one moment. `reset`: something may have been missed; read your lists again. */
export interface Changes {
  reset?: true;
  more?: true;
  instances: { instance: string; status: Status; execution: number; seq: number; [more: string]: unknown }[];
  queues: string[];
}

/**
 * Calls to one server, over connections that are kept. A promise that resolves means durable.
 *
 *     const client = new Client("http://127.0.0.1:8000");
 *     await client.start("ProcessOrder", { amount: 3 }, { instance: "order-1" });
 *     const { output } = await client.wait("order-1");
 */
export class Client {
  /** Without an address: PAWL_URL, or http://127.0.0.1:8000. Without a token: PAWL_TOKEN. */
  constructor(url?: string, options?: { token?: string; timeout_ms?: number });
  readonly schedules: Schedules;

  /** Any call of the HTTP API; the decoded answer. */
  request(method: string, path: string, options?: RequestOptions): Promise<any>;

  /** Start an orchestration. The same start twice starts one instance. */
  start(orchestration: string, input?: unknown, options?: StartOptions): Promise<Started>;
  /** Run one activity durably, without orchestration code. */
  job(activity: string, input?: unknown, options?: JobOptions): Promise<Started>;
  /** Run an instance that has ended again; without `input` with that of its start. */
  rerun(instance: string, options?: { input?: unknown; version?: string; deadline_ms?: number }): Promise<Started>;
  get(instance: string, query?: { execution?: number; with?: "why" }): Promise<Instance>;
  /** Why it waits: `sentence`, and the same in parts. */
  why(instance: string): Promise<{ sentence: string; [more: string]: unknown }>;
  /** Wait until it has ended; rejects with WaitTimeout when that takes longer than `timeout_ms`. */
  wait(instance: string, options?: { timeout_ms?: number; signal?: AbortSignal }): Promise<Instance>;
  /** Raise an event. With `key` it may be repeated: it is raised once. */
  raise(instance: string, event: string, data?: unknown, options?: { key?: string; await_start?: boolean }): Promise<void>;
  cancel(instance: string, reason?: string): Promise<void>;
  terminate(instance: string, reason?: string): Promise<void>;
  suspend(instance: string, reason?: string): Promise<void>;
  resume(instance: string, reason?: string): Promise<void>;
  /** Try a blocked instance again. */
  retry(instance: string, reason?: string): Promise<void>;
  remove(instance: string, options?: { force?: boolean }): Promise<{ instances: number; executions: number; events: number }>;
  /** One action on many instances: {action, filter or ids, dry_run?, reason?, limit?, after?}. */
  batch(body: Record<string, unknown>): Promise<any>;

  /** Instances, the newest first, page after page. */
  list(query?: Record<string, unknown>): AsyncGenerator<Instance>;
  history(instance: string, query?: { execution?: number; after?: number; limit?: number }): AsyncGenerator<HistoryEvent>;
  executions(instance: string, query?: { after?: number; limit?: number }): AsyncGenerator<any>;
  /** What the code of an instance has published: the value of `key`, or all by key. Not set: NotFound. */
  state(instance: string): Promise<Record<string, Json>>;
  state(instance: string, key: string): Promise<Json>;
  /** One key with its version; with `wait_ms` once the version is above `version`, or the time is over. */
  stateOf(instance: string, key: string, query?: { version?: number; wait_ms?: number }):
    Promise<{ key: string; value: Json; version: number; updated_at: number }>;
  /** The workers that polled lately, and what they hold. */
  workers(): Promise<any>;
  overview(): Promise<any>;
  /** What changes, from now on, over reconnects. End it with `break` or the signal. */
  changes(options?: { signal?: AbortSignal }): AsyncGenerator<Changes>;

  queue(name: string): Queue;
  queues(query?: { prefix?: string; after?: string; limit?: number }): AsyncGenerator<any>;
  /** Close the connections at rest. */
  close(): void;
}

export interface PushOptions {
  priority?: number;
  dedup_id?: string;
  delay_seconds?: number;
  deliver_at?: number;
  expires_in_seconds?: number;
  headers?: Record<string, string>;
  [more: string]: unknown;
}

export interface PopQuery {
  /** 1 to 100; default 1. */
  count?: number;
  /** Wait that long for an item; at most 30. */
  wait_seconds?: number;
  max_priority?: number;
  meta?: 1;
}

/** A durable priority queue. `client.queue("mail")` makes no request. */
export class Queue {
  readonly name: string;
  /** Pushed once, although the request is repeated when its answer gets lost. */
  push(item: unknown, options?: PushOptions): Promise<any>;
  /** All or none, 1 to 1,000: each `{item, priority?, …}`. */
  pushMany(items: ({ item: unknown } & PushOptions)[], options?: { key?: string }): Promise<{ items_pushed: number; ids: string[]; results: { id: string; duplicate: boolean }[] }>;
  /** Take items for good. A connection that breaks may lose them: popLocked() does not. */
  pop(query?: PopQuery): Promise<Json[]>;
  /** Items under a lock; `lock_id` is null when there are none. They come back unless ack() follows in time. */
  popLocked(query?: PopQuery & { ttl_seconds?: number }): Promise<{ items: Json[]; count: number; lock_id: string | null; lock_expires_at?: number; messages?: any[] }>;
  /** How many items are done; rejects with Lost when the lock had run out. */
  ack(lock_id: string): Promise<number>;
  ackMany(lock_ids: string[]): Promise<any>;
  /** The new end of the lock, in seconds since 1970. */
  extend(lock_id: string, options?: { additional_ttl_seconds?: number; ttl_seconds?: number }): Promise<number>;
  release(lock_id: string, options?: { delay_seconds?: number; reason?: string }): Promise<number>;
  /** Give the items up; the name of the dead letter queue. */
  deadletter(lock_id: string, reason?: string): Promise<string>;
  redrive(options?: { max?: number; rate_per_second?: number; target?: string }): Promise<number>;
  purge(options?: { priority?: number }): Promise<number>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  get(): Promise<any>;
  messages(query?: { limit?: number; after?: string; priority?: number; state?: "ready" | "delayed" | "locked" }): AsyncGenerator<any>;
  message(id: string): Promise<any>;
  drop(id: string): Promise<void>;
  locks(): Promise<any[]>;
  config(): Promise<any>;
  /** Replace the whole configuration. */
  setConfig(config: Record<string, unknown>): Promise<any>;
  /** Change the fields that are named; null is the default of one. */
  changeConfig(config: Record<string, unknown>): Promise<any>;
  remove(options?: { force?: boolean }): Promise<number>;
}

export interface Instant {
  at: number;
  utc: string;
  local: string;
}

/** Schedules (docs/guide/schedules.md): `client.schedules`. */
export class Schedules {
  /** Store a schedule, or change it: {cron, zone, every_ms or at_ms; orchestration or queue; input, overlap, missed …}. */
  put(name: string, spec: Record<string, unknown>, options?: { if_revision?: number }): Promise<{ name: string; revision: number; zone: string; next: Instant[] }>;
  get(name: string): Promise<any>;
  list(query?: { prefix?: string; limit?: number; after?: string }): AsyncGenerator<any>;
  next(name: string, query?: { count?: number; from?: number }): Promise<Instant[]>;
  /** When a spec would be due; nothing is stored. */
  preview(spec: Record<string, unknown>, query?: { count?: number; from?: number }): Promise<Instant[]>;
  pause(name: string, reason?: string): Promise<void>;
  resume(name: string): Promise<void>;
  /** Start it now, beside what runs; the same key twice starts once. */
  run(name: string, key?: string): Promise<{ instance: string }>;
  backfill(name: string, body: { from_ms: number; to_ms: number; allow?: boolean; spec?: Record<string, unknown> }): Promise<void>;
  remove(name: string, options?: { if_revision?: number }): Promise<void>;
}

/** What an activity knows about its call. */
export interface Task {
  readonly instance: string;
  readonly execution: number;
  readonly id: number;
  readonly activity: string;
  readonly input: any;
  /** 1, 2, 3 … */
  readonly attempt: number;
  /** The same for every attempt of this call: hand it to the outside world as idempotency key. */
  readonly key: string;
  readonly token: string;
  /** True when nobody waits for the result any more. */
  readonly cancelled: boolean;
  /** Aborted at that moment: fetch(url, { signal: task.signal }). */
  readonly signal: AbortSignal;
}

/**
 * Serves activities.
 *
 *     const worker = new Worker(client);
 *     worker.activity("Charge", async (order, task) => pay(order.amount, task.key));
 *     await worker.run();                  // until SIGTERM, SIGINT or worker.stop()
 *
 * An activity may run more than once (a worker died, a lease was lost). What it returns is the
 * result; what it throws is a failed attempt, and `Final` one that must not be retried. Both are
 * handed in until the lease is over, however often the server is away meanwhile. A result the
 * server refuses is printed and becomes a failure that is not retried. A function that blocks the
 * event loop for longer than `lock_ms` loses its lease: use worker threads for such work.
 */
export class Worker {
  constructor(client?: Client, options?: {
    /** Activities at a time; default 8. */
    concurrency?: number;
    /** How long a lease lives without a heartbeat; default 30,000. */
    lock_ms?: number;
    /** Also calls with these tags. */
    tags?: string[];
    /** For people: `pawl worker ls`. Default: host and pid. */
    name?: string;
    /** Where remarks go; default: one line on standard error. */
    say?: (text: string) => void;
  });
  activity(name: string, run: (input: any, task: Task) => unknown): this;
  /** Serve until stop(), the signal, SIGTERM or SIGINT; what runs is finished and handed in. */
  run(options?: { signals?: boolean; signal?: AbortSignal }): Promise<void>;
  /** Take no new work. */
  stop(): void;
}
