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
/** 422: the check of a wait refused the update; nothing was recorded. */
export class UpdateRefused extends PawlError {}
/** wait() or update() took longer than its `timeout_ms`; the instance goes on. */
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
  /** Texts and integers by which it is found: list({ where: "customer=c-42" }). */
  attributes?: Attributes;
  /** Events that its code finds: one commit with the start, both or none. */
  raise?: { event: string; data?: unknown; key?: string }[];
  [more: string]: unknown;
}

/** Texts of at most 255 bytes and integers; null removes one. */
export type Attributes = Record<string, string | number | null>;

/** How often a call is tried, and how long it may take. Times are milliseconds. */
export interface CallOptions {
  /** Tries in all; 1. */
  attempts?: number;
  backoff?: "exponential" | "linear" | "fixed";
  initial_ms?: number;
  cap_ms?: number;
  factor?: number;
  jitter?: number;
  /** Beginnings of error texts that are not retried. */
  final_errors?: string[];
  no_retry_on_timeout?: boolean;
  schedule_to_start_ms?: number;
  start_to_close_ms?: number;
  schedule_to_close_ms?: number;
  heartbeat_ms?: number;
  /** Only workers that ask for the tag get it. */
  tag?: string;
  max_crashes?: number;
  at_most_once?: boolean;
  /** For whom it is: keys take turns. */
  key?: string;
  /** 1 to 999, the lowest first; 100. */
  priority?: number;
}

export interface JobOptions extends StartOptions, CallOptions {}

/** One of the open questions of all instances. */
export interface Ask {
  instance: string;
  orchestration: string;
  execution: number;
  id: number;
  event: string;
  since: number;
  ask: Question;
}

export interface Question {
  title?: string;
  text?: string;
  schema?: Record<string, unknown>;
  choices?: string[];
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
  readonly limits: Limits;

  /** Any call of the HTTP API; the decoded answer. */
  request(method: string, path: string, options?: RequestOptions): Promise<any>;

  /** Start an orchestration. The same start twice starts one instance. */
  start<In>(orchestration: Orchestration<In, any>, input: In, options?: StartOptions): Promise<Started>;
  start(orchestration: string, input?: unknown, options?: StartOptions): Promise<Started>;
  /** Run one activity durably, without orchestration code. */
  job<In>(activity: Activity<In, any>, input: In, options?: JobOptions): Promise<Started>;
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
  /**
   * Ask the code of the instance for something: its answer. A rejection is a Conflict with the code
   * "rejected". It is durable before it waits; with the same `key` it is the same update.
   */
  update(instance: string, name: string, data?: unknown, options?: { key?: string; timeout_ms?: number; signal?: AbortSignal }): Promise<any>;
  /** The answer of an update by its id, if there is one by then. */
  updateOf(instance: string, update: string, query?: { wait_ms?: number }): Promise<{ update: string; result?: any }>;
  /** Merged into what is there; null removes a name. */
  setAttributes(instance: string, change: Attributes): Promise<void>;
  /** What instances ask people for. Answer one with raise(ask.instance, ask.event, …). */
  asks(query?: { event?: string; orchestration?: string; limit?: number; after?: string }): AsyncGenerator<Ask>;
  cancel(instance: string, reason?: string): Promise<void>;
  terminate(instance: string, reason?: string): Promise<void>;
  suspend(instance: string, reason?: string): Promise<void>;
  resume(instance: string, reason?: string): Promise<void>;
  /** Try a blocked instance again. */
  retry(instance: string, reason?: string): Promise<void>;
  remove(instance: string, options?: { force?: boolean }): Promise<{ instances: number; executions: number; events: number }>;
  /** One action on many instances: {action, filter or ids, dry_run?, reason?, limit?, after?}. */
  batch(body: Record<string, unknown>): Promise<any>;

  /** Instances, the newest first, page after page: list({ status: "failed", where: ["customer=c-42", "total>=500"] }). */
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
  /** Items of one group keep their order, if the queue is configured with `groups`. */
  group?: string;
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

/** Limits (docs/guide/limits.md): `client.limits`. */
export class Limits {
  /** Store a limit, or change it: what is matched, how much of it runs at once, how often it begins. */
  put(name: string, spec: {
    match: { activity: string }[];
    by?: "all" | "key" | "first";
    concurrency?: number;
    rate?: { count: number; per_ms: number; burst?: number };
    weights?: Record<string, number>;
    [more: string]: unknown;
  }, options?: { if_revision?: number }): Promise<any>;
  /** What it says, what is in use, and who waits. */
  get(name: string): Promise<any>;
  list(query?: { prefix?: string; limit?: number; after?: string }): AsyncGenerator<any>;
  /** What waited for it goes on. */
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

// ---- Orchestrations ----------------------------------------------------------------------------

/** A function with its name: `const charge = activity("Charge", async (order: Order, task) => …)`. */
export interface Activity<In, Out> {
  readonly what: "activity";
  readonly name: string;
  readonly run: (input: In, task: Task) => Out | Promise<Out>;
}
export function activity<In, Out>(name: string, run: (input: In, task: Task) => Out | Promise<Out>): Activity<In, Out>;

export interface Orchestration<In, Out> {
  readonly what: "orchestration";
  readonly name: string;
  readonly version: string;
  readonly run: (ctx: Context, input: In) => Promise<Out>;
}
export interface OrchestrationOptions {
  /** major.minor.patch; "1.0.0". Running instances stay on theirs. */
  version?: string;
  /** "raw": payloads are texts, left alone. */
  codec?: "json" | "raw";
  /** What a TypeError, ReferenceError … that leaves the code does: "block" (until the code is repaired) or "fail". */
  bugs?: "block" | "fail";
}
export function orchestration<In, Out>(name: string, options: OrchestrationOptions, run: (ctx: Context, input: In) => Promise<Out>): Orchestration<In, Out>;
export function orchestration<In, Out>(name: string, run: (ctx: Context, input: In) => Promise<Out>): Orchestration<In, Out>;

/**
 * A started piece of work. `await` gives its value or throws how it failed; awaiting it twice gives the same.
 * It is decided at the call, not at the await: start several, then await them.
 */
export interface Handle<T> extends PromiseLike<T> {
  readonly id: number;
  /** The instance of a child. */
  readonly instance?: string;
  /** Would an await return at once? */
  readonly done: boolean;
  /** Its value, or its error thrown; once it is done. */
  result(): T;
  catch<R = never>(failed?: ((reason: any) => R | PromiseLike<R>) | null): Promise<T | R>;
  finally(after?: (() => void) | null): Promise<T>;
}
/** A wait for an update: its value is the request. Answer it once. */
export interface UpdateHandle<T, R = unknown> extends Handle<T> {
  answer(value: R): void;
  reject(error: string | Error): void;
}
type Value<H> = H extends Handle<infer T> ? T : never;
type Values<H extends readonly Handle<any>[]> = { -readonly [K in keyof H]: Value<H[K]> };

export interface ChildOptions {
  /** Default: "{parent}:{execution}:{id}". */
  instance?: string;
  version?: string;
  /** The end of the parent leaves it running. */
  abandon?: boolean;
  /** It begins with the attributes of its parent. */
  inherit?: boolean;
  deadline_ms?: number;
}

/**
 * What an orchestration may call. The function may run again from its top at any time, so it must be
 * deterministic: take time and chance from ctx, await only what ctx gave you (and promises made of that), and
 * do everything else in activities or ctx.step().
 */
export interface Context {
  readonly instance: string;
  readonly execution: number;
  readonly name: string;
  readonly version: string;
  /** Events of this execution so far: continue as new before it is long. */
  readonly historyLength: number;
  /** The time of the message that woke the code, in milliseconds since 1970. */
  readonly now: number;
  readonly date: Date;
  /** The occurrence of the schedule that started it; 0: none did. */
  readonly scheduledAt: number;
  /** Was cancellation requested? */
  readonly cancelled: boolean;
  /** Do not branch on it. */
  readonly replaying: boolean;
  readonly log: { error(...words: unknown[]): void; warn(...words: unknown[]): void; info(...words: unknown[]): void; debug(...words: unknown[]): void };

  random(): number;
  random64(): bigint;
  uuid(): string;

  /** Run an activity, in whatever process serves it. */
  call<In, Out>(activity: Activity<In, Out>, input: In, options?: CallOptions): Handle<Awaited<Out>>;
  call<Out = any>(activity: string, input?: unknown, options?: CallOptions): Handle<Out>;
  /** Run a function here, once its beginning is durable; its result is recorded with the next step, in one commit. */
  step<Out>(name: string, run: (task: Task) => Out | Promise<Out>, options?: CallOptions & { input?: unknown }): Handle<Awaited<Out>>;
  step<Out>(run: (task: Task) => Out | Promise<Out>, options?: CallOptions & { input?: unknown }): Handle<Awaited<Out>>;
  /** Ends after so many milliseconds, 0 to 100 years. */
  timer(ms: number): Handle<void>;
  sleep(ms: number): Handle<void>;
  /** The next event of that name, from the mailbox or the future. `fresh`: what came before does not count. */
  event<T = any>(name: string, options?: { fresh?: boolean }): Handle<T>;
  /** event(), shown to people until it is raised: client.asks(), `pawl asks`. */
  ask<T = any>(name: string, question: Question): Handle<T>;
  /** The next update of that name: a request of a client that waits for your answer. */
  update<T = any, R = unknown>(name: string): UpdateHandle<T, R>;
  /** Raise an event to another instance, with this step's commit. */
  raise(instance: string, event: string, data?: unknown, options?: { await_start?: boolean }): void;
  child<In, Out>(orchestration: Orchestration<In, Out>, input: In, options?: ChildOptions): Handle<Awaited<Out>>;
  child<Out = any>(orchestration: string, input?: unknown, options?: ChildOptions): Handle<Out>;
  /** Start an independent instance: its id. */
  detach(orchestration: string | Orchestration<any, any>, input?: unknown, options?: ChildOptions): string;
  /** Push to a queue, with this step's commit. */
  push(queue: string, item: unknown, options?: { priority?: number; delay_ms?: number }): void;
  pop(queue: string, options?: { ttl_ms?: number; wait_ms?: number }): Handle<any>;
  ack(queue: string, lock_id: string): Handle<any>;

  /** All values, in order; the first failure at once, and the others go on. */
  all<V>(tasks: readonly Handle<V>[]): Promise<V[]>;
  all<H extends readonly Handle<any>[]>(...tasks: H): Promise<Values<H>>;
  /** When every one has ended, well or not: the handles; read result() of each. */
  settled<H extends readonly Handle<any>[]>(...tasks: H): Promise<H>;
  settled<V>(tasks: readonly Handle<V>[]): Promise<Handle<V>[]>;
  /** The first to end. The others go on. */
  any<H extends readonly Handle<any>[]>(...tasks: H): Promise<{ index: number; task: H[number] }>;
  any<V>(tasks: readonly Handle<V>[]): Promise<{ index: number; task: Handle<V> }>;
  /** any(), then the others are cancelled. */
  race<H extends readonly Handle<any>[]>(...tasks: H): Promise<{ index: number; task: H[number] }>;
  race<V>(tasks: readonly Handle<V>[]): Promise<{ index: number; task: Handle<V> }>;
  /** any() by name: `const { key } = await ctx.select({ review, limit })`. */
  select<H extends Record<string, Handle<any>>>(tasks: H): Promise<{ [K in keyof H]: { key: K; task: H[K] } }[keyof H]>;
  /** Each as it ends. */
  asDone<V>(tasks: readonly Handle<V>[]): AsyncGenerator<{ index: number; task: Handle<V> }>;
  asDone<H extends readonly Handle<any>[]>(...tasks: H): AsyncGenerator<{ index: number; task: H[number] }>;
  /** Many pieces, at most `window` of them open: their values, in order. */
  map<I, V>(items: Iterable<I>, start: (item: I, index: number) => Handle<V>, options?: { window?: number }): Promise<V[]>;
  /** Withdraw it. Awaiting it throws TaskCancelled. */
  cancel(task: Handle<any>): void;
  /** Inside, awaits wait although the instance is being cancelled: for compensation. */
  shield<T>(run: () => T | PromiseLike<T>): Promise<T>;

  /** A short text shown with the instance. */
  status(text: unknown): void;
  /** Change the attributes by which the instance is found. */
  attributes(change: Attributes): void;
  /** Values that any client may read: client.state(instance). They survive continueAsNew(). */
  readonly state: { get<T = any>(key: string): T | undefined; set(key: string, value: unknown): void; clear(key: string): void };
  /** Guards a change of code: true for executions that come here for the first time from now on. */
  patched(name: string): boolean;
  /** End this execution and open the next with a fresh history. It does not return. `version`: "same", an exact one, or the newest. */
  continueAsNew(input?: unknown, version?: string): never;
}

/** Leaves an orchestration: it fails with this text. So does any error people throw, as "Name: message". */
export class Fail extends Error {
  constructor(message?: string);
}
/** A task failed: what an await of it throws. */
export class TaskFailed extends Fail {
  /** What the activity or child said, as recorded. */
  readonly text: string;
  /** "CardDeclined" of "CardDeclined: no funds"; null without one. */
  readonly type: string | null;
  readonly detail: string;
  readonly kind: "failed" | "schedule_to_start" | "start_to_close" | "schedule_to_close" | "heartbeat" | "cancelled" | "poison" | "refused" | "lost";
  readonly attempts: number;
  readonly task: Handle<any> | undefined;
}
export class Timeout extends TaskFailed {}
/** It ended the process of its worker too often. */
export class Poison extends TaskFailed {}
/** Unknown whether it was done (`at_most_once`). */
export class TaskLost extends TaskFailed {}
/** The call broke a limit and was never begun. */
export class Refused extends TaskFailed {}
/** Withdrawn by this code: cancel(), or a lost race. */
export class TaskCancelled extends TaskFailed {}
export class ChildFailed extends TaskFailed {}
export class ChildCancelled extends ChildFailed {}
export class ChildExists extends ChildFailed {}
/** The instance is being cancelled: every await outside a shield throws it. Compensate, then throw it on. */
export class Cancelled extends Error {
  constructor(reason?: string);
  readonly reason: string;
}
/** The code awaited or asked for what replay cannot give it again. The instance is blocked. */
export class Foreign extends Error {}

/**
 * Serves activities and orchestrations.
 *
 *     const worker = new Worker(client);
 *     worker.activity("Charge", async (order, task) => pay(order.amount, task.key));
 *     worker.orchestration("Order", { version: "1.0.0" }, async (ctx, order) => ctx.call("Charge", order, { attempts: 5 }));
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
    /** Turns and inline steps in hand at a time; default 100. */
    turns?: number;
    /** Runs kept in memory between turns; default 1,000. Others are replayed when they go on. */
    cache?: number;
    /** How long a lease lives without a heartbeat; default 30,000. */
    lock_ms?: number;
    /** Also calls with these tags. */
    tags?: string[];
    /** For people: `pawl worker ls`. Default: host and pid. */
    name?: string;
    /** Where remarks go; default: one line on standard error. */
    say?: (text: string) => void;
    /** false: Date.now(), Math.random(), setTimeout(), fetch() … do not throw inside orchestrations. */
    guards?: boolean;
    /** Classes of errors by name: a failed "CardDeclined: …" is thrown as that class. */
    errors?: (new (text: string, about: any) => TaskFailed)[];
  });
  activity<In, Out>(activity: Activity<In, Out>): this;
  activity(name: string, run: (input: any, task: Task) => unknown): this;
  orchestration<In, Out>(orchestration: Orchestration<In, Out>): this;
  orchestration(name: string, options: OrchestrationOptions, run: (ctx: Context, input: any) => Promise<unknown>): this;
  orchestration(name: string, run: (ctx: Context, input: any) => Promise<unknown>): this;
  /** Serve until stop(), the signal, SIGTERM or SIGINT; what runs is finished and handed in. */
  run(options?: { signals?: boolean; signal?: AbortSignal }): Promise<void>;
  /** Take no new work. */
  stop(): void;
}
