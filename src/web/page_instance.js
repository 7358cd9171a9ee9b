// instance.js -- one run: why, its time, its events, its family, and what can be done about it.
import {ago, at, btn, choice, clock, copy, dim, download, dur, empty, fault, h, icon, ident, idHref, listHref, lk, loading, menu, num, page, panel, payload, search, seg, since, state, serverNow, toast, toJson} from "./ui.js";
import {api, may, readHistory} from "./api.js";
import {ended, kindWords, label, Run, sentence, text} from "./history.js";
import {Timeline} from "./timeline.js";
import {VList} from "./vlist.js";
import {whyView} from "./why.js";
import {attributesDialog, raiseDialog, startDialog, steer} from "./actions.js";

/** Who hangs on whom: down the waiting children to what the last one waits for. */
async function follow(w) {
	const chain = [];
	for (
		let kid;
		w &&
		chain.length < 6 &&
		w.waiting_for.every(x => x.kind === "child") &&
		(kid = w.waiting_for[0]);

	) {
		w = await api.why(kid.instance).catch(() => null);
		const f = w?.waiting_for[0];
		if (w)
			chain.push({
				instance: kid.instance,
				text:
					w.status === "blocked"
						? "it is blocked"
						: !f
							? "its next turn"
							: [
									f.kind,
									" ",
									h("b", f.name ?? ""),
									f.last_error ? `: ${f.last_error}` : "",
									", for ",
									since(f.since)
								]
			});
	}
	return chain;
}

/** `file` is an exported run: nothing is asked, nothing can be done. */
export default function instance(root, route, app, file) {
	const id = file?.instance ?? route.arg,
		q = k => (file ? null : app.route.query.get(k));
	let info = null,
		why = null,
		run = new Run(),
		tree = null,
		published = [],
		execution = null,
		missing = 0,
		chain = [],
		selected = null,
		seek = null,
		tab = "steps",
		find = "",
		show = "run",
		poll = 0,
		shown = [];
	const tl = new Timeline(() => p.draw());
	/** Bars and axis, from the server; a page spends at most a twentieth of its time on them. */
	let rest = 0;
	async function tell(of) {
		const began = performance.now();
		if (file || began < rest) return;
		rest = Infinity;
		of.timeline = await api.timeline(id, of.of).catch(() => of.timeline);
		rest = performance.now() + 20 * (performance.now() - began);
		p.draw();
	}

	async function read() {
		execution = q("execution");
		const got = await api.known(id, execution, info);
		if (got === info) return;
		info = got;
		why = ended(info.status) ? null : (info.why ?? (await api.why(id)));
		if (run.of !== info.execution) {
			run = new Run();
			run.of = info.execution;
			rest = 0;
		}
		const first = !run.seq,
			told = tell(run);
		await readHistory(run, id, info.execution, seq => {
			missing = seq;
			p.draw();
		});
		missing = 0;
		run.waits(why?.waiting_for);
		if (run.seq < 1000) await told;
		if (first) {
			pick();
			const todo = actions().find(a => a.verb && a.verb === q("do"));
			app.query({do: null});
			todo?.run();
		}
		tree ??= await api.tree(id).catch(() => null);
		published = await api.state(id).catch(() => []);
		if (why)
			follow(why).then(c => {
				chain = c;
				p.draw();
			});
		// The stream tells when an attempt failed, not when the next one begins: look when it is due.
		const now = serverNow(),
			due = (why?.waiting_for ?? []).filter(w => w.kind === "activity" && w.due_at > now),
			next = Math.min(...due.map(w => w.due_at)) - now + 250;
		clearTimeout(poll);
		if (next < 2 ** 31) poll = setTimeout(() => document.hidden || p.load(), next);
	}
	const pick = () => {
		selected = run.tasks.find(t => t.id === q("task")) ?? null;
		seek = +q("at") > 0 && +q("at") < run.seq ? +q("at") : null;
		show = seek ? "moment" : selected ? "task" : "run";
	};
	function choose(t) {
		selected = t ?? null;
		show = t ? "task" : seek ? "moment" : "run";
		if (!file) app.query({task: t?.id});
		const i = tab === "steps" ? shown.indexOf(t) : -1;
		if (i >= 0) {
			ev.active = i;
			ev.show(i);
		}
		p.draw();
	}
	function goto(s) {
		seek = s && s < run.seq ? s : null;
		show = seek ? "moment" : selected ? "task" : "run";
		if (!file) app.query({at: seek});
		p.draw();
	}
	const back = () => goto(Math.max(1, (seek ?? run.seq) - 1)),
		forth = () => goto(seek && seek + 1);

	// ---- Events
	const words = t =>
		(tab === "steps"
			? `${t.kind} ${label(t)} ${t.state} ${sentence(t, serverNow())} ${text(t.input?.data)}`
			: `${t.kind} ${t.name ?? ""} ${text(t.data)}`
		).toLowerCase();
	const who = e => e.name ?? (run.refs.has(e.ref) ? label(run.refs.get(e.ref)) : "");
	const cells = o =>
		Object.entries(o).map(([c, k]) => h(`span.e-${c}`, {role: "gridcell", key: c}, k));
	const ev = new VList({
		label: "Events",
		height: 26,
		draw: () => p.draw(),
		tap: i => ev.open(i),
		moved: i => tab === "steps" && choose(shown[i]),
		open: i => {
			const t = shown[i];
			if (tab === "steps") return choose(t);
			goto(t.seq);
			if (run.refs.has(t.ref)) choose(run.refs.get(t.ref));
		},
		row: i => {
			const t = shown[i],
				now = serverNow(),
				cls = seek && t.seq > seek ? "later" : t === selected ? "sel" : "";
			if (tab === "raw")
				return {
					key: t.seq,
					class: cls,
					cells: cells({
						n: t.seq,
						k: kindWords(t.kind),
						m: who(t),
						d: text(t.data).slice(0, 240),
						t: clock(t.at)
					})
				};
			return {
				key: t.id,
				class: cls,
				cells: cells({
					n: t.endSeq > t.seq ? `${t.seq}–${t.endSeq}` : t.seq,
					k: [h(`span.k-${t.state}`, icon(t.kind)), t.kind],
					m: [
						t.kind === "status" ? "" : label(t),
						t.attempts > 1 && h("small.bad", ` ${t.attempts} tries`)
					],
					d: h("span", {class: t.state === "failed" ? "bad" : ""}, sentence(t, now).slice(0, 240)),
					l: t.state === "moment" ? "" : dur((t.endAt ?? now) - t.at),
					t: clock(t.at)
				})
			};
		}
	});

	// ---- Inspector
	const part = (title, box, name) => [
			h("h3", title),
			payload(box, name ?? title.toLowerCase(), p.draw)
		],
		facts = o =>
			h(
				"dl.facts",
				Object.entries(o).map(([k, v]) =>
					v == null ? null : [h("dt", k), h("dd", v)]
				)
			);
	const views = {
		run: () => [
			info.custom_status && [h("h3", "Status"), h("p", info.custom_status)],
			info.error
				? part("Error", {data: info.error, encoding: "text"})
				: ended(info.status)
					? part("Output", {data: info.output, encoding: info.encoding})
					: null,
			labels(),
			kept(),
			part("Input", run.events[0] ?? {data: info.input, encoding: info.input_encoding}),
			family(),
			past(),
			h("h3", "Facts"),
			facts({
				started: at(info.created_at),
				changed: at(info.updated_at),
				events: num(run.seq),
				version: info.version,
				seed: run.events[0]?.attrs?.seed
			})
		],
		task: () => {
			const t = selected,
				now = serverNow(),
				tr = run.tries(t, now),
				w = t.wait;
			return [
				h(
					"p.t-head",
					h(`span.k-${t.state}`, icon(t.kind)),
					h("b", label(t)),
					dim(t.kind, t.ref ? " #" + t.ref : ""),
					copy(() => location.href, "Copy link to this step", "Link copied")
				),
				facts({
					state:
						t.state !== "open" || t.kind !== "activity" || !w
							? t.state
							: w.running
								? "running"
								: w.due_at > now
									? "backing off"
									: "queued",
					from: [clock(t.at), dim(` +${dur(t.at - run.start)}`)],
					to: t.endAt && [clock(t.endAt), dim(` took ${dur(t.endAt - t.at)}`)],
					due: t.due && at(t.due),
					tries: t.policy.attempts && `${t.attempts} of ${t.policy.attempts}`,
					instance: t.child && ident(t.child, idHref(t.child))
				}),
				tr.length
					? [
							h("h3", "Tries"),
							tr.length > 9 &&
								h("p.note", `${tr.length - 8} earlier ones, the first at ${clock(tr[0].from)}`),
							h(
								"ol.trylist",
								tr
									.slice(-8)
									.map(s =>
										h(
											"li",
											{key: s.n},
											s.n,
											dim(s.estimated ? "≈" : "", `+${dur(s.from - t.at)}`),
											h(
												"span",
												{class: s.error ? "bad" : ""},
												s.error ?? (s.last && t.state === "done" ? "ok" : s.last ? "" : "failed")
											)
										)
									)
							),
							tr[0].estimated &&
								h(
									"p.note",
									"Only the last error is kept; where these tries are follows from the retry policy."
								)
						]
					: null,
				t.state === "failed"
					? part("Error", t.output)
					: t.output && t.kind !== "timer"
						? part(t.kind === "event" ? "Data" : "Result", t.output)
						: t.lastError
							? part("Last error", {data: t.lastError, encoding: "text"})
							: null,
				t.input.data !== null && part(t.state === "moment" ? "Data" : "Input", t.input),
				Object.keys(t.policy).length ? part("Options", {data: t.policy}) : null
			];
		},
		moment: () => {
			const m = run.at(seek),
				step = t =>
					h(
						"li",
						{key: t.id},
						h(`span.k-${t.endSeq <= seek ? t.state : "open"}`, icon(t.kind)),
						lk(label(t), () => choose(t)),
						dim(t.endSeq && t.endSeq <= seek ? dur(t.endAt - t.at) : `for ${dur(m.at - t.at)}`)
					),
				steps = (title, list) => [
					h("h3", `${title}, ${list.length}`),
					list.length ? h("ul.then", list.slice(-20).reverse().map(step)) : h("p.none", "nothing")
				];
			return [
				h("p.t-head", state(m.status), dim(`at ${clock(m.at)}, ${dur(m.at - run.start)} in`)),
				h("p", h("b", kindWords(m.event.kind)), " ", who(m.event)),
				m.event.data !== null && payload(m.event, "data", p.draw),
				m.custom && [h("h3", "Status then"), h("p", m.custom)],
				steps("Open then", m.open),
				steps("Done by then", m.closed),
				m.next &&
					h(
						"p.note",
						"Next: ",
						h("b", kindWords(m.next.kind)),
						` ${who(m.next)} after ${dur(m.next.at - m.at)}.`
					)
			];
		}
	};
	/** What it is found by: each leads to those that have the same. */
	const labels = () => {
		const list = Object.entries(info.attributes ?? {}),
			edit = !file && may("operate");
		return list.length || edit
			? [
					h("h3", "Attributes", edit && [" ", lk("change", () => attributesDialog(id, info.attributes ?? {}, p.load))]),
					list.length
						? facts(
								Object.fromEntries(
									list.map(([k, v]) => [
										k,
										h("a", {href: listHref({where: `${k}=${toJson(v)}`})}, String(v))
									])
								)
							)
						: h("p.none", "none")
				]
			: null;
	};
	/** What its code has published, for all to read. */
	const kept = () =>
		published.length
			? [
					h("h3", `Published, ${num(published.length)}`),
					facts(
						Object.fromEntries(
							published
								.slice(0, 50)
								.map(i => [
									i.key,
									[
										h("code", {title: text(i.value)}, text(i.value).slice(0, 300)),
										dim(" ", ago(i.updated_at))
									]
								])
						)
					)
				]
			: null;
	function inspector() {
		const tabs = {
			run: "Run",
			...(selected ? {task: label(selected)} : {}),
			...(seek ? {moment: `Event ${seek}`} : {})
		};
		return h(
			"aside.insp",
			{label: "Details"},
			h(
				".tabs",
				{role: "tablist", label: "Details of"},
				Object.entries(tabs).map(([k, t]) =>
					h(
						"button",
						{
							key: k,
							role: "tab",
							"aria-selected": String(show === k),
							onclick: () => {
								show = k;
								p.draw();
							}
						},
						t
					)
				)
			),
			h(".insp-in", {role: "tabpanel", label: tabs[show]}, views[show]())
		);
	}
	function family() {
		if (!tree || (!tree.children.length && !info.parent)) return null;
		const node = n =>
			h(
				"li",
				{key: n.instance},
				h(
					"p",
					h(`span.st-${n.status}`, icon(n.status)),
					ident(n.instance, n.instance === id ? null : idHref(n.instance)),
					dim(n.orchestration)
				),
				n.children.length
					? h(
							"ul",
							n.children.slice(0, 40).map(node),
							n.children.length > 40 && h("li.dim", `and ${n.children.length - 40} more`)
						)
					: null
			);
		return [
			h("h3", "Family"),
			h(
				"ul.tree",
				info.parent &&
					h(
						"li",
						h("p", icon("child"), "child of ", ident(info.parent, idHref(info.parent)))
					),
				node(tree)
			)
		];
	}

	// The executions, the newest first; read when one looks for them.
	let before = null,
		more = null;
	async function readPast() {
		const got = await api.executions(id, more);
		before = [...(more ? before : []), ...got.executions];
		more = got.next;
		p.draw();
	}
	function past() {
		if (file || (info.execution < 2 && !execution)) return null;
		return [
			h("h3", "Executions"),
			before
				? h(
						"ul.then",
						before.map(e =>
							h(
								"li",
								{key: e.execution},
								h(`span.st-${e.status}`, icon(e.status)),
								lk(`${num(e.execution)}`, () => toEx(e.execution)),
								dim(` ${num(e.events)} events, ${dur((e.ended_at ?? serverNow()) - e.started_at)}`)
							)
						)
					)
				: null,
			before && !more ? null : lk(before ? "older ones" : "show them", readPast)
		];
	}

	// ---- Head
	const other = () => app.go(`#/compare?a=${seg(id)}`);
	function actions() {
		const open = !ended(info.status),
			s = info.status,
			go = (verb, key, more) => ({
				text: verb[0].toUpperCase() + verb.slice(1) + "…",
				verb,
				key,
				icon:
					{retry: "retrying", resume: "running", suspend: "suspended", cancel: "cancelled"}[verb] ??
					"close",
				run: () => steer(verb, id, verb === "remove" ? () => app.go("#/instances") : p.load, s),
				...more
			});
		return [
			open && {
				text: "Raise…",
				verb: "raise",
				key: "r",
				icon: "event",
				run: () => raiseDialog(id, why?.waiting_for.find(w => w.kind === "event")?.name, p.load)
			},
			s === "blocked" && go("retry"),
			open && (s === "suspended" ? go("resume", "s") : go("suspend", "s")),
			open && go("cancel", "c"),
			"-",
			{
				text: "Start another like this…",
				icon: "plus",
				needs: "operate",
				run: () => startDialog(app, info)
			},
			{text: "Compare with another run…", key: "d", icon: "compare", run: other},
			{
				text: "Export as a file",
				icon: "import",
				run: async () => {
					try {
						download(`${id}.json`, await api.exported(id, execution));
					} catch (e) {
						toast(e.message, "bad");
					}
				}
			},
			"-",
			open && go("terminate", null, {danger: true}),
			go("remove", null, {danger: true, needs: "admin"})
		].filter(a => a && may(a.needs ?? (a.verb ? "operate" : "read")));
	}
	const sq = (ic, label, onclick, disabled) =>
		btn("", onclick, {icon: ic, class: "sq", label, title: label, disabled});
	const toEx = n => {
		app.query({execution: n, at: null, task: null});
		seek = selected = null;
		tl.fit();
		p.load();
	};
	const near = d => {
		const to = app.list?.[app.list.indexOf(id) + d];
		if (to && app.list.includes(id)) app.go(idHref(to));
	};
	const key = k => () =>
		info &&
		actions()
			.find(a => a.key === k)
			?.run();

	const p = page(root, {
		title: id,
		class: "inst",
		read,
		close: () => {
			clearTimeout(poll);
			clearInterval(beat);
		},
		of: file ? undefined : {instance: id},
		hears: (type, d) => {
			if (file || type !== "changes") return;
			if (d.more || d.instances.some(c => c.instance !== id)) tree = null;
			p.soon(120);
		},
		view() {
			if (!info)
				return [
					h("header.ph", h("h1.mono", h("span", id))),
					p.error ? fault(p.error, p.load) : loading()
				];
			const open = !ended(info.status),
				now = file ? run.told.to : serverNow(),
				from = run.start || info.created_at,
				all = actions(),
				k = app.list?.indexOf(id) ?? -1,
				step = (ic, label, d) =>
					app.list[k + d] ? h("a", {href: idHref(app.list[k + d]), label}, icon(ic)) : null;
			shown = tab === "steps" ? run.tasks : run.events;
			if (find) shown = shown.filter(t => words(t).includes(find.toLowerCase()));
			return [
				h(
					"header.ph",
					h(
						".ih",
						h(
							"p.crumb",
							h("a", {href: file ? "#/import" : "#/instances"}, file ? "Imported" : "Instances"),
							info.parent && ["/", ident(info.parent, idHref(info.parent))],
							k >= 0 &&
								h(
									"span.row",
									step("left", "Previous of the list", -1),
									`${k + 1} of ${num(app.list.length)}`,
									step("right", "Next of the list", 1)
								)
						),
						h("h1.mono", h("span", id), copy(id, "Copy id")),
						h(
							"p.meta",
							state(info.status),
							h(
								"span",
								h("a", {href: listHref({orchestration: info.orchestration})}, info.orchestration),
								dim(" " + (info.version ?? ""))
							),
							h("span", "started ", ago(from)),
							h(
								"span",
								open ? "for " : "took ",
								h("b", open && !file ? since(from) : dur((run.finish?.at ?? info.updated_at) - from))
							),
							info.execution > 1 || execution
								? h(
										"span.row",
										"execution",
										sq(
											"left",
											"Previous execution",
											() => toEx(info.execution - 1),
											info.execution <= 1
										),
										h("b", num(info.execution)),
										sq(
											"right",
											"Next execution",
											() => toEx(info.execution + 1),
											info.status !== "continued_as_new"
										)
									)
								: null
						)
					),
					file
						? null
						: h(
								".ph-act",
								all
									.slice(0, 3)
									.filter(a => a.verb && !a.danger)
									.map(a => btn(a.text, a.run, {key: a.text, title: a.key})),
								btn("", e => menu(e, all, "Actions"), {
									icon: "more",
									class: "sq",
									label: "All actions"
								})
							)
				),
				p.error && h("p.warn", {role: "alert"}, icon("failed"), p.error.message),
				whyView({info, why, done: p.load, redraw: p.draw, chain, offline: !!file}),
				h(
					".work",
					h(
						"div",
						h(
							"section.panel",
							h(
								"header",
								h("h2", "Timeline"),
								h(
									".seek",
									sq("left", "Previous event", back),
									h("input", {
										type: "range",
										min: 1,
										max: run.seq || 1,
										value: seek ?? run.seq,
										label: "Event",
										"aria-valuetext": seek ? `event ${seek}` : "now",
										oninput: e => goto(+e.target.value)
									}),
									sq("right", "Next event", forth, !seek),
									h(
										"span",
										seek
											? [
													`event ${num(seek)} of ${num(run.seq)} `,
													lk(open ? "back to now" : "to the end", () => goto(null))
												]
											: `${open ? "now, " : ""}event ${num(run.seq)}`
									)
								)
							),
							tl.view({
								run,
								now,
								selected,
								select: choose,
								at: seek,
								seek: goto,
								ask: () => tell(run),
								reading: missing
							}),
							missing ? h("p.note", `reading the history, event ${num(missing)} …`) : null
						),
						panel(
							"Events",
							[
								search(
									"Search events",
									find,
									v => {
										find = v;
										ev.active = -1;
										p.draw();
									},
									{},
									"sm"
								),
								choice(
									"Form",
									[
										["steps", `grouped ${num(run.tasks.length)}`],
										["raw", `raw ${num(run.seq)}`]
									],
									tab,
									v => {
										tab = v;
										ev.active = -1;
										ev.top = 0;
										if (ev.el) ev.el.scrollTop = 0;
										p.draw();
									}
								)
							],
							shown.length
								? ev.view(shown.length, {
										class: "evs " + tab,
										style: {height: Math.min(shown.length, 16) * 26 + 2 + "px"}
									})
								: empty(find ? "No event matches." : "No event yet.")
						)
					),
					inspector()
				)
			];
		},
		keys: file
			? {}
			: {
					r: key("r"),
					s: key("s"),
					c: key("c"),
					d: other,
					t: () => document.querySelector(".tl").focus(),
					e: () => ev.el?.focus(),
					"[": () => near(-1),
					"]": () => near(1),
					ArrowLeft: back,
					ArrowRight: forth,
					Escape: () => (seek ? goto(null) : choose(null))
				}
	});
	const beat = setInterval(() => {
		if (!document.hidden && info && !ended(info.status) && !seek && serverNow() - run.last < 120e3)
			p.draw();
	}, 300);
	p.update = () => {
		if (q("execution") !== execution) p.load();
		else {
			pick();
			p.draw();
		}
	};
	if (file) {
		info = file;
		run.add(file.events);
		run.waits(file.waiting_for);
		run.timeline = file.timeline;
		p.draw();
		return p;
	}
	app.actions = () =>
		info
			? actions()
					.filter(a => a !== "-")
					.map(a => ({...a, text: a.text.replace("…", "") + ": " + id}))
			: [];
	app.api = () => `/api/v1/instances/${seg(id)}/why`;
	p.load();
	return p;
}
