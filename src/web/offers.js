// offers.js -- what the server tells, and what the page puts together where the server does not say it:
// who is waited for and what is tried again and again.  It is decided here and nowhere else.  Every read is bounded, and nothing here runs on a timer: the pages
// read when something changed and somebody looks.
import {get, query} from "./api.js";
import {serverNow} from "./fmt.js";
import {live} from "./live.js";

const LOOKED = 200; // open instances that are looked at for what they wait for
const over = status => ["completed", "failed", "cancelled", "continued_as_new"].includes(status);
const stem = text =>
	String(text ?? "")
		.replace(/[0-9a-f]{8,}|\d+/gi, "#")
		.slice(0, 80);
const instances = want => get("/api/v1/instances" + query(want));

// ---- Overview
/** The newest open ones.  A busy server has them among many that ended: a page then spends a four-thousandth
 * of its time on finding them. */
const kept = {until: 0, rows: null};
async function openOnes(fresh) {
	const now = performance.now();
	if (fresh || live.rate < 20 || now > kept.until) {
		kept.rows = await listOf({status: "running", limit: LOOKED});
		kept.until = now + Math.min(6e4, 4000 * (performance.now() - now));
	}
	return kept.rows;
}
/** What the server says, and the rest: queues, events and activities that are waited for. */
export async function overviewOf(fresh) {
	const [told, open, all] = await Promise.all([
		get("/api/v1/overview"),
		openOnes(fresh),
		queuesOf()
	]);
	const rows = open.instances,
		mine = complaints(rows, all);
	return {
		queues: all,
		looked: open.next ? LOOKED : null,
		...waited(rows),
		...told,
		problems: [
			...told.problems,
			...mine.filter(p => told.problems.every(x => x.kind !== p.kind))
		].sort((a, b) => rank(a) - rank(b))
	};
}
const rank = p =>
	[
		"health",
		"blocked",
		"retrying",
		"no_worker",
		"dead_letters",
		"failed",
		"suspended",
		"paused"
	].indexOf(p.kind);
/** How many instances there are in each state. */
export const counts = async () => get("/api/v1/overview");
export const queuesOf = async () => (await get("/queue?limit=1000")).queues;

/** Does the row say what it waits for, as far as there is something? */
export const hasWaits = r => over(r.status) || r.waiting_for?.length > 0;

/** Causes, not instances: one entry for all that are the same but for their digits. */
function complaints(rows, queues) {
	const now = serverNow(),
		all = new Map();
	const add = (kind, key, since, more) => {
		const p = all.get(kind + key) ?? {kind, count: 0, since, attempt: 0, ...more};
		all.set(kind + key, {
			...p,
			count: p.count + (more.count ?? 1),
			since: Math.min(p.since, since),
			attempt: Math.max(p.attempt, more.attempt ?? 0)
		});
	};
	for (const row of rows)
		for (const w of row.waiting_for ?? []) {
			if (w.kind !== "activity") continue;
			if (w.attempt >= 3)
				add("retrying", w.name + stem(w.last_error), w.since, {
					activity: w.name,
					detail: w.last_error,
					attempt: w.attempt
				});
			else if (!w.running && !(w.due_at > now) && now - w.since > 20e3)
				add("no_worker", w.name, w.since, {activity: w.name});
		}
	for (const q of queues) {
		const kind = q.name.endsWith("-deadletter") ? "dead_letters" : q.paused ? "paused" : null;
		if (kind && q.ready)
			all.set(q.name, {
				kind,
				queue: q.name,
				count: q.ready,
				since: now - (q.oldest_age_seconds ?? 0) * 1000
			});
	}
	return [...all.values()];
}
/** Events and activities that instances wait for. */
function waited(rows) {
	const events = new Map(),
		activities = new Map(),
		now = serverNow();
	for (const r of rows)
		for (const w of r.waiting_for ?? []) {
			if (w.kind === "event") {
				const key = w.name + "\n" + r.orchestration,
					x = events.get(key) ?? {
						event: w.name,
						orchestration: r.orchestration,
						count: 0,
						oldest: Infinity
					};
				x.count++;
				if (w.since < x.oldest) Object.assign(x, {oldest: w.since, instance: r.instance});
				events.set(key, x);
			} else if (w.kind === "activity") {
				const x = activities.get(w.name) ?? {
					activity: w.name,
					running: 0,
					queued: 0,
					backing_off: 0,
					oldest: w.since,
					attempt: 0
				};
				x[w.running ? "running" : w.due_at > now ? "backing_off" : "queued"]++;
				x.oldest = Math.min(x.oldest, w.since);
				x.attempt = Math.max(x.attempt, w.attempt ?? 0);
				activities.set(w.name, x);
			}
		}
	return {
		waiting: [...events.values()].sort((a, b) => b.count - a.count),
		activities: [...activities.values()]
	};
}

/** What was done in each of the last seconds, oldest first: [{starts, ended, …, commit_ms}]. */
export async function series(seconds) {
	const all = Object.entries((await get("/api/v1/series" + query({seconds}))).series);
	return Array.from({length: all[0][1].length}, (_, i) => {
		const s = Object.fromEntries(all.map(([k, v]) => [k, v[i]]));
		return {...s, commit_ms: s.commits ? s.commit_us / s.commits / 1000 : null};
	});
}
/** The names of what can be started. */
export const startable = async () =>
	(await get("/api/v1/registry")).orchestrations.map(o => o.name);

// ---- Lists
/** A page of the list, with what its rows wait for. */
export const listOf = want => instances({limit: 200, with: "waiting", ...want});
/** What people are asked for; `after`: the next page. */
export const asksOf = after => get("/api/v1/asks" + query({after}));
