// history.js -- events become tasks (schedule, attempts and completion are one thing), and the
// state of a run at any event can be told.  Works on what the server says and on exported files.
const OPENS = {
	ActivityScheduled: "activity",
	TimerCreated: "timer",
	ExternalSubscribed: "event",
	UpdateWaited: "update",
	SubOrchestrationScheduled: "child"
};
const CLOSES = {
	ActivityCompleted: "done",
	ActivityFailed: "failed",
	ActivityCancelRequested: "cancelled",
	TimerFired: "done",
	TimerCancelled: "cancelled",
	ExternalEvent: "done",
	ExternalCancelled: "cancelled",
	UpdateAccepted: "done",
	UpdateWaitCancelled: "cancelled",
	SubOrchestrationCompleted: "done",
	SubOrchestrationFailed: "failed",
	SubOrchestrationCancelRequested: "cancelled"
};
const MOMENTS = {
	OrchestrationChained: "detached",
	QueuePushed: "queue",
	EventSent: "signal",
	UpdateAnswered: "answer",
	CustomStatusUpdated: "status",
	PatchRecorded: "patch",
	OrchestrationCancelRequested: "signal",
	OrchestrationSuspended: "signal",
	OrchestrationResumed: "signal"
};
const ENDS = {
	OrchestrationCompleted: "completed",
	OrchestrationFailed: "failed",
	OrchestrationCancelled: "cancelled",
	OrchestrationTerminated: "cancelled",
	OrchestrationContinuedAsNew: "continued_as_new"
};
export const ended = status => Object.values(ENDS).includes(status);
export const text = v =>
	v == null ? "" : typeof v === "string" ? v : JSON.stringify(v);
/** ActivityScheduled: "activity scheduled" */
export const kindWords = kind =>
	kind
		.replace(/^SubOrch/, "ChildOrch")
		.replace("Orchestration", "")
		.replace(/([a-z])([A-Z])/g, "$1 $2")
		.toLowerCase();
/** What a task is called; timers have no name of their own. */
export const label = t => (t.kind === "timer" || t.kind === "status" ? t.kind : (t.name ?? t.kind));

export class Run {
	constructor() {
		this.events = [];
		this.tasks = [];
		this.refs = new Map();
		this.finish = null;
	}
	/** What the server says of bars (GET …/timeline); before it does, time is drawn as it is. */
	get told() {
		return this.timeline ?? {from: this.start, to: this.last, axis: []};
	}
	/** The tries of a task, as spans; of the many steps of a long run only what was recorded. */
	tries(t, now) {
		return t.kind !== "activity" || t.attempts < 2
			? []
			: (this.timeline?.bars.find(b => b.ref === t.ref)?.tries ?? t.tries ?? []).map(s =>
					s.last && t.state === "open" ? {...s, to: now} : s
				);
	}
	get start() {
		return this.events[0]?.at ?? 0;
	}
	get last() {
		return this.events.at(-1)?.at ?? 0;
	}
	get seq() {
		return this.events.at(-1)?.seq ?? 0;
	}
	add(events) {
		for (const e of events) {
			if (e.seq <= this.seq) continue;
			this.events.push(e);
			const attrs = e.attrs ?? {},
				t = e.ref === null ? null : this.refs.get(e.ref);
			const task = {
				name: e.name,
				at: e.at,
				seq: e.seq,
				input: e,
				attempts: 1,
				policy: attrs,
				child: attrs.instance ?? null,
				events: [e]
			};
			if (e.kind in OPENS) {
				Object.assign(task, {
					id: "t" + e.ref,
					ref: e.ref,
					kind: OPENS[e.kind],
					endAt: null,
					endSeq: null,
					state: "open",
					output: null,
					due: attrs.fire_at_ms ?? null
				});
				this.refs.set(e.ref, task);
				this.tasks.push(task);
			} else if (e.kind in CLOSES && t) {
				t.events.push(e);
				if (t.state !== "open") continue; // it was cancelled, and ended all the same
				Object.assign(t, {
					endAt: e.at,
					endSeq: e.seq,
					state: CLOSES[e.kind],
					output: e,
					attempts: e.attempts ?? attrs.attempts ?? t.attempts,
					lastError: attrs.last_error,
					startedAt: attrs.started_ms ?? null,
					worker: attrs.worker ?? null,
					tries: attrs.tries ?? t.tries
				});
			} else if (e.kind in MOMENTS)
				this.tasks.push(
					Object.assign(task, {
						id: "s" + e.seq,
						kind: MOMENTS[e.kind],
						name: e.kind === "CustomStatusUpdated" ? text(e.data) : (e.name ?? kindWords(e.kind)),
						endAt: e.at,
						endSeq: e.seq,
						state: "moment"
					})
				);
			else if (e.kind in ENDS) this.finish = {at: e.at, seq: e.seq, status: ENDS[e.kind]};
		}
		return this;
	}
	/** What the server knows of open tasks beyond the history: attempts, errors, whether it runs. */
	waits(list) {
		for (const t of this.tasks) t.wait = null;
		for (const w of list ?? []) {
			const t = this.refs.get(w.id);
			if (t?.state !== "open") continue;
			t.wait = w;
			if (w.attempt)
				Object.assign(t, {
					attempts: w.attempt,
					lastError: w.last_error,
					startedAt: w.started_at ?? null,
					tries: w.tries ?? t.tries
				});
		}
	}
	/** The run as it was right after event `seq`. */
	at(seq) {
		const event = this.events[Math.min(seq, this.events.length) - 1],
			open = [],
			closed = [];
		let status = "running",
			custom = null;
		for (const t of this.tasks) {
			if (t.seq > seq) break;
			if (t.kind === "status") custom = t.name;
			if (t.kind === "signal")
				status =
					{OrchestrationSuspended: "suspended", OrchestrationResumed: "running"}[t.input.kind] ??
					status;
			if (t.state !== "moment") (t.endSeq !== null && t.endSeq <= seq ? closed : open).push(t);
		}
		const over = this.finish?.seq <= seq;
		return {
			event,
			at: event.at,
			open: over ? [] : open,
			closed,
			custom,
			status: over ? this.finish.status : status,
			next: this.events[seq]
		};
	}
	/** Tasks that are bars: a status, say, is not. */
	bars() {
		return this.tasks.filter(
			t => t.state !== "moment" || t.kind === "queue" || t.kind === "detached"
		);
	}
}

/** One line about a task. */
export function sentence(t, now) {
	if (t.state === "moment")
		return t.kind === "status"
			? t.name
			: t.kind === "queue"
				? "pushed in the same commit"
				: (t.child ?? text(t.input.data));
	if (t.state === "failed") return text(t.output?.data);
	if (t.state === "cancelled") return text(t.output?.data) || "cancelled";
	if (t.state === "done") return t.kind === "timer" ? "fired" : text(t.output?.data);
	if (t.wait && t.kind === "activity")
		return t.wait.running
			? "running"
			: t.wait.due_at > now
				? `failed ${t.attempts - 1}×: ${t.lastError ?? ""}`
				: "queued until a worker takes it";
	return {event: "nobody raised it yet", timer: "not yet"}[t.kind] ?? "open";
}

// ---- Comparing
/** Pair the tasks of two runs: longest common subsequence over kind and name, after what they begin with alike. */
export function align(a, b) {
	const A = a.bars(),
		B = b.bars(),
		key = t => t.kind + t.name,
		CAP = 1500,
		out = [];
	let head = 0;
	while (head < A.length && head < B.length && key(A[head]) === key(B[head])) {
		out.push([A[head], B[head]]);
		head++;
	}
	const x = A.slice(head, head + CAP),
		y = B.slice(head, head + CAP),
		w = y.length + 1,
		L = new Uint16Array((x.length + 1) * w);
	for (let i = x.length - 1; i >= 0; i--)
		for (let j = y.length - 1; j >= 0; j--)
			L[i * w + j] =
				key(x[i]) === key(y[j])
					? L[(i + 1) * w + j + 1] + 1
					: Math.max(L[(i + 1) * w + j], L[i * w + j + 1]);
	for (let i = 0, j = 0; i < x.length || j < y.length; ) {
		if (i < x.length && j < y.length && key(x[i]) === key(y[j])) out.push([x[i++], y[j++]]);
		else if (j >= y.length || (i < x.length && L[(i + 1) * w + j] >= L[i * w + j + 1]))
			out.push([x[i++], null]);
		else out.push([null, y[j++]]);
	}
	return {pairs: out, cut: Math.max(A.length, B.length) > head + CAP};
}
/** Where two JSON values differ: [pointer, a, b]. */
export function jsonDiff(a, b, path = "", out = []) {
	if (out.length >= 200) return out;
	if (
		a &&
		b &&
		typeof a === "object" &&
		typeof b === "object" &&
		Array.isArray(a) === Array.isArray(b)
	)
		for (const k of new Set([...Object.keys(a), ...Object.keys(b)]))
			jsonDiff(a[k], b[k], `${path}/${k}`, out);
	else if (JSON.stringify(a) !== JSON.stringify(b)) out.push([path || "/", a, b]);
	return out;
}
