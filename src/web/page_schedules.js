// page_schedules.js -- what starts by itself: every schedule, or one with all that is known of it.
import {ago, ask, at, btn, choice, cmd, copy, day, dim, empty, fault, field, h, head, ib, icon, ident, idHref, jsonField, listHref, loading, menu, num, page, panel, payload, queueHref, readJson, scheduleHref, search, serverNow, table, until, toJson} from "./ui.js";
import {act, get, may, query, run, SCHEDULES, schedulePath} from "./api.js";
import {startable} from "./offers.js";
import {pace} from "./live.js";

const UNITS = {ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5};
/** "1h 30m" and "90s" in milliseconds; null: it is none. */
const span = text =>
	/^(\s*\d+\s*(ms|[smhd]))+\s*$/.test(text)
		? [...text.matchAll(/(\d+)\s*(ms|[smhd])/g)].reduce((sum, m) => sum + m[1] * UNITS[m[2]], 0)
		: null;
/** And back: 90000 is "1m 30s". */
const spell = ms =>
	Object.entries(UNITS)
		.reverse()
		.map(([u, n]) => {
			const k = Math.floor(ms / n);
			ms -= k * n;
			return k ? k + u : "";
		})
		.filter(Boolean)
		.join(" ");
/** 2026-11-19T02:30:00+01:00 in fewer letters. */
const brief = text =>
	text
		.replace("T", " ")
		.replace(/(:\d\d):00(Z|$|[+-])/, "$1$2")
		.replace("+", " +");
const lines = text =>
	text
		.split("\n")
		.map(l => l.trim())
		.filter(Boolean);
/** What is typed for each way to say when. */
const WHEN = {
	cron: ["Cron lines", "minute hour day month weekday", "30 2 * * *", t => ({cron: lines(t)})],
	every_ms: [
		"Every",
		"such as 90s, 15m, 1h 30m",
		"15m",
		t => ({every_ms: span(t) ?? need("a time such as 15m")})
	],
	at_ms: ["Times", "one in a line, UTC", "", t => ({at_ms: lines(t).map(instant)})]
};
const need = what => {
	throw new Error(`${what} was expected`);
};
const instant = text =>
	Date.parse(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : text + "Z") ||
	need("a time such as 2027-01-01T06:00");
const iso = ms => new Date(ms).toISOString().replace(".000Z", "Z");
const shows = {
	cron: v => [v].flat().join("\n"),
	every_ms: spell,
	at_ms: v => v.map(iso).join("\n")
};
const wayOf = spec => Object.keys(WHEN).find(k => spec[k]) ?? "cron";

const when = s => {
	const k = wayOf(s.spec),
		text = shows[k](s.spec[k] ?? []);
	return k === "every_ms"
		? ["every ", text]
		: h("code", {title: text}, text.split("\n").join(" · "));
};
const what = ({spec: s}) =>
	s.queue
		? ["to ", ident(s.queue, queueHref(s.queue))]
		: h("a", {href: listHref({orchestration: s.orchestration})}, s.orchestration);
const stateOf = s =>
	s.finding
		? ["failed", "cannot go on", s.finding]
		: s.paused
			? ["suspended", "paused", s.reason]
			: s.next.length
				? ["running", "active"]
				: ["completed", "at its end"];
function stateView(s) {
	const [of, word, text] = stateOf(s);
	return h(`span.st.st-${of}`, {title: text}, icon(of), h("span", word));
}

// ---- What can be done
/** A schedule is put; the occurrences that follow are shown as one types. */
async function putDialog(was, done) {
	const names = was ? [] : await startable().catch(() => []),
		{orchestration, queue, zone: of, input: data, ...others} = was?.spec ?? {};
	let name = was?.name ?? "nightly",
		way = wayOf(others),
		text = was ? shows[way](others[way]) : WHEN.cron[2],
		zone = of ?? (was ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone),
		target = queue ? "queue" : "orchestration",
		to = queue ?? orchestration ?? names[0] ?? "",
		input = data === undefined ? "" : toJson(data, null, 2),
		turn = 0,
		next = null,
		wrong = null;
	for (const k in WHEN) delete others[k];
	let more = Object.keys(others).length ? toJson(others) : "";
	const spec = () => {
		const value = readJson(input);
		return {
			...WHEN[way][3](text),
			...(zone && zone !== "UTC" ? {zone} : {}),
			[target]: to,
			...(value === undefined ? {} : {input: value}),
			...readJson(more)
		};
	};
	const look = async d => {
		const mine = ++turn;
		d.draw();
		await new Promise(ok => setTimeout(ok, next ? 150 : 0));
		if (mine !== turn) return;
		try {
			next = (await run({method: "POST", path: SCHEDULES + ":next?count=4", body: spec()})).next;
			wrong = null;
		} catch (e) {
			wrong = e.message;
		}
		if (mine === turn) d.draw();
	};
	let looked = false;
	ask({
		title: was ? `Change ${was.name}` : "New schedule",
		ok: was ? "Change" : "Store",
		class: "wide",
		fields: d => {
			if (!looked) {
				looked = true;
				look(d);
			}
			const set = f => v => {
				f(v);
				look(d);
			};
			return [
				h(
					".f2",
					was
						? null
						: field(
								"Name",
								name,
								set(v => (name = v)),
								{class: "mono", autofocus: true}
							),
					field(
						"Zone",
						zone,
						set(v => (zone = v)),
						{list: "zones", hint: "of the cron lines"}
					)
				),
				h(
					"datalist",
					{id: "zones"},
					Intl.supportedValuesOf("timeZone").map(z => h("option", {value: z}))
				),
				choice(
					"When",
					Object.entries(WHEN).map(([k, w]) => [k, w[0]]),
					way,
					set(v => {
						way = v;
						text = WHEN[v][2];
					})
				),
				h(
					"label.f",
					h("span", WHEN[way][0], dim(" " + WHEN[way][1])),
					h("textarea.mono", {
						rows: way === "every_ms" ? 1 : 2,
						value: text,
						"aria-invalid": wrong ? "true" : null,
						oninput: e => set(v => (text = v))(e.target.value)
					})
				),
				h(
					".next",
					{role: "status"},
					wrong
						? h("p.warn", wrong)
						: next &&
								h(
									"dl.facts",
									next.map(o => [
										h("dt", brief(o.utc)),
										h("dd", brief(o.local), dim(" ", until(o.at)))
									])
								)
				),
				choice(
					"What",
					[
						["orchestration", "Start an orchestration"],
						["queue", "Push to a queue"]
					],
					target,
					set(v => (target = v))
				),
				field(
					target === "queue" ? "Queue" : "Orchestration",
					to,
					set(v => (to = v)),
					{list: "orch"}
				),
				h(
					"datalist",
					{id: "orch"},
					target === "queue" ? null : names.map(n => h("option", {value: n}))
				),
				jsonField(
					"Input",
					input,
					set(v => (input = v)),
					{rows: 3}
				),
				field(
					"Other options",
					more,
					set(v => (more = v)),
					{
						class: "mono",
						hint: "JSON: overlap, missed, jitter_ms, max_runs, pause_on_failure …",
						placeholder: '{"overlap":"queue"}'
					}
				)
			];
		},
		valid: () => wrong ?? (!name || !to ? "which one?" : null),
		action: () => act.schedule(name.trim(), spec(), was?.revision),
		says: r => `${r.name} is stored, revision ${r.revision}`,
		done: r => done(r.name)
	});
}
function backfillDialog(s, done) {
	const yesterday = serverNow() - 864e5;
	let from = day(yesterday),
		to = iso(serverNow()).slice(0, 16),
		allow = false;
	ask({
		title: `Backfill ${s.name}`,
		text: "Starts the occurrences of a time that is past; those that ran are left out.",
		ok: "Begin",
		fields: d => {
			const set = f => v => {
				f(v);
				d.draw();
			};
			return [
				h(
					".f2",
					field(
						"From",
						from,
						set(v => (from = v)),
						{hint: "UTC", autofocus: true}
					),
					field(
						"To",
						to,
						set(v => (to = v)),
						{hint: "UTC, not later than now"}
					)
				),
				choice(
					"How",
					[
						[false, "one after the other"],
						[true, "all at once"]
					],
					allow,
					set(v => (allow = v))
				)
			];
		},
		action: () => act.backfill(s.name, instant(from), Math.min(instant(to), serverNow()), allow),
		done
	});
}
const TEXT = {
	pause: "Nothing is started until it is resumed.",
	resume: "It goes on; what was missed is treated as the schedule says.",
	run: "One run begins now, beside what runs.",
	rm: "The schedule is gone; its runs stay."
};
const steer = (verb, s, done, app) =>
	ask({
		title: `${verb === "rm" ? "Remove" : verb[0].toUpperCase() + verb.slice(1)} ${s.name}`,
		text: TEXT[verb],
		reason: verb === "pause",
		danger: verb === "rm",
		typed: verb === "rm" ? s.name : null,
		ok: {pause: "Pause", resume: "Resume", run: "Run now", rm: "Remove"}[verb],
		action: reason => act.steerSchedule(verb, s.name, reason),
		run: async a => {
			const answer = await run(a),
				prefix = answer.instance;
			// A start by hand is recorded; the instance is there a moment later.
			for (let i = 0; prefix && i < 30; i++) {
				if ((await get("/api/v1/instances" + query({prefix}))).instances.length) break;
				await new Promise(ok => setTimeout(ok, 100));
			}
			return answer;
		},
		done: a => (a.instance ? app.go(idHref(a.instance)) : done(verb))
	});
const actions = (s, done, app) =>
	!may("operate")
		? []
		: [
				{text: "Run now…", icon: "right", run: () => steer("run", s, done, app)},
				s.paused
					? {text: "Resume…", icon: "running", run: () => steer("resume", s, done)}
					: {text: "Pause…", icon: "suspended", run: () => steer("pause", s, done)},
				{text: "Backfill…", icon: "retrying", run: () => backfillDialog(s, done)},
				{text: "Change…", icon: "patch", run: () => putDialog(s, done)},
				{text: "Remove…", icon: "close", danger: true, run: () => steer("rm", s, done)}
			];

// ---- The pages
const n = x => (x ? num(x) : dim("·"));
const lastRun = ({last_run: r}) =>
	r
		? h(
				"a.row",
				{href: idHref(r.instance), title: r.instance},
				h(`span.st-${r.state}`, icon(r.state)),
				ago(r.ended_ms)
			)
		: dim("–");
const runsHref = s => listHref({prefix: s.name + "@"});
function row(s, done, app) {
	const o = s.next[0],
		all = actions(s, done, app);
	return [
		ident(s.name, scheduleHref(s.name)),
		stateView(s),
		when(s),
		what(s),
		o ? h("time", {title: o.utc}, brief(o.utc)) : dim("–"),
		o ? [h("span", {title: o.local}, brief(o.local)), dim(" " + s.zone)] : dim("–"),
		o ? until(o.at) : dim("–"),
		h("a", {href: runsHref(s)}, num(s.runs ?? 0)),
		n((s.missed ?? 0) + (s.skipped ?? 0)),
		lastRun(s),
		all.length ? ib("more", `Actions for ${s.name}`, e => menu(e, all, s.name)) : null
	];
}
const COLS = [
	["Schedule"],
	["State"],
	["When", "w"],
	["What", "w"],
	["Next, UTC", "w"],
	["Next in its zone", "w"],
	["In", "r"],
	["Runs", "r w"],
	["Left out", "r w"],
	["Last run", "w"],
	["", "r"]
];
function one(s, next, done, app) {
	const [, , why] = stateOf(s),
		fact = o =>
			Object.entries(o).map(([k, v]) =>
				v == null ? null : [h("dt", k), h("dd", v)]
			);
	return [
		why && h("p.warn", icon(stateOf(s)[0]), why),
		panel(
			"When it is due",
			s.zone,
			next.length
				? table(
						[["UTC"], [s.zone], ["", "r dim w"]],
						next.map(o => [h("code", brief(o.utc)), h("code", brief(o.local)), until(o.at)]),
						i => next[i].at
					)
				: empty(s.paused ? "It is paused: nothing is due." : "Nothing is due any more.")
		),
		panel(
			"How it goes",
			h("a", {href: runsHref(s)}, "its runs"),
			h(
				"dl.facts.two",
				fact({
					runs: num(s.runs ?? 0),
					"by hand": num(s.triggered ?? 0),
					"missed, they were past": num(s.missed ?? 0),
					"skipped, a run was open": num(s.skipped ?? 0),
					"open run": s.open && ident(s.open, idHref(s.open)),
					waiting: s.waiting?.length,
					"last run": s.last_run && lastRun(s),
					backfill: s.backfill && h("code", toJson(s.backfill)),
					"stored first": s.created_ms && at(s.created_ms),
					"changed last": s.updated_ms && at(s.updated_ms),
					revision: s.revision
				})
			)
		),
		panel("What it starts", what(s), payload({data: s.spec}, s.name, done))
	];
}
export default function schedules(root, route, app) {
	const name = route.arg;
	let list = null,
		only = null,
		next = [],
		more = null,
		find = "";
	const path = () => (name ? schedulePath(name) : SCHEDULES);
	const read = async () => {
		if (name) {
			only = await get(path());
			next = only.next.length
				? (await get(path() + "/next" + query({count: 8, from: only.next[0].at}))).next
				: [];
		} else {
			const got = await get(path() + query({limit: 1000}));
			list = got.schedules;
			more = got.next;
		}
	};
	const done = verb => (verb === "rm" && name ? app.go("#/schedules") : p.load());
	const p = page(root, {
		title: name ?? "Schedules",
		read,
		hears: t => t === "changes" && p.soon(pace(1500)),
		view() {
			if (name)
				return [
					h(
						"header.ph",
						h(
							".ih",
							h("p.crumb", h("a", {href: "#/schedules"}, "Schedules")),
							h("h1.mono", h("span", name), copy(name, "Copy name")),
							only && h("p.meta", stateView(only), h("span", when(only)), h("span", only.zone))
						),
						only &&
							h(
								".ph-act",
								actions(only, done, app).map(a =>
									btn(a.text, a.run, {class: a.danger ? "danger" : ""})
								)
							)
					),
					p.error ? fault(p.error, p.load) : only ? one(only, next, p.draw, app) : loading()
				];
			const f = (list ?? []).filter(s => s.name.includes(find));
			return [
				head(
					"Schedules",
					list ? num(list.length) + (more ? " and more" : "") : "",
					btn("New…", () => putDialog(null, n => app.go(scheduleHref(n))), {
						needs: "operate",
						class: "b1",
						icon: "plus"
					})
				),
				h(
					".tools",
					search("Search schedules", find, v => {
						find = v;
						p.draw();
					})
				),
				p.error
					? fault(p.error, p.load)
					: !list
						? loading()
						: !list.length
							? empty(
									"Nothing is scheduled yet.",
									h(
										"p",
										"A schedule starts an orchestration, or pushes to a queue, again and again."
									),
									cmd(
										"pawl schedule put nightly --cron '30 2 * * *' --zone Europe/Berlin --start ProcessOrder"
									)
								)
							: !f.length
								? empty(`No schedule has “${find}” in its name.`)
								: h(
										"section.panel.scroll",
										{tabindex: "0", role: "region", label: "Schedules"},
										table(
											COLS,
											f.map(s => row(s, done, app)),
											i => f[i].name
										)
									)
			];
		}
	});
	app.api = path;
	app.actions = () => (only ? actions(only, done, app) : []);
	p.load();
	return p;
}
