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

const BY_STATUS = { 404: NotFound, 409: Conflict, 410: Lost, 423: Locked };

/** The error of an answer.  Workflows and queues have two forms of it. */
export function errorOf(status, value) {
  const inner = value?.error && typeof value.error === "object" ? value.error : null;
  const code = inner?.code ?? value?.error_code ?? "error";
  const message = inner?.message ?? value?.message ?? (typeof value === "string" ? value : JSON.stringify(value));
  const error = new (BY_STATUS[status] ?? PawlError)(status, code, String(message));
  if (value?.lock_expires_at !== undefined) error.lock_expires_at = value.lock_expires_at;
  return error;
}
