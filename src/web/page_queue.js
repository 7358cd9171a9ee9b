// queue.js -- one queue: what is in it, who holds what for how long; and a bench on which a person can push,
// pop, acknowledge and let a lock run out, with the answers as they come over the wire.
import {ago, ask, btn, bytes, choice, cmd, copy, dim, dur, empty, fault, field, h, ib, icon, jsonField, left, lk, loading, menu, meter, num, page, panel, plural, queueHref, rate, readJson, seg, table, serverNow, toJson} from "./ui.js";
import {act, api, call, curl, may} from "./api.js";
import {queuesOf} from "./offers.js";
import {pushDialog} from "./page_queues.js";

// The four examples of the queue's contract, to be walked through with one button.
const TOUR = [
	[
		"Acknowledge",
		"Push, pop under a lock, acknowledge: at least once",
		["push", {item: {task_id: 123, action: "send_email"}}],
		["pop", {require_ack: true}],
		["ack"]
	],
	[
		"One lock",
		"While a lock is live, a second pop is 423",
		["push", {item: {n: 1}}],
		["pop", {require_ack: true}],
		["pop", {}],
		["ack"]
	],
	[
		"Run out",
		"A lock of 5 seconds runs out: 410, and the item is back",
		["push", {item: {n: 2}}],
		["pop", {require_ack: true, ttl_seconds: 5}],
		["wait"],
		["ack"],
		["pop", {require_ack: true}],
		["ack"]
	],
	["No lock", "A pop without require_ack takes it for good", ["push", {item: {n: 3}}], ["pop", {}]]
];
const held = new Map(),
	sec = s => (s ? s * 1000 : null); // locks this page took, by queue: only who popped knows a lock's id

export default function queue(root, route, app) {
	const name = route.arg,
		dead = name.endsWith("-deadletter"),
		mine = held.get(name) ?? held.set(name, []).get(name);
	let q = null,
		locks = [],
		messages = [],
		next = null,
		filter = "",
		log = [],
		tour = 0,
		done = 0,
		expiry = 0,
		last = null,
		open = null,
		stats = null,
		bench = null;
	const p = page(root, {
		title: name,
		class: "queue",
		close: () => clearTimeout(expiry),
		of: {queue: name},
		hears: t => t === "changes" && p.soon(300),
		async read() {
			try {
				q = await api.queue(name);
				[{locks}, {messages, next}, stats] = await Promise.all([
					api.locks(name),
					api.messages(name, {limit: 50, state: filter}),
					queuesOf().then(l => l.find(x => x.name === name))
				]);
			} catch (e) {
				if (e.status !== 404) throw e;
				q = null;
				messages = locks = [];
			}
			bench ??=
				may("operate") &&
				(app.route.query.has("bench") || (!dead && !(q?.ready > 20) && !(q?.totals.popped > 50)));
			clearTimeout(expiry);
			const soon = Math.min(
				...locks.map(l => sec(l.expires_at)),
				...messages.map(m => sec(m.deliver_at) ?? Infinity).filter(t => t > serverNow())
			);
			if (soon < Infinity)
				expiry = setTimeout(p.load, Math.min(2 ** 30, Math.max(0, soon - serverNow()) + 150));
		},
		view: () => [
			h(
				"header.ph",
				h(
					".ih",
					h("p.crumb", h("a", {href: "#/queues"}, "Queues")),
					h("h1.mono", h("span", name), copy(name, "Copy name")),
					q &&
						h(
							"p.meta",
							["ready", "delayed", "locked"].map(k =>
								h("span", {key: k}, h("b", num(q[k])), " " + k)
							),
							h("span", bytes(q.bytes)),
							q.ready ? h("span", "oldest ", dur(q.oldest_age_seconds * 1000)) : null,
							stats?.in_per_s !== undefined &&
								h("span", `${rate(stats.in_per_s)} in, ${rate(stats.out_per_s)} out /s`),
							q.paused && h("span.tag.alert", "paused")
						)
				),
				h(
					".ph-act",
					dead && q?.ready ? btn("Redrive…", redrive, {class: "b1", needs: "operate"}) : null,
					btn("Push…", () => pushDialog(name, p.load), {
						icon: "plus",
						class: dead ? "" : "b1",
						needs: "operate"
					}),
					q && [
						btn("Pop…", pop, {needs: "operate"}),
						btn("", more, {icon: "more", class: "sq", label: "All actions", needs: "operate"})
					]
				)
			),
			p.error && !q
				? fault(p.error, p.load)
				: !p.ready
					? loading()
					: [
							q ? null : empty("Nobody ever used this queue.", "It exists from its first item on."),
							h(
								".qcols",
								h(
									"div",
									bench
										? benchView()
										: !may("operate")
											? null
											: h(
													"p.note",
													"Others use this queue. ",
													lk("Try push, pop and acknowledge on one of your own", () =>
														app.go(queueHref("my-queue") + "?bench=1")
													),
													dead
														? ""
														: [
																", or ",
																lk("here", () => {
																	bench = true;
																	p.draw();
																})
															],
													"."
												),
									q && items()
								),
								h("div", lockView(), q && depth())
							)
						]
		]
	});
	/** Do it, and keep what the wire said. */
	async function wire(a, words) {
		const r = await call(a.method, a.path, a.body, {raw: true}).catch(e => ({
				status: 0,
				json: {message: e.message}
			})),
			id = a.body?.lock_id,
			i = mine.findIndex(l => l.lock_id === id);
		log.unshift({n: log.length, words, ...r});
		if (r.json?.locked && r.json.lock_id)
			mine.push({
				lock_id: (last = r.json.lock_id),
				expires: sec(r.json.lock_expires_at),
				from: serverNow(),
				items: r.json.items
			});
		if (i >= 0 && r.json?.new_expires_at) mine[i].expires = sec(r.json.new_expires_at);
		else if (i >= 0 && [200, 404, 410].includes(r.status)) mine.splice(i, 1);
		p.load();
		return r;
	}
	const said = ([k, arg]) =>
		({
			push: "push an item",
			ack: "acknowledge it",
			wait: "wait for its end",
			pop: arg?.require_ack ? `pop with a lock${arg.ttl_seconds ? " of 5 s" : ""}` : "pop"
		})[k];
	const action = ([k, arg]) =>
		k === "push"
			? act.push(name, arg)
			: k === "pop"
				? act.pop(name, arg)
				: k === "ack"
					? act.ack(name, last ?? "LOCK_ID")
					: null;
	function benchView() {
		const [, words, ...steps] = TOUR[tour],
			now = steps[done],
			a = now && action(now),
			lock = mine.find(l => l.lock_id === last),
			waits = now?.[0] === "wait" && lock && lock.expires + 500 > serverNow(),
			restart = t => {
				tour = t;
				done = 0;
				last = null;
				p.draw();
			};
		if (waits) setTimeout(p.draw, 500);
		const go = async () => {
			if (a) await wire(a, said(now).split(" ")[0]);
			done++;
			p.draw();
		};
		return panel(
			"Bench",
			choice(
				"Example",
				TOUR.map(([t], i) => [i, `${i + 1} ${t}`]),
				tour,
				restart
			),
			h(
				"p.note",
				words,
				q && q.config.max_locks !== 1
					? `; this queue allows ${q.config.max_locks || "any number of"} locks`
					: "",
				"."
			),
			h(
				"ol.tour",
				steps.map((s, i) =>
					h(
						"li",
						{key: i, class: i < done ? "past" : i === done ? "now" : ""},
						i < done ? icon("ok") : h("span.dot", i + 1),
						said(s),
						i === done
							? waits
								? h("b", left(lock.expires))
								: btn(a ? "Do it" : "Go on", go, {class: "b1"})
							: null
					)
				)
			),
			a
				? cmd(curl(a))
				: done >= steps.length
					? h(
							"p.note",
							"That is all of it. ",
							lk("once more", () => restart(tour)),
							tour < 3 ? [", or ", lk("the next", () => restart(tour + 1))] : ""
						)
					: null,
			h(
				".wirelog",
				{tabindex: "0", role: "log", label: "Answers"},
				log.length
					? log
							.slice(0, 12)
							.map(l =>
								h(
									"p",
									{key: l.n},
									h(`b.c${l.status > 299 ? 4 : 2}`, l.status),
									h("span", l.words),
									h("code", toJson(l.json))
								)
							)
					: h("p.none", "Answers appear here as they come over the wire.")
			)
		);
	}
	function lockView() {
		const others = locks.filter(l => !mine.some(m => m.lock_id.startsWith(l.lock_id.slice(0, 3)))),
			line = (key, id, n, from, to, ...k) =>
				h(
					"li",
					{key},
					h(
						"p",
						h("code", id),
						k.length ? h("span.tag", "yours") : null,
						dim(` ${plural(n, "item")} · `),
						h("b", left(to))
					),
					meter(from, to, "count"),
					k
				),
			b = (text, a) => btn(text, () => wire(a, text.toLowerCase()), {key: text});
		return panel(
			`Locks, ${num(q?.locks ?? 0)}`,
			q &&
				dim(
					q.config.max_locks ? `at most ${q.config.max_locks} at a time` : "any number at a time"
				),
			mine.length + others.length
				? h(
						"ul.locks",
						mine.map(l =>
							line(
								l.lock_id,
								l.lock_id,
								l.items.length,
								l.from,
								l.expires,
								h(
									"code.items",
									{title: toJson(l.items)},
									toJson(l.items).slice(0, 200)
								),
								h(
									".row",
									b("Acknowledge", act.ack(name, l.lock_id)),
									b("Extend 30 s", act.extend(name, l.lock_id)),
									b("Release", act.release(name, l.lock_id)),
									dead ? null : b("Bury", act.bury(name, l.lock_id))
								)
							)
						),
						others.map((l, i) =>
							line("o" + i, l.lock_id, l.items, sec(l.created_at), sec(l.expires_at))
						)
					)
				: empty("No lock is live.")
		);
	}
	function depth() {
		const by = Object.entries(q.ready_by_priority ?? {}).sort((a, b) => a[0] - b[0]),
			most = Math.max(1, ...by.map(x => x[1]));
		return panel(
			"Ready by priority",
			dim("lowest number first"),
			by.length
				? h(
						"ul.prio",
						by
							.slice(0, 12)
							.map(([k, n]) =>
								h(
									"li",
									{key: k},
									h("span", k),
									h("i", {style: {width: Math.max(0.6, (n / most) * 100) + "%"}}),
									h("b", num(n))
								)
							)
					)
				: empty("Nothing is ready."),
			h(
				"dl.facts.two",
				Object.entries(q.totals)
					.filter(([, n]) => n)
					.map(([k, n]) => [h("dt", k.replaceAll("_", " ")), h("dd", num(n))])
			)
		);
	}
	const revoke = m =>
		ask({
			title: `Revoke item ${m.id}`,
			text: "It is taken out of the queue and not delivered.",
			ok: "Revoke",
			danger: true,
			action: () => act.revoke(name, m.id),
			done: p.load
		});
	const items = () =>
		panel(
			"Items",
			[
				choice(
					"State",
					[
						["", "all"],
						["ready", "ready"],
						["delayed", "delayed"],
						["locked", "locked"]
					],
					filter,
					v => {
						filter = v;
						p.load();
					}
				),
				h("span.dim.w", "looking touches nothing")
			],
			messages.length
				? h(
						".scroll",
						{tabindex: "0", role: "region", label: "Items"},
						table(
							[
								["Id", "mono"],
								["State"],
								["Prio", "r"],
								["Tries", "r"],
								[dead ? "Came from" : "In since"],
								["Item", "item"],
								["", "r"]
							],
							messages.map(m => [
								m.id,
								m.state === "delayed" ? [dim("in "), left(sec(m.deliver_at))] : m.state,
								m.priority,
								m.delivery_count || dim("·"),
								dead
									? [
											h("a", {href: queueHref(m.source ?? "")}, m.source),
											h("span.bad", " ", m.reason)
										]
									: ago(sec(m.enqueued_at)),
								lk(
									toJson(m.item).slice(0, open === m.id ? 4000 : 140),
									() => {
										open = open === m.id ? null : m.id;
										p.draw();
									},
									{class: "mono", "aria-expanded": String(open === m.id)}
								),
								m.state === "locked" || !may("operate")
									? null
									: ib("close", `Revoke item ${m.id}`, () => revoke(m))
							]),
							i => messages[i].id
						),
						next &&
							lk("more", async () => {
								const r = await api.messages(name, {limit: 200, after: next, state: filter});
								messages = [...messages, ...r.messages];
								next = r.next;
								p.draw();
							})
					)
				: empty(filter ? `No item is ${filter}.` : "The queue is empty.")
		);

	const numbers = (a, b) => d =>
			h(
				".f2",
				[a, b].map(([label, key, o, hint]) =>
					field(
						label,
						o[key],
						v => {
							o[key] = v;
							d.draw();
						},
						{type: "number", min: 1, placeholder: hint, key}
					)
				)
			),
		some = o =>
			Object.fromEntries(
				Object.entries(o)
					.filter(([, v]) => +v)
					.map(([k, v]) => [k, +v])
			);
	const redrive = () => {
		const o = {};
		ask({
			title: `Redrive ${name}`,
			text: "Items go back to the queue they came from, oldest first.",
			ok: "Move them",
			fields: numbers(
				["At most", "max", o, num(q.ready)],
				["Per second", "rate_per_second", o, "at once"]
			),
			action: () => act.redrive(name, some(o)),
			says: r => `${plural(r.items_moved, "item")} moved`,
			done: p.load
		});
	};
	const pop = () => {
		const o = {};
		ask({
			title: `Pop from ${name}`,
			text: "Under a lock: what you do not acknowledge comes back when the lock runs out.",
			ok: "Pop",
			fields: numbers(["Items", "count", o, "1"], ["Lock, seconds", "ttl_seconds", o, "30"]),
			action: () => act.pop(name, {require_ack: true, ...some(o)}),
			run: a => wire(a, "pop"),
			says: r => (r.status === 200 ? plural(r.json.count, "item") + " popped" : r.json.message)
		});
	};
	const settings = () => {
		let c = toJson(q.config, null, 2);
		ask({
			title: `Settings of ${name}`,
			text: "This replaces the whole configuration.",
			class: "wide",
			ok: "Put",
			fields: d =>
				jsonField(
					"Configuration",
					c,
					v => (c = v),
					{rows: 16, autofocus: true}
				),
			action: () => act.config(name, readJson(c)),
			done: p.load
		});
	};
	const more = e => {
		const n = q.ready + q.delayed;
		menu(
			e,
			[
				may("admin") && {text: "Settings…", run: settings},
				{
					text: q.paused ? "Resume…" : "Pause…",
					run: () =>
						ask({
							title: `${q.paused ? "Resume" : "Pause"} ${name}`,
							text: q.paused ? null : "Pops find nothing until it is resumed; pushes go on.",
							ok: q.paused ? "Resume" : "Pause",
							action: () => (q.paused ? act.unpause : act.pause)(name),
							done: p.load
						})
				},
				may("admin") && {
					text: "Purge…",
					danger: true,
					run: () =>
						ask({
							title: `Purge ${name}`,
							text: `${plural(n, "item")} are dropped for good. What is locked stays.`,
							ok: `Drop ${num(n)}`,
							danger: true,
							typed: String(n),
							action: () => act.purge(name),
							says: r => `${plural(r.items_purged, "item")} purged`,
							done: p.load
						})
				}
			],
			"Actions"
		);
	};
	app.api = () => `/queue/${seg(name)}`;
	p.load();
	return p;
}
