// instances.js -- all of them: filter, search, walk, pick, act.  Every filter is in the address.
import {
	ago,
	btn,
	check,
	cmd,
	dim,
	dur,
	empty,
	fault,
	h,
	ib,
	icon,
	ident,
	idHref,
	lk,
	loading,
	num,
	page,
	plural,
	announce,
	search,
	short,
	state,
	STATES,
	serverNow
} from "./ui.js";
import {api, query} from "./api.js";
import {counts, hasWaits, listOf} from "./offers.js";
import {live, total} from "./live.js";
import {VList} from "./vlist.js";
import {ended, text} from "./history.js";
import {bulk, saveView, startDialog, title} from "./actions.js";

const FILTERS = [
	"status",
	"orchestration",
	"prefix",
	"parent",
	"created_after",
	"q",
	"roots",
	"where",
	"waiting" // batch knows all but this one
];
/** Names of attributes that were seen: to choose from. */
const names = new Set();
const SORTS = [
		["", "newest"],
		["updated", "last changed"],
		["waiting", "waiting longest"],
		["attempts", "most tries"]
	],
	SPANS = [
		["", "any time"],
		["3600000", "last hour"],
		["86400000", "last day"],
		["604800000", "last week"]
	];
const COLS = {
		x: "",
		s: "State",
		i: "Instance",
		orchestration: "Orchestration",
		detail: "What",
		created: "Started",
		updated: "Changed"
	},
	WAITING = {
		event: "an event",
		update: "an update",
		timer: "a timer",
		activity: "an activity",
		child: "a child",
		retrying: "another try of",
		noworker: "a worker for"
	};

/** What a row has to say: [text, class, icon, more]. */
function detail(i) {
	if (i.finding && i.status === "blocked") return [i.finding, "st-blocked"];
	if (i.error) return [i.error, i.status === "failed" ? "st-failed" : "dim"];
	const w = ended(i.status) ? [] : (i.waiting_for ?? []),
		a = w.find(x => x.attempt > 1),
		f = w[0];
	if (a)
		return [
			`try ${a.attempt} of ${a.name}: ${a.last_error ?? ""}`,
			"st-failed",
			"retrying",
			i.custom_status
		];
	if (f)
		return [
			(f.kind === "timer"
				? `timer, ${f.due_at > serverNow() ? "in " + dur(f.due_at - serverNow()) : "due"}`
				: (f.ask?.title ?? f.name ?? f.kind)) + (w.length > 1 ? ` +${w.length - 1}` : ""),
			"",
			f.kind,
			i.custom_status
		];
	return ended(i.status) ? [text(i.output), "dim"] : [i.custom_status ?? "", ""];
}

export default function instances(root, route, app) {
	let rows = [],
		next = null,
		done = false,
		gen = 0,
		busy = false,
		count = null,
		all = false,
		anchor = -1,
		timer = 0,
		typing = 0,
		asked = 0,
		looked = 0,
		unsaid = false, // more changed than the stream named
		whole = true;
	const index = new Map(),
		fresh = new Set(),
		picked = new Set(),
		pending = new Set(),
		flash = new Map();
	const wheres = () => app.route.query.getAll("where"),
		q = k => app.route.query.get(k),
		states = () => q("status")?.split(","),
		small = matchMedia("(max-width:760px)");
	const filter = () =>
		Object.fromEntries(
			FILTERS.filter(q).map(f => [
				f,
				f === "created_after" ? serverNow() - q(f) : f === "where" ? wheres() : q(f)
			])
		);
	const clear = () => {
		picked.clear();
		all = false;
	};
	const drop = () => {
		clear();
		p.draw();
	};

	async function more(reset) {
		if (busy && !reset) return;
		const mine = reset ? ++gen : gen,
			f = filter(),
			want = {...f, sort: q("sort"), limit: reset ? 200 : 1000, after: reset ? null : next};
		busy = true;
		try {
			const got = await listOf(want);
			if (mine !== gen) return;
			const on = rows[list.active]?.instance;
			if (reset) {
				rows = [];
				asked = looked = 0;
				anchor = -1;
				index.clear();
				fresh.clear();
				list.top = 0;
				list.el?.scrollTo(0, 0);
				tally(mine);
			}
			for (const i of got.instances) {
				if (!index.has(i.instance)) index.set(i.instance, rows.push(i) - 1);
				for (const k in i.attributes) names.add(k);
			}
			list.active = index.get(on) ?? -1; // the same instance, wherever it is now
			next = got.next;
			done = !next;
			looked += got.examined;
			whole = got.complete !== false;
			asked++;
			if (reset) announce(`${rows.length}${done ? "" : " or more"} instances`);
		} finally {
			if (mine === gen) busy = false;
		}
		look();
		p.draw();
		if (!done && rows.length < 40 && asked < 50) more(); // a short page with a cursor: the server looked at 10,000 rows
	}
	// The counts of the chips; of what matches, when only states are asked for.
	async function tally(mine) {
		const told = await counts().catch(() => null);
		if (!told || mine !== gen) return;
		const c = told.counts;
		if (!told.exact) setTimeout(() => tally(mine), 400); // older ones are still being counted
		live.stats = {...live.stats, counts: c};
		count = FILTERS.every(k => k === "status" || !q(k))
			? (states() ?? STATES).reduce((n, s) => n + (c[s] ?? 0), 0)
			: null;
		live.changed();
		p.draw();
	}
	// Lists may not say what a row waits for: rows in sight are asked, once.
	function look() {
		const from = Math.floor(list.top / list.height);
		for (const r of rows.slice(from, from + list.size / list.height + 2))
			if (!r.was && !hasWaits(r)) pending.add(r.instance);
		if (pending.size) timer ||= setTimeout(refresh, 250);
	}
	// Rows in sight that changed are read again, at most a screenful every half second.
	async function refresh() {
		timer = 0;
		const from = Math.floor(list.top / list.height),
			to = from + list.size / list.height + 2,
			ids = rows
				.slice(from, to + 1)
				.map(r => r.instance)
				.filter(id => unsaid || pending.has(id))
				.slice(0, 30);
		unsaid = false;
		pending.clear();
		await Promise.all(
			ids.map(async id => {
				const i = await api.instance(id).catch(() => null),
					k = index.get(id);
				if (!i || k === undefined) return;
				if ((rows[k].was ?? rows[k].status) !== i.status) flash.set(id, Date.now());
				rows[k] = {...i, was: i.status};
			})
		);
		p.draw();
		setTimeout(p.draw, 1300);
	}
	const cells = (role, o) => Object.keys(COLS).map(c => h(`span.c-${c}`, {role, key: c}, o[c]));
	const list = new VList({
		label: "Instances",
		draw: () => {
			look();
			p.draw();
		},
		near: () => !done && !busy && more().catch(() => {}),
		open: i => {
			app.list = rows.map(r => r.instance);
			app.go(idHref(rows[i].instance));
		},
		tap: i => {
			anchor = i;
			if (small.matches) list.open(i);
		},
		pick: (i, how) => {
			all = false;
			const id = rows[i].instance;
			if (how === "range") {
				const a = Math.max(0, anchor < 0 ? list.active : anchor);
				for (let k = Math.min(a, i); k <= Math.max(a, i); k++) picked.add(rows[k].instance);
			} else {
				picked.delete(id) || picked.add(id);
				anchor = i;
			}
			p.draw();
		},
		head: () =>
			cells("columnheader", {
				...COLS,
				x: h("input", {
					type: "checkbox",
					label: "Select all loaded",
					checked: picked.size > 0 && picked.size === rows.length,
					indeterminate: picked.size > 0 && picked.size < rows.length,
					onchange: e => {
						clear();
						if (e.target.checked) for (const r of rows) picked.add(r.instance);
						p.draw();
					}
				})
			}),
		row: (i, on) => {
			const r = rows[i],
				[words, cls, ic, extra] = detail(r),
				sel = all || picked.has(r.instance);
			return {
				key: r.instance,
				props: {"aria-selected": String(sel)},
				class: `${sel ? "sel" : ""}${Date.now() - flash.get(r.instance) < 1200 ? " flash" : ""}`,
				cells: cells("gridcell", {
					x: h("input", {
						type: "checkbox",
						tabindex: "-1",
						label: `Select ${r.instance}`,
						checked: sel,
						onclick: e => list.pick(i, e.shiftKey ? "range" : "toggle")
					}),
					s: state(r.status),
					i: ident(r.instance, idHref(r.instance), {
						tabindex: on ? "0" : "-1",
						onclick: () => (app.list = rows.map(x => x.instance))
					}),
					orchestration: [r.orchestration, dim(" ", r.version)],
					detail: [
						h("span", {class: cls, title: words}, ic && icon(ic), words.slice(0, 300)),
						extra && dim(" · ", extra)
					],
					created: ago(r.created_at),
					updated: ago(r.updated_at)
				})
			};
		}
	});

	/** Rows of two lines where there is little room; the first one in sight stays it. */
	const fit = () => {
		const was = list.height;
		list.height = small.matches ? 58 : 30;
		list.headH = small.matches ? 0 : 30;
		list.top *= list.height / was || 1;
		list.el?.scrollTo(0, list.top);
	};
	fit();
	small.onchange = () => {
		fit();
		p.draw.now();
		list.el.scrollTop = list.top;
	};
	const change = c => {
		app.query(c);
		clear();
		count = null;
		p.load();
	};
	const select = (label, key, list) =>
		h(
			"select",
			{label, value: q(key) ?? "", onchange: e => change({[key]: e.target.value})},
			list.map(([v, t]) => h("option", {value: v}, t))
		);
	function chips() {
		const now = states() ?? [],
			c = live.stats?.counts;
		return h(
			".chips",
			{role: "group", label: "State"},
			STATES.map(s =>
				h(
					`button.chip.st-${s}`,
					{
						key: s,
						title: "with Shift: more than one",
						"aria-pressed": String(now.includes(s)),
						onclick: e =>
							change({
								status: now.includes(s)
									? now.filter(x => x !== s).join()
									: e.shiftKey || e.ctrlKey
										? [...now, s].join()
										: s
							})
					},
					icon(s),
					h("span", s),
					c && h("b", short(c[s]))
				)
			)
		);
	}
	function tags() {
		const [k, n] = q("waiting")?.split(":") ?? [],
			words = {
				orchestration: q("orchestration"),
				waiting: k === "event" && n ? `waits for ${n}` : `waits for ${WAITING[k]} ${n ?? ""}`,
				prefix: `id begins ${q("prefix")}`,
				parent: `child of ${q("parent")}`
			};
		const tag = (key, word, rest) =>
				h("span.ftag", {key}, word, ib("close", `Remove filter ${key}`, () => change(rest))),
			on = [
				...Object.keys(words)
					.filter(q)
					.map(f => tag(f, words[f], {[f]: null})),
				...wheres().map(w => tag(w, w, {where: wheres().filter(x => x !== w)}))
			];
		return on.length ? h(".ftags", on) : null;
	}
	function nothing() {
		const on = FILTERS.filter(q),
			sum = total();
		if (!on.length)
			return empty(
				"No instance yet.",
				h("p", "Start one here, or from a shell:"),
				cmd('pawl start ProcessOrder --id o-1 --input \'{"id":"o-1"}\''),
				h(
					"p",
					btn("Start…", () => startDialog(app), {class: "b1", needs: "operate"})
				)
			);
		return empty(
			q("status") === "blocked" ? "Nothing is blocked." : "No instance matches.",
			h(
				"p",
				"Filtered by ",
				on.map((k, i) => [
					i ? ", " : "",
					lk(`${k === "q" ? "text" : k} ${q(k)} ×`, () => change({[k]: null}))
				]),
				sum ? `. There are ${num(sum)} without.` : "."
			),
			btn("Clear all filters", () => change(Object.fromEntries(FILTERS.map(k => [k, null]))))
		);
	}
	function bar() {
		if (!picked.size && !all) return null;
		const known = !q("waiting");
		return h(
			".bulk",
			{role: "toolbar", label: "Selected instances"},
			h(
				"b",
				all ? `all ${count === null ? "that match" : num(count)}` : plural(picked.size, "instance")
			),
			!all && known && picked.size === rows.length && !done
				? lk(`select all ${count ? num(count) : "that match"}`, () => {
						all = true;
						p.draw();
					})
				: null,
			["retry", "resume", "suspend", "cancel", "terminate", "remove"].map((v, i) =>
				btn(
					title(v) + "…",
					() =>
						bulk(
							v,
							all
								? {
										filter: {...filter(), ...(q("roots") ? {roots: true} : {})},
										count: count ?? undefined
									}
								: {ids: [...picked]},
							() => {
								clear();
								p.load();
							}
						),
					{
						key: v,
						class: i > 3 ? "danger" : "",
						needs: all || v === "remove" ? "admin" : "operate"
					}
				)
			),
			ib("close", "Clear selection", drop)
		);
	}
	const p = page(root, {
		title: "Instances",
		class: "list",
		of: null,
		gap() {
			unsaid = true;
			timer ||= setTimeout(refresh, 500);
			listOf({...filter(), limit: 50}).then(got => {
				for (const i of got.instances) if (!index.has(i.instance)) fresh.add(i.instance);
				p.draw();
			}, p.load);
			return rows.length > 0;
		},
		read: () => more(true),
		close() {
			small.onchange = null;
			clearTimeout(timer);
		},
		hears(type, d) {
			if (type !== "changes") return;
			for (const c of d.instances) {
				const k = c.removed ? undefined : index.get(c.instance);
				if (k >= 0) {
					rows[k].was ??= rows[k].status;
					rows[k].status = c.status;
					pending.add(c.instance);
				} else if (
					!["q", "waiting", "prefix", "where"].some(q) &&
					(states()?.includes(c.status) ?? true)
				)
					fresh.add(c.instance);
			}
			unsaid ||= d.more;
			timer ||= setTimeout(refresh, 500);
			p.draw();
		},
		view: () => [
			h(
				"header.ph",
				h("h1", "Instances"),
				h(
					"p.ph-sub",
					count !== null && count >= rows.length
						? num(count)
						: rows.length
							? num(rows.length) + (done ? "" : "+")
							: ""
				),
				fresh.size
					? h(
							"button.newpill",
							{onclick: p.load},
							`${num(fresh.size)} new or changed`,
							h("kbd", ".")
						)
					: null,
				h(
					".ph-act",
					btn("Start…", () => startDialog(app), {class: "b1", icon: "plus", needs: "operate"})
				)
			),
			h(
				".tools",
				search(
					"Search ids, names, errors, status texts",
					q("q") ?? "",
					v => {
						clearTimeout(typing);
						typing = setTimeout(() => change({q: v.trim()}), 140);
					},
					{
						onkeydown: e => {
							if (e.key === "ArrowDown" || e.key === "Enter") {
								e.preventDefault();
								list.el?.focus();
								list.move(Math.max(0, list.active));
							}
						}
					}
				),
				h(
					"form.where",
					{
						onsubmit: e => {
							e.preventDefault();
							const el = e.target.elements[0];
							if (el.value.trim()) change({where: [...wheres(), el.value.trim()]});
							el.value = "";
						}
					},
					h("input.mono", {
						type: "text",
						label: "Attribute condition",
						placeholder: "customer=c-42",
						title: "= != < <= > >= and ^= (begins with); Enter adds it",
						list: "attrs",
						autocomplete: "off"
					}),
					h(
						"datalist",
						{id: "attrs"},
						[...names].sort().map(n => h("option", {key: n, value: n + "="}))
					)
				),
				select("Started", "created_after", SPANS),
				select("Order", "sort", SORTS),
				check("hide children", !!q("roots"), v => change({roots: v ? 1 : null}), {class: "w"}),
				FILTERS.some(q) && btn("Save view…", () => saveView(app.route.query.toString()))
			),
			chips(),
			tags(),
			h(
				".lbox",
				p.error
					? fault(p.error, p.load)
					: rows.length
						? list.view(rows.length)
						: p.ready && !busy
							? nothing()
							: loading(),
				bar(),
				h(
					"p.lfoot",
					rows.length ? `${num(rows.length)} loaded` : "",
					rows.length && done ? (whole ? ", that is all" : ", first of the newest 10,000") : "",
					(q("q") || q("waiting")) && looked ? ` · ${num(looked)} looked at` : ""
				)
			)
		],
		keys: {
			".": () => p.load(),
			j: () => {
				list.el?.focus();
				list.move(list.active + 1);
			},
			k: () => {
				list.el?.focus();
				list.move(list.active - 1);
			},
			Escape: drop
		}
	});
	app.api = () => "/api/v1/instances" + query({...filter(), sort: q("sort"), limit: 200});
	p.update = p.load;
	p.load();
	return p;
}
