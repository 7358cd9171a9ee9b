// SPDX-License-Identifier: MIT
// What a call may reject with.  Called by everything here.

/** An answer other than 2xx; `status` is HTTP's, `code` a stable word. */
export class PawlError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = new.target.name;
    this.status = status;
    this.code = code;
  }

  /** Is this about the moment and not about the request?  Then the same request may succeed later. */
  get passes() {
    return this.status >= 500 || this.status === 408 || this.status === 425 || this.status === 429;
  }
}

/** 404: there is no such thing. */
export class NotFound extends PawlError {}

/** 409: the state forbids it, or it exists with other contents. */
export class Conflict extends PawlError {}

/** 410: the lock or lease was lost. */
export class Lost extends PawlError {}

/** 423: another consumer holds the queue's lock; `lock_expires_at` says until when. */
export class Locked extends PawlError {}

/** wait() took longer than its `timeout_ms`; the instance goes on. */
export class WaitTimeout extends Error {
  constructor(message) {
    super(message);
    this.name = "WaitTimeout";
  }
}

/** Throw it in an activity: this failure must not be retried. */
export class Final extends Error {
  constructor(message) {
    super(message);
    this.name = "Final";
  }
}

/** 422: a check of the code refused the update; nothing was recorded. */
export class UpdateRefused extends PawlError {}

const BY_STATUS = { 404: NotFound, 409: Conflict, 410: Lost, 422: UpdateRefused, 423: Locked };

/** The error of an answer.  Workflows and queues have two forms of it. */
export function errorOf(status, value) {
  const inner = value?.error && typeof value.error === "object" ? value.error : null;
  const code = inner?.code ?? value?.error_code ?? "error";
  const message = inner?.message ?? value?.message ?? (typeof value === "string" ? value : JSON.stringify(value));
  const error = new (BY_STATUS[status] ?? PawlError)(status, code, String(message));
  if (value?.lock_expires_at !== undefined) error.lock_expires_at = value.lock_expires_at;
  return error;
}

// ---- Inside orchestrations -------------------------------------------------------------------

/** Leaves an orchestration: it fails with this text. */
export class Fail extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

/**
 * A task ended badly.  Its stack is its text on purpose: a stack that is passed on as input would differ
 * from one deploy to the next, and replay compares inputs.
 */
export class TaskFailed extends Fail {
  constructor(text, { kind = "failed", attempts = 1, task } = {}) {
    super(text);
    const colon = /^([A-Za-z_$][\w$.]*): ([^]*)$/.exec(text);
    this.type = colon ? colon[1] : null;
    this.text = text;
    this.detail = colon ? colon[2] : text;
    this.kind = kind;
    this.attempts = attempts;
    Object.defineProperty(this, "task", { value: task, enumerable: false });
    this.stack = `${this.name}: ${text}`;
  }
}

/** One of its time-outs passed; `kind` says which. */
export class Timeout extends TaskFailed {}
/** Given up: it ended the process of its worker too often. */
export class Poison extends TaskFailed {}
/** Unknown whether it was done (`at_most_once`). */
export class TaskLost extends TaskFailed {}
/** Never begun: the call broke a limit. */
export class Refused extends TaskFailed {}
/** Withdrawn by this code: cancel(), or a lost race. */
export class TaskCancelled extends TaskFailed {}
export class ChildFailed extends TaskFailed {}
export class ChildCancelled extends ChildFailed {}
export class ChildExists extends ChildFailed {}

/** The instance is being cancelled: what an await outside a shield throws.  Compensate, then throw it on. */
export class Cancelled extends Error {
  constructor(reason) {
    super(reason ? `cancelled: ${reason}` : "cancelled");
    this.name = "Cancelled";
    this.reason = reason ?? "";
  }
}

/** The code awaited, or asked for, something that replay cannot give it again. */
export class Foreign extends Error {
  constructor(message) {
    super(message);
    this.name = "Foreign";
  }
}

/** Does it say that the code is wrong, and not that the work failed?  Then the instance is blocked. */
export function isBug(error) {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError ||
    error instanceof SyntaxError || error instanceof Foreign || error?.code === "ERR_ASSERTION";
}

/** What is recorded of an error that left an orchestration or an activity. */
export function errorText(error) {
  if (error instanceof Fail) return wellFormed(error.message);
  const name = error?.name ? `${error.name}: ` : "";
  return `${name}${textOf(error)}`;
}

/** What an error says, whatever was thrown, as text that can be sent. */
export function textOf(error) {
  try {
    return wellFormed(String(error?.message ?? error));
  } catch {
    return "(an error that cannot be printed)";
  }
}

function wellFormed(text) {
  return text.toWellFormed?.() ?? Buffer.from(text).toString();
}
