// offers.js -- what this server can tell, decided here and nowhere else.  A server with GET /api/v1/overview
// is asked for it; from any other the same facts are put together from lists and /metrics.  Every read is
// bounded, and nothing here runs on a timer: the pages read when something changed and somebody looks.
import {call, Failure, get, query} from "./api.js";

export const STATUSES = [
	"running",
	"blocked",
	"failed",
	"suspended",
	"pending",
	"completed",
	"cancelled"
];
const MOST = 60; // instances that are asked one by one what they wait for
const can = {}; // route: false once the server said that it has none
const over = status => ["completed", "failed", "cancelled", "continued_as_new"].includes(status);
const stem = text =>
	String(text ?? "")
		.replace(/[0-9a-f]{8,}|\d+/gi, "#")
		.slice(0, 80);

/** Is there an overview?  Asked once; a server without it has none of the rest either. */
let asked = null;
const know = () =>
	(asked ??= call("GET", "/api/v1/overview", undefined, {raw: true}).then(
		({status}) => (can.overview = status === 200 || (status !== 404 && ((asked = null), false))),
		() => (asked = null)
	));
/** Ask for `path`; a server without it is not asked again, and `instead` answers. */
async function offered(name, path, instead) {
	await know();
	if (can.overview && can[name] !== false) {
		const {status, json} = await call("GET", path, undefined, {raw: true});
		if (status === 200) {
			can[name] = true;
			return json;
		}
		if (status !== 404 && status !== 405 && status !== 400)
			throw new Failure(status, json?.error?.message ?? `the server answered ${status}`, json);
		can[name] = false;
	}
	return instead();
}

// ---- Overview
const PARTS = ["counts", "problems", "waiting", "activities", "queues", "orchestrations", "node"];
/** What the server says; what it does not say is put together from lists. */
export async function overview() {
	const told = await offered("overview", "/api/v1/overview", () => ({}));
	return PARTS.every(k => told[k]) ? told : {...(await madeUp()), ...told};
}

/** The unlabelled figures of /metrics, and the labelled ones as name{label="…"}. */
async function metrics() {
	const {status, text} = await call("GET", "/metrics", undefined, {raw: true}),
		out = {};
	if (status === 200)
		for (const [, name, value] of text.matchAll(/^(\w+(?:\{[^}]*\})?) (\S+)$/gm))
			out[name] = +value;
	return out;
}

let last = null;
/** Sparklines from two readings of /metrics; the page shows them from the second on. */
export const samples = [];
function sample(m) {
	const at = Date.now(),
		sum = event =>
			Object.entries(m).reduce(
				(n, [k, v]) =>
					k.startsWith("pawl_instances_total") && k.includes(`event="${event}"`) ? n + v : n,
				0
			);
	const now = {
		at,
		m,
		started: sum("started"),
		failed: sum("failed"),
		ended: sum("completed") + sum("failed") + sum("cancelled")
	};
	const was = last,
		s = was && (at - was.at) / 1000,
		commits = was ? m.pawl_commits_total - was.m.pawl_commits_total : 0;
	if (was && s < 0.5) return;
	last = now;
	if (!was || commits < 0) return;
	const per = k => Math.max(0, m[k] - was.m[k]) / s,
		delay = p => quantile(m, was.m, p);
	samples.push({
		at,
		starts: (now.started - was.started) / s,
		ended: (now.ended - was.ended) / s,
		failed: (now.failed - was.failed) / s,
		turns: per("pawl_turns_total"),
		activities: per("pawl_activity_attempts_total"),
		retried: per("pawl_activities_retried_total"),
		commit_ms: commits
			? ((m.pawl_commit_seconds_total - was.m.pawl_commit_seconds_total) / commits) * 1000
			: null,
		delay_p50_ms: delay(0.5),
		delay_p95_ms: delay(0.95)
	});
	if (samples.length > 300) samples.shift();
}
/** Milliseconds within which `part` of the activities that began between two readings were taken. */
function quantile(m, was, part) {
	const name = "pawl_activity_schedule_to_start_seconds",
		all = m[name + "_count"] - was[name + "_count"];
	if (!all) return null;
	for (const k in m) {
		const le = k.startsWith(name + "_bucket") && +/le="([^"]*)"/.exec(k)[1];
		if (le && m[k] - was[k] >= all * part) return le * 1000;
	}
	return null;
}

const known = new Map(); // instance and time of its last change: what it waits for
/** The rows with what they wait for: lists do not say it, and at most `most` are asked. */
async function detailed(rows, most) {
	const todo = rows.filter(r => !over(r.status) && !r.waiting_for?.length).slice(0, most),
		out = new Map();
	for (let i = 0; i < todo.length; i += 6)
		await Promise.all(
			todo.slice(i, i + 6).map(async r => {
				const key = r.instance + "\n" + r.updated_at,
					kept = known.get(key),
					row =
						kept ??
						(await get(`/api/v1/instances/${encodeURIComponent(r.instance)}`).catch(() => null));
				if (!row) return;
				out.set(r.instance, row);
				if (row.waiting_for.every(w => w.kind !== "activity"))
					known.set(key, {...row, input: null}); // attempts change without a change of the row
				if (known.size > 500) known.delete(known.keys().next().value);
			})
		);
	return rows.map(r => out.get(r.instance) ?? r);
}

async function rowsOf(status, limit) {
	return (await get("/api/v1/instances" + query({status, limit}))).instances;
}
/** Causes, not instances: one entry for each that is the same but for its digits. */
function grouped(entries) {
	const all = new Map();
	for (const {key, row, since, ...what} of entries) {
		const g = all.get(key) ?? {...what, count: 0, instances: [], since};
		g.count++;
		g.since = Math.min(g.since, since);
		g.attempt = Math.max(g.attempt ?? 0, what.attempt ?? 0);
		if (g.instances.length < 5) g.instances.push(row.instance);
		all.set(key, g);
	}
	return [...all.values()].sort((a, b) => a.severity - b.severity || b.count - a.count);
}
function complaints(rows, queues) {
	const now = Date.now(),
		out = [];
	for (const row of rows) {
		const {orchestration} = row,
			add = (kind, severity, detail, more) =>
				out.push({
					key: kind + (more?.activity ?? orchestration) + stem(detail),
					kind,
					severity,
					detail,
					row,
					orchestration,
					since: row.updated_at,
					...more
				});
		if (row.status === "blocked") add("blocked", 0, row.finding ?? row.error);
		else if (row.status === "suspended") add("suspended", 3, null);
		else if (row.status === "failed" && now - row.updated_at < 3600e3) add("failed", 2, row.error);
		else if (!over(row.status))
			for (const w of row.waiting_for ?? []) {
				if (w.kind !== "activity") continue;
				if (w.attempt >= 3)
					add("retrying", 1, w.last_error, {activity: w.name, attempt: w.attempt, since: w.since});
				else if (!w.running && !(w.due_at > now) && now - w.since > 20e3)
					add("no_worker", 1, null, {activity: w.name, since: w.since});
			}
	}
	for (const q of queues) {
		const problem = {
			queue: q.name,
			count: q.ready,
			since: now - (q.oldest_age_seconds ?? 0) * 1000
		};
		if (q.ready && q.name.endsWith("-deadletter"))
			out.push({key: q.name, row: {}, kind: "dead_letters", severity: 1, ...problem});
		else if (q.ready && q.paused)
			out.push({key: q.name, row: {}, kind: "paused", severity: 3, ...problem});
	}
	return grouped(out).map(p =>
		p.queue ? {...p, count: queues.find(q => q.name === p.queue).ready} : p
	);
}
function waited(rows) {
	const events = new Map(),
		activities = new Map(),
		now = Date.now();
	for (const r of rows)
		for (const w of r.status === "running" ? (r.waiting_for ?? []) : []) {
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
function kinds(rows) {
	const all = new Map(),
		part = (list, p) => list.sort((a, b) => a - b)[Math.floor(list.length * p)] ?? null;
	for (const r of rows) {
		const o = all.get(r.orchestration) ?? {
			name: r.orchestration,
			versions: new Set(),
			counts: {},
			took: []
		};
		o.versions.add(r.version);
		o.counts[r.status] = (o.counts[r.status] ?? 0) + 1;
		if (r.status === "completed") o.took.push(r.updated_at - r.created_at);
		all.set(r.orchestration, o);
	}
	return [...all.values()].map(o => ({
		...o,
		versions: [...o.versions],
		p50_ms: part(o.took, 0.5),
		p95_ms: part(o.took, 0.95)
	}));
}
/** What an overview would say, from at most the newest thousand instances; `newest` says that there are more. */
async function madeUp() {
	const [m, page, queues] = await Promise.all([
		metrics(),
		get("/api/v1/instances?limit=1000"),
		get("/queue?limit=1000").then(q => q.queues)
	]);
	if (can.series !== true) sample(m);
	const all = page.instances,
		whole = !page.next,
		counts = {},
		of = s => m[`pawl_instances{state="${s}"}`];
	for (const s of STATUSES)
		counts[s] = whole ? all.filter(r => r.status === s).length : (of(s) ?? null);
	const missing = whole
		? []
		: (
				await Promise.all(
					["blocked", "suspended", "failed", "running"].map(s =>
						of(s) === 0 ? [] : rowsOf(s, 200)
					)
				)
			).flat();
	const rows = await detailed(
		[...new Map([...missing, ...all].map(r => [r.instance, r])).values()],
		MOST
	);
	return {
		counts,
		newest: whole ? null : all.length,
		looked: rows.filter(r => !over(r.status)).length > MOST ? MOST : null,
		problems: complaints(rows, queues),
		...waited(rows),
		orchestrations: kinds(all),
		queues,
		node: {
			uptime_s: m.pawl_uptime_seconds,
			rss_bytes: m.process_resident_memory_bytes,
			resident: m.pawl_resident_fibers
		}
	};
}
export const queues = async () =>
	(await know(), can.overview)
		? (await overview()).queues
		: (await get("/queue?limit=1000")).queues;
/** Read the samples of the last seconds, where the server keeps them. */
export async function readSeries(seconds) {
	const {series: s} = await offered("series", "/api/v1/series" + query({seconds}), () => ({
			series: {}
		})),
		all = Object.entries(s),
		list = Array.from({length: all[0]?.[1].length ?? 0}, (_, i) =>
			Object.fromEntries(all.map(([k, v]) => [k, v[i]]))
		);
	for (const x of list) x.commit_ms ??= x.commits ? x.commit_us / x.commits / 1000 : null;
	if (list.length) samples.splice(0, samples.length, ...list);
}
/** What can be started: {name: sample input or undefined}. */
export async function startable() {
	const {orchestrations} = await get("/api/v1/registry").catch(overview);
	return Object.fromEntries(orchestrations.map(o => [o.name, o.sample]));
}

// ---- Lists
const asRow = r => (r.wait && !r.waiting_for?.length ? {...r, waiting_for: [r.wait]} : r);
const waits = (r, [kind, name]) =>
	!over(r.status) &&
	(r.waiting_for ?? []).some(
		w =>
			(kind === "retrying"
				? w.attempt > 1
				: kind === "noworker"
					? w.kind === "activity" && !w.running && !(w.due_at > Date.now())
					: w.kind === kind) &&
			(!name || w.name === name)
	);
/** A page of the list from a server that knows one state, a name, a prefix, a parent and a time. */
async function plainList({q, waiting, roots, sort: _, status, limit = 200, ...rest}) {
	const states = status ? status.split(",") : [],
		needle = q?.toLowerCase(),
		sifts = q || roots || states.length > 1;
	const got = await get(
		"/api/v1/instances" +
			query({
				...rest,
				status: states.length === 1 ? status : waiting ? "running" : null,
				limit: waiting ? 60 : sifts ? 1000 : limit
			})
	);
	let rows = got.instances.filter(
		r =>
			(!states.length || states.includes(r.status)) &&
			(!roots || !r.parent) &&
			(!needle ||
				[r.instance, r.orchestration, r.error, r.custom_status, r.finding].some(x =>
					x?.toLowerCase().includes(needle)
				))
	);
	if (waiting) rows = (await detailed(rows, 60)).filter(r => waits(r, waiting.split(":")));
	return {instances: rows, next: got.next};
}
export async function list(want) {
	const more = want.q || want.waiting || want.roots || want.sort || want.status?.includes(",");
	const got = more
		? await offered("search", "/api/v1/instances" + query(want), () => plainList(want))
		: await get("/api/v1/instances" + query(want));
	return {...got, instances: got.instances.map(asRow)};
}
/** How many match; null: the server does not say. */
export const count = async want =>
	(await offered("count", "/api/v1/instances/count" + query(want), () => ({}))).count ?? null;
/** One row with what it waits for. */
export const hasWaits = r => over(r.status) || r.waiting_for?.length > 0;

/** The stream with figures once a second, where the server has them. */
export const streamPath = async () =>
	(await know(), "") +
	"/api/v1/stream" +
	(can.overview && can.stats !== false ? "?topics=changes,stats" : "");
export const noStats = () => can.overview && can.stats !== false && !(can.stats = false);
