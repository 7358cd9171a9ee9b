// overview.js -- what needs somebody, first; then how it goes.
import {
	ago,
	ask,
	btn,
	bytes,
	cmd,
	dim,
	dur,
	empty,
	fault,
	h,
	head,
	icon,
	ident,
	idHref,
	listHref,
	lk,
	loading,
	num,
	page,
	panel,
	plural,
	queueHref,
	rate,
	short,
	since,
	spark,
	STATES,
	table
} from "./ui.js";
import {act, curl} from "./api.js";
import {overviewOf} from "./offers.js";
import {live, pace} from "./live.js";
import {bulk, startDialog} from "./actions.js";

/** A problem in words: [icon, state colour, title, text, where to look, [button, what it does], command]. */
function tell(p, again) {
	const o = p.orchestration ? {orchestration: p.orchestration} : {},
		move = (verb, filter) => () => bulk(verb, {filter, count: p.count}, again);
	switch (p.kind) {
		case "blocked":
			return [
				"blocked",
				"blocked",
				`${num(p.count)} ${p.orchestration ?? "instances"} blocked`,
				p.detail,
				listHref({status: "blocked", ...o}),
				["Retry…", move("retry", {status: "blocked", ...o}), "admin"]
			];
		case "retrying":
			return [
				"retrying",
				"failed",
				`${p.activity} keeps failing in ${plural(p.count, "instance")}`,
				`try ${p.attempt} so far: ${p.detail ?? ""}`,
				listHref({waiting: `retrying:${p.activity}`, sort: "attempts"})
			];
		case "no_worker":
			return [
				"no_worker",
				"failed",
				`Nobody takes ${p.activity}: ${plural(p.count, "instance")} queued`,
				"No module has it and no worker asks for it.",
				listHref({waiting: `noworker:${p.activity}`}),
				null,
				curl({
					method: "POST",
					path: "/api/v1/work/poll",
					body: {activities: [p.activity], wait_ms: 30000}
				})
			];
		case "failed":
			return [
				"failed",
				"failed",
				`${num(p.count)} ${p.orchestration} failed within the hour`,
				p.detail,
				listHref({status: "failed", ...o, sort: "updated"})
			];
		case "suspended":
			return [
				"suspended",
				"suspended",
				`${plural(p.count, "instance")} suspended`,
				"Somebody asked for it; nothing happens until they are resumed.",
				listHref({status: "suspended"}),
				["Resume…", move("resume", {status: "suspended"}), "admin"]
			];
		case "dead_letters":
			return [
				"dead_letters",
				"failed",
				`${plural(p.count, "dead letter")} in ${p.queue}`,
				"Items that were given up after their last delivery.",
				queueHref(p.queue),
				[
					"Redrive…",
					() =>
						ask({
							title: `Redrive ${p.queue}`,
							text: `${plural(p.count, "item")} go back where they came from.`,
							ok: `Move ${num(p.count)}`,
							action: () => act.redrive(p.queue, {}),
							says: r => `${plural(r.items_moved, "item")} moved`,
							done: again
						})
				]
			];
		case "paused":
			return [
				"paused",
				"suspended",
				`${p.queue} is paused with ${num(p.count)} ready`,
				"Pops find nothing; pushes go on.",
				queueHref(p.queue),
				[
					"Resume…",
					() =>
						ask({
							title: `Resume ${p.queue}`,
							ok: "Resume",
							action: () => act.unpause(p.queue),
							done: again
						})
				]
			];
		default:
			return [
				"failed",
				"failed",
				"The engine makes no progress",
				p.detail,
				"#/",
				null,
				"pawl doctor"
			];
	}
}
const mean = v =>
	v.map((_, i) => {
		const w = v.slice(Math.max(0, i - 4), i + 1).filter(x => x !== null);
		return w.length ? w.reduce((a, b) => a + b, 0) / w.length : 0;
	});
const CHARTS = [
	[
		"Instances ended",
		"ended",
		"failed",
		"c-done",
		s => `${rate(s.starts)} started, ${rate(s.failed)} failed`
	],
	["Activity attempts", "activities", "retried", "c-run", s => `${rate(s.retried)} retried`],
	[
		"Wait for a worker, p95",
		"delay_p95_ms",
		null,
		"c-wait",
		(s, all) => `p50 ${dur(all.findLast(x => x.delay_p50_ms !== null).delay_p50_ms)}`
	],
	["Commit, synced", "commit_ms", null, "", s => `${rate(s.turns)} turns/s`]
];
function charts() {
	const list = live.samples.slice(-300);
	return list.length < 2
		? null
		: h(
				"section.charts",
				{label: "The last five minutes"},
				CHARTS.map(([name, key, second, tone, sub]) => {
					const v = list.map(s => s[key] ?? null);
					if (v.every(x => x === null)) return null;
					const now = second
						? rate(mean(v.slice(-8)).at(-1))
						: dur(v.slice(-20).findLast(x => x !== null));
					return h(
						".chart",
						{key},
						h("h3", name),
						h("p.big", now, second && h("small", "/s"), h("span", sub(list.at(-1), list))),
						spark(second ? mean(v) : v, {
							height: 44,
							tone,
							second: second ? mean(list.map(s => s[second])) : null,
							dots: true,
							label: `${name}, five minutes, now ${now}`
						})
					);
				})
			);
}

export default function overview(root, route, app) {
	let data = null,
		all = false,
		feed = [];
	const p = page(root, {
		title: "Overview",
		read: async () => {
			data = await overviewOf();
			live.samples = data.samples;
			live.stats = {counts: data.counts, problems: data.problems.length};
			live.changed();
			if (!data.exact) p.soon(300);
			else if (!data.current) p.soon(pace(1500));
		},
		hears(type, d) {
			if (type !== "changes") return;
			for (const c of d.instances.slice(-12))
				feed = [c, ...feed.filter(f => f.instance !== c.instance)].slice(0, 14);
			p.soon(pace(1500));
		},
		view() {
			const n = data?.node ?? {},
				top = head(
					"Overview",
					[
						n.version ? `pawl ${n.version}` : "",
						n.rss_bytes
							? [
									" · up ",
									since(n.started_at),
									` · ${bytes(n.rss_bytes)} memory · ${plural(n.resident, "fiber")} resident`
								]
							: ""
					],
					btn("Start…", () => startDialog(app), {class: "b1", icon: "plus", needs: "operate"})
				);
			if (!data) return [top, p.error ? fault(p.error, p.load) : loading()];
			const counts = data.counts,
				sum = Object.values(counts).reduce((a, b) => a + (+b || 0), 0);
			if (!sum && !data.queues.length)
				return [
					top,
					h(
						".first",
						h("h2", "Nothing has been started yet."),
						h(
							"p",
							"Start an order: it pays, reserves, waits for a person, ships and closes the books. You see each step as it happens."
						),
						h(
							".row",
							btn("Start an order", () => startDialog(app), {class: "b1", needs: "operate"}),
							"or",
							cmd(
								'pawl start ProcessOrder --id o-1 --input \'{"id":"o-1","step_ms":500,"return_window_ms":4000}\''
							)
						)
					)
				];
			return [
				top,
				problems(),
				states(counts, sum),
				charts(),
				h(
					".cols",
					waiting(),
					queues(),
					kinds(),
					panel(
						"Now",
						dim(live.state === "live" ? "as it happens" : live.state),
						feed.length
							? h(
									"ul.feed",
									feed.map(f =>
										h(
											"li",
											{key: f.instance},
											h(`span.st-${f.status}`, icon(f.status)),
											ident(f.instance, idHref(f.instance)),
											dim(`event ${num(f.seq)}`)
										)
									)
								)
							: empty("Quiet. Nothing has changed since you came.")
					)
				)
			];
		}
	});
	function problems() {
		const list = data.problems;
		return h(
			"section.panel.needs",
			h(
				"header",
				h("h2", list.length ? "Needs you" : "Nothing needs you"),
				dim(list.length || "No instance is blocked or keeps failing, no queue has dead letters.")
			),
			h(
				"ul",
				(all ? list : list.slice(0, 6)).map(x => {
					const [ic, tone, title, text, href, button, line] = tell(x, p.load);
					return h(
						"li.pb",
						{key: x.kind + x.orchestration + x.queue + x.activity + x.detail?.slice(0, 40)},
						h(`span.pb-i.st-${tone}`, icon(ic)),
						h(".pb-t", h("a", {href}, title), h("p", {title: text}, text), line && cmd(line)),
						h("span.pb-s", ago(x.since)),
						h(
							".pb-b",
							button && btn(button[0], button[1], {needs: button[2] ?? "operate"}),
							h("a.b", {href}, "Show")
						)
					);
				})
			),
			list.length > 6 &&
				lk(
					all ? "fewer" : `${list.length - 6} more`,
					() => {
						all = !all;
						p.draw();
					},
					{class: "more", "aria-expanded": String(all)}
				)
		);
	}
	const states = (counts, sum) =>
		h(
			"section.strip",
			{label: "Instances by state"},
			h(
				"ul",
				STATES.map(s =>
					h(
						"li",
						{key: s},
						h(
							`a.st-${s}`,
							{href: listHref({status: s}), class: counts[s] === 0 ? "zero" : ""},
							h("b", num(counts[s])),
							h("span", icon(s), s)
						)
					)
				)
			),
			h(
				".stack",
				{"aria-hidden": "true"},
				STATES.filter(s => counts[s]).map(s =>
					h(`i.bg-${s}`, {key: s, style: {"flex-grow": Math.max(counts[s], sum * 0.004)}})
				)
			)
		);
	const waiting = () =>
		panel(
			"Waiting for somebody",
			dim(data.waits.looked ? `of the newest ${data.waits.looked} open ones` : "events nobody raised yet"),
			data.waits.events.length
				? table(
						[["Event"], ["Orchestration", "dim"], ["Instances", "r"], ["Longest", "r"]],
						data.waits.events.slice(0, 8).map(w => [
							h(
								"a",
								{
									href: listHref({
										waiting: "event:" + w.event,
										orchestration: w.orchestration,
										sort: "waiting"
									})
								},
								w.event
							),
							w.orchestration,
							num(w.count),
							h("a.dim", {href: idHref(w.instance), title: w.instance}, since(w.oldest))
						])
					)
				: empty("Nobody is waited for.")
		);
	const queues = () => {
		const told = data.queues.some(q => q.depth);
		return panel(
			"Queues",
			h("a", {href: "#/queues"}, "all"),
			data.queues.length
				? table(
						[
							["Queue"],
							["Ready", "r"],
							["Locked", "r"],
							["Oldest", "r dim"],
							told && ["In, out /s", "r dim w"],
							told ? ["Depth", "sp"] : ["Size", "r dim w"]
						],
						[...data.queues]
							.sort((a, b) => b.ready - a.ready)
							.slice(0, 8)
							.map(q => [
								[ident(q.name, queueHref(q.name)), q.paused && h("span.tag", "paused")],
								short(q.ready),
								q.locked || dim("·"),
								q.ready ? dur(q.oldest_age_seconds * 1000) : "–",
								`${rate(q.in_per_s)}, ${rate(q.out_per_s)}`,
								told
									? spark(q.depth ?? [], {height: 16, label: `depth of ${q.name}`})
									: bytes(q.bytes)
							])
					)
				: empty(
						"No queue was used yet.",
						cmd(`curl -d '{"item":{"to":"you"}}' ${location.origin}/queue/mail/push`)
					)
		);
	};
	const kinds = () =>
		panel(
			"Orchestrations",
			!data.exact && dim("still counting"),
			table(
				[
					["Name"],
					["Running", "r"],
					["Blocked", "r w"],
					["Failed", "r"],
					["Completed", "r"],
					["p50", "r dim w"],
					["p95", "r dim w"]
				],
				data.orchestrations.map(o => [
					h("a", {href: listHref({orchestration: o.name}), title: o.versions?.join(", ")}, o.name),
					...["running", "blocked", "failed", "completed"].map(status =>
						o.counts[status]
							? h(
									"a",
									{
										class: /ed$/.test(status) && status !== "completed" ? "st-" + status : "plain",
										href: listHref({orchestration: o.name, status})
									},
									short(o.counts[status])
								)
							: dim("·")
					),
					dur(o.p50_ms),
					dur(o.p95_ms)
				])
			)
		);

	app.api = () => "/api/v1/overview";
	p.load();
	return p;
}
