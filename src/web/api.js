// api.js -- calls to the server.  Numbers keep their digits: a payload is shown as it was given.
import {quote, seg, setNow, toJson} from "./fmt.js";

class Failure extends Error {
	constructor(status, message, body) {
		super(message);
		Object.assign(this, {status, body});
	}
}
/** Sent with every request: no other site can send it, so the cookie of a sign-in counts. */
export const OURS = {"pawl-page": "1"};

/** Who looks, as GET /session says it: {needs_token, scope, token, queues, queues_only, version}. */
export const me = {scope: "admin"};
const SCOPES = [null, "work", "read", "operate", "admin"];
export const may = scope => SCOPES.indexOf(me.scope) >= SCOPES.indexOf(scope);
export const know = async () => Object.assign(me, await get("/session"));

/** A number JavaScript would change; printed as it came. */
class Digits {
	constructor(text) {
		this.text = text;
	}
	toJSON() {
		return JSON.rawJSON ? JSON.rawJSON(this.text) : +this.text;
	}
}
export const parse = text =>
	JSON.parse(
		text,
		/[:[,] ?-?\d{16}|\d\.\d{15}/.test(text)
			? (k, v, ctx) =>
					typeof v === "number" && ctx?.source && String(v) !== ctx.source
						? new Digits(ctx.source)
						: v
			: undefined
	);

export async function call(method, path, body, opts = {}) {
	let answer,
		text,
		json = null;
	try {
		answer = await fetch(path, {
			method,
			headers: {
				...OURS,
				...(opts.etag ? {"if-none-match": opts.etag} : {}),
				...opts.headers,
				...(body !== undefined ? {"content-type": "application/json"} : {})
			},
			body: body === undefined || typeof body === "string" ? body : toJson(body)
		});
		text = await answer.text();
	} catch {
		throw new Failure(0, "the server does not answer");
	}
	if (opts.text && answer.ok) return text;
	try {
		json = text ? parse(text) : null;
	} catch {
		json = text;
	}
	if (json?.now > 0) setNow(json.now);
	if (answer.status === 401 && !opts.quiet) dispatchEvent(new Event("pawl-token"));
	if (opts.raw) return {status: answer.status, json, text, etag: answer.headers.get("etag")};
	if (answer.ok) return json;
	throw new Failure(
		answer.status,
		json?.error?.message ?? json?.message ?? `the server answered ${answer.status}`,
		json
	);
}
export const get = path => call("GET", path);
export const query = o => {
	const s = new URLSearchParams(
		Object.entries(o).flatMap(([k, v]) => [v ?? ""].flat().filter(x => x !== "").map(x => [k, x]))
	).toString();
	return s ? "?" + s : "";
};
const I = id => `/api/v1/instances/${seg(id)}`,
	Q = q => `/queue/${seg(q)}`;
export const SCHEDULES = "/api/v1/schedules";
const LIMITS = "/api/v1/limits",
	/** Only a new one, or only that revision. */
	onlyIf = revision => (revision ? {"if-match": `"${revision}"`} : {"if-none-match": "*"});
export const schedulePath = s => `${SCHEDULES}/${seg(s)}`;

export const api = {
	instance: (id, execution) => get(I(id) + query({execution})),
	/** The instance with its reasons; the same object as before when the server says that nothing changed. */
	async known(id, execution, was) {
		const r = await call("GET", I(id) + query({execution, with: "why"}), undefined, {
			etag: was?.etag,
			raw: true
		});
		if (r.status === 304) return was;
		if (r.status !== 200) throw new Failure(r.status, r.json?.error?.message ?? "", r.json);
		return {...r.json, etag: r.etag};
	},
	why: id => get(I(id) + "/why"),
	executions: (id, after) => get(I(id) + "/executions" + query({after})),
	/** The text of an export; a long one comes in pages. */
	async exported(id, execution) {
		const page = after =>
			call("GET", I(id) + "/export" + query({execution, after}), undefined, {text: true});
		let text = await page(),
			one = parse(text);
		const events = one.events;
		while (one.next) {
			one = parse(await page(one.next));
			for (const e of one.events) events.push(e);
			text = null;
		}
		return text ?? toJson({...one, events});
	},
	state: async id => (await get(I(id) + "/state")).items,
	timeline: (id, execution) => get(I(id) + "/timeline" + query({execution})),
	tree: id => get(I(id) + "/tree"),
	history: (id, q) => get(I(id) + "/history" + query(q)),
	queues: q => get("/queue" + query(q)),
	queue: n => get(Q(n)),
	locks: n => get(Q(n) + "/locks"),
	messages: (n, q) => get(Q(n) + "/messages" + query(q)),
	limits: async () => (await get(LIMITS + "?limit=1000")).limits,
	workers: async () => (await get("/api/v1/workers")).items
};
/** Every event of an execution from `run` on; tell(seq) after each page. */
export async function readHistory(run, id, execution, tell) {
	for (let after = run.seq; after !== null; ) {
		const p = await api.history(id, {execution, after, limit: 1000});
		run.add(p.events);
		after = p.next;
		if (after) tell?.(after);
	}
	return run;
}

// ---- Actions: one description {method, path, body, cli} gives the request, the curl and the pawl command
export function curl(a) {
	if (a.ids?.length)
		return `for i in ${a.ids.map(quote).join(" ")}; do ${curl({...a, ids: null, path: a.path.replace(a.ids[0], "$i")}).replace(/'(http.*)'/, '"$1"')}; done`;
	const body =
		a.body === undefined ? null : typeof a.body === "string" ? a.body : toJson(a.body);
	return [
		"curl",
		...(a.method === "GET" || (a.method === "POST" && body) ? [] : ["-X", a.method]),
		...Object.entries(a.headers ?? {}).flatMap(([k, v]) => ["-H", quote(`${k}: ${v}`)]),
		...(body ? ["-d", quote(body)] : []),
		quote(location.origin + a.path)
	].join(" ");
}
export const run = a => call(a.method, a.path, a.body, {headers: a.headers});
const post = (path, body, ...cli) => ({
	method: "POST",
	path,
	body,
	cli: cli.length ? ["pawl", ...cli.filter(Boolean)].join(" ") : null
});
const verb = v => (id, reason) =>
	post(
		`${I(id)}/${v}`,
		reason ? {reason} : undefined,
		v,
		quote(id),
		reason && `--reason ${quote(reason)}`
	);
const js = v => quote(toJson(v));
export const act = {
	start: (orchestration, instance, input) =>
		post(
			"/api/v1/instances",
			{orchestration, ...(instance ? {instance} : {}), ...(input === undefined ? {} : {input})},
			"start",
			quote(orchestration),
			instance && `--id ${quote(instance)}`,
			input !== undefined && `--input ${js(input)}`
		),
	raise: (id, event, data) =>
		post(
			`${I(id)}/events/${seg(event)}`,
			toJson(data ?? null),
			"raise",
			quote(id),
			quote(event),
			data !== undefined && js(data)
		),
	update: (id, name, data) =>
		post(
			`${I(id)}/updates/${seg(name)}`,
			toJson(data ?? null),
			"update",
			quote(id),
			quote(name),
			data !== undefined && js(data)
		),
	attributes: (id, attributes) => ({
		method: "PATCH",
		path: I(id) + "/attributes",
		body: attributes,
		cli: `pawl attr ${quote(id)} ${Object.entries(attributes)
			.map(([k, v]) => quote(`${k}=${toJson(v)}`))
			.join(" ")}`
	}),
	cancel: verb("cancel"),
	terminate: verb("terminate"),
	suspend: verb("suspend"),
	resume: verb("resume"),
	retry: verb("retry"),
	remove: (id, force) => ({
		method: "DELETE",
		path: I(id) + (force ? "?force=true" : ""),
		cli: `pawl rm ${quote(id)}${force ? " --force" : ""}`
	}),
	batch: (action, which, reason, dry) =>
		post("/api/v1/instances:batch", {
			action,
			...which,
			...(reason ? {reason} : {}),
			...(dry ? {dry_run: true} : {})
		}),
	push: (q, body) =>
		post(
			Q(q) + "/push",
			body,
			"queue push",
			quote(q),
			js(body.item ?? null),
			body.priority && `--priority ${body.priority}`
		),
	pop: (q, o) => post(Q(q) + "/pop" + query(o)),
	ack: (q, lock_id) =>
		post(Q(q) + "/acknowledge", {lock_id}, "queue ack", quote(q), quote(lock_id)),
	extend: (q, lock_id) => post(Q(q) + "/extend-lock", {lock_id, additional_ttl_seconds: 30}),
	release: (q, lock_id) => post(Q(q) + "/release", {lock_id, reason: "released by hand"}),
	bury: (q, lock_id) => post(Q(q) + "/deadletter", {lock_id, reason: "buried by hand"}),
	redrive: (q, o) => post(Q(q) + "/redrive", o, "queue redrive", quote(q)),
	purge: q => post(Q(q) + "/purge", {}, "queue purge", quote(q)),
	pause: q => post(Q(q) + "/pause"),
	unpause: q => post(Q(q) + "/resume"),
	config: (q, c) => ({method: "PUT", path: Q(q) + "/config", body: c}),
	/** A new one, or a change of `revision`. */
	schedule: (name, spec, revision) => ({
		method: "PUT",
		path: schedulePath(name),
		body: spec,
		headers: onlyIf(revision)
	}),
	/** Without a body it is removed. */
	limit: (name, body, revision) => ({
		method: body ? "PUT" : "DELETE",
		path: `${LIMITS}/${seg(name)}`,
		body,
		headers: onlyIf(revision),
		cli: body ? null : "pawl limit rm " + quote(name)
	}),
	steerSchedule: (verb, name, reason) => ({
		...post(
			schedulePath(name) + (verb === "rm" ? "" : "/" + (verb === "run" ? "trigger" : verb)),
			reason ? {reason} : undefined,
			"schedule " + verb,
			quote(name),
			reason && `--reason ${quote(reason)}`
		),
		...(verb === "rm" ? {method: "DELETE"} : {})
	}),
	backfill: (name, from_ms, to_ms, allow) =>
		post(
			schedulePath(name) + "/backfill",
			{from_ms, to_ms, ...(allow ? {allow} : {})},
			"schedule backfill",
			quote(name),
			...[from_ms, to_ms].map((t, i) => `--${i ? "to" : "from"} ${new Date(t).toISOString()}`),
			allow && "--overlap allow"
		),
	revoke: (q, id) => ({method: "DELETE", path: `${Q(q)}/messages/${seg(id)}`})
};
