// ui.js -- the parts every page is made of.
import {h, render, afterRender, drawer} from "./dom.js";
import {icon} from "./icons.js";
import {bytes, clock, dur, part, serverNow, stamp, moment, toJson} from "./fmt.js";
import {curl, may, query, run} from "./api.js";
import {listen, on} from "./live.js";
export * from "./dom.js";
export * from "./icons.js";
export * from "./fmt.js";

// ---- Times that tick
const FORMS = {
	ago: ms =>
		ms < 1000 ? "just now" : (ms < 60e3 ? Math.floor(ms / 1000) + " s" : dur(ms)) + " ago",
	since: ms => dur(ms),
	until: ms => (ms < 0 ? "in " + dur(-ms) : "due"),
	left: ms => (ms < 0 ? dur(-ms) : "over")
};
function tick(root = document) {
	const now = serverNow();
	for (const el of root.querySelectorAll("time[data-f]")) {
		const text = FORMS[el.dataset.f](now - el.dataset.at);
		if (el.textContent !== text) el.textContent = text;
	}
	for (const el of root.querySelectorAll("[data-from]"))
		el.style.setProperty(
			"--part",
			Math.min(1, Math.max(0, (now - el.dataset.from) / (el.dataset.to - el.dataset.from))).toFixed(
				4
			)
		);
}
setInterval(() => document.hidden || tick(), 250);
afterRender(tick);
const timed = f => t =>
	t ? h("time", {own: true, "data-f": f, "data-at": t, title: stamp(t)}) : "–";
export const ago = timed("ago");
export const since = timed("since");
export const until = timed("until");
export const left = timed("left");
export const at = (t, ms) => (t ? h("time", {title: stamp(t)}, ms ? clock(t) : moment(t)) : "–");
/** A bar that fills from `from` to `to` by itself. */
export const meter = (from, to, cls = "") =>
	h("span.meter", {class: cls, "data-from": from, "data-to": to, "aria-hidden": "true"}, h("i"));

// ---- Small things
export const announce = text => {
	const el = document.getElementById("say");
	el.textContent = "";
	setTimeout(() => (el.textContent = text), 30);
};
export const dim = (...k) => h("span.dim", ...k);
/** A button; with `needs` only for who may do that. */
export const btn = (text, onclick, {icon: i, needs, ...props} = {}) =>
	needs && !may(needs)
		? null
		: h("button.b", {onclick, ...props}, i && icon(i), text && h("span", text));
export const lk = (text, onclick, props) => h("button.lk", {onclick, ...props}, text);
export const ib = (i, label, onclick) => h("button.ib", {title: label, label, onclick}, icon(i));
export const panel = (title, aside, ...kids) =>
	h("section.panel", h("header", h("h2", title), aside && h(".aside", aside)), kids);
/** choice([[value, text]…], now, pick): one of a few. */
export const choice = (label, list, now, pick) =>
	h(
		".seg",
		{role: "group", label},
		list.map(([v, t]) =>
			h("button", {key: t, "aria-pressed": String(v === now), onclick: () => pick(v)}, t)
		)
	);
export const check = (text, checked, onchange, props) =>
	h(
		"label.ck",
		props,
		h("input", {type: "checkbox", checked, onchange: e => onchange(e.target.checked)}),
		text
	);
export const search = (label, value, oninput, props, cls = "") =>
	h(
		"label.search",
		{class: cls},
		icon("search"),
		h("input", {
			type: "search",
			label,
			placeholder: label,
			value,
			...props,
			oninput: e => oninput(e.target.value)
		})
	);
export const field = (name, value, oninput, {hint, ...props} = {}) =>
	h(
		"label.f",
		h("span", name, hint && dim(" " + hint)),
		h("input", {
			type: "text",
			autocomplete: "off",
			value,
			...props,
			oninput: typed(oninput)
		})
	);
/** What was typed; a dialog around it is drawn again. */
const typed = set => e => {
	set(e.target.value);
	drawLayers();
};
/** table([[head, class]…], rows of cells, key); a column that is null is left out of every row. */
export const table = (cols, rows, key, cls = "") =>
	h(
		"table.t",
		{class: cls},
		h(
			"thead",
			h(
				"tr",
				cols.map(c => c && h("th", {class: c[1]}, c[0]))
			)
		),
		h(
			"tbody",
			rows.map((r, i) =>
				h(
					"tr",
					{key: key?.(i) ?? i},
					r.map((c, k) => cols[k] && h("td", {class: cols[k][1]}, c))
				)
			)
		)
	);

export async function copyText(text, what = "Copied") {
	try {
		await navigator.clipboard.writeText(text);
		toast(what);
	} catch {
		toast("The browser does not let this page copy.", "bad");
	}
}
export const copy = (text, title = "Copy command", what) =>
	ib("copy", title, e => {
		e.stopPropagation();
		e.preventDefault();
		copyText(typeof text === "function" ? text() : text, what);
	});
export const cmd = text => h("span.cmd", h("code", text), copy(text));
/** An id that shows both ends when there is no room. */
export function ident(id, href, props) {
	const cut = id.length > 28 ? id.length - 10 : id.length;
	return h(
		href ? "a.id" : "span.id",
		{href, title: id, ...props},
		h("span.id-a", id.slice(0, cut)),
		cut < id.length && h("span", id.slice(cut))
	);
}
export const idHref = (id, q = "") => `#/instances/${part(id)}${q}`;
export const queueHref = q => `#/queues/${part(q)}`;
export const scheduleHref = s => `#/schedules/${part(s)}`;
export const listHref = q => `#/instances?${new URLSearchParams(q)}`;

export const empty = (title, ...more) => h(".empty", h("p.empty-t", title), more);
export const fault = (e, again) =>
	h(
		".empty.bad",
		{role: "alert"},
		h(
			"p.empty-t",
			e.status === 404
				? "It is not there."
				: e.status === 0
					? "The server does not answer."
					: `The server refused (${e.status}).`
		),
		h(
			"p",
			e.status === 0
				? "The page reads again as soon as it does. Nothing is lost."
				: e.message
		),
		again ? btn("Try again", again) : null
	);
export const loading = () => h(".empty", {role: "status"}, h("p", "Loading …"));

// ---- Payloads: text, bounded
const FIRST = 6000,
	MOST = 400000,
	opened = new WeakSet(),
	made = new WeakMap();
function paint(text) {
	const out = [];
	let from = 0;
	for (const m of text.matchAll(
		/("(?:[^"\\]|\\.)*")(\s*:)?|(-?\b\d[\d.eE+-]*)|\b(true|false|null)\b/g
	)) {
		out.push(
			text.slice(from, m.index),
			h(m[1] ? (m[2] ? "span.j-k" : "span.j-s") : m[3] ? "span.j-n" : "span.j-w", m[1] ?? m[0]),
			m[2]
		);
		from = m.index + m[0].length;
	}
	return [out, text.slice(from)];
}
/** payload({data, encoding}, name, redraw): an event, or what looks like one. */
export function payload(box, name, redraw) {
	const {data: v, encoding: enc} = box,
		all = opened.has(box);
	if (v == null) return h("p.none", enc === "json" ? "null" : "nothing");
	if (made.has(box)) return made.get(box);
	const text = typeof v === "string" && enc ? v : toJson(v, null, 2),
		part = text.slice(0, all ? MOST : FIRST),
		size = new Blob([text]).size,
		cut = part.length < text.length;
	const node = h(
		".payload",
		h(
			"pre",
			{tabindex: "0", label: name, role: "group"},
			enc || part.length > FIRST ? part : paint(part),
			cut && "…"
		),
		h(
			".payload-f",
			h("span", bytes(size), enc === "base64" ? ", base64" : ""),
			cut &&
				!all &&
				lk(`show ${text.length > MOST ? bytes(MOST) : "all"}`, () => {
					opened.add(box);
					made.delete(box);
					redraw();
				}),
			lk("copy", () => copyText(text)),
			size > 2000 && lk("download", () => download(name + ".json", text))
		)
	);
	made.set(box, node);
	return node;
}
export function download(name, text) {
	const a = document.createElement("a");
	a.href = URL.createObjectURL(new Blob([text], {type: "application/json"}));
	a.download = name.replace(/[^\w.-]+/g, "_").slice(0, 120);
	a.click();
	setTimeout(() => URL.revokeObjectURL(a.href), 5000);
}

// ---- Layers: toasts, menus, dialogs
let toasts = [],
	dialogs = [],
	open = null,
	serial = 0;
const layers = document.getElementById("layers");
const drawLayers = drawer(() =>
	render(
		layers,
		h(
			".toasts",
			toasts.map(t =>
				h(
					`div.toast.toast-${t.kind}`,
					{key: t.n},
					icon(t.kind === "bad" ? "failed" : "ok"),
					h("span", t.text)
				)
			)
		),
		open ? menuView() : null,
		dialogs.map(d =>
			h(
				"dialog",
				{
					key: d.key,
					class: d.class,
					"aria-labelledby": "dlg-t",
					ref: el => (d.el = el),
					oncancel: e => {
						e.preventDefault();
						d.close();
					},
					onclick: e => e.target === d.el && d.close()
				},
				h(".dlg-in", d.view())
			)
		)
	)
);
export function toast(text, kind = "ok") {
	const t = {n: ++serial, text, kind};
	toasts.push(t);
	announce(text);
	drawLayers();
	setTimeout(
		() => {
			toasts = toasts.filter(x => x !== t);
			drawLayers();
		},
		kind === "bad" ? 9000 : 3500
	);
}
/** dialog(view): view(d) gives the kids; d.draw and d.close. */
export function dialog(view, opts = {}) {
	const back = document.activeElement;
	const d = {
		key: "d" + ++serial,
		class: opts.class,
		view: () => view(d),
		draw: drawLayers,
		close() {
			dialogs = dialogs.filter(x => x !== d);
			drawLayers.now();
			if (back?.isConnected) back.focus();
			opts.closed?.();
		}
	};
	dialogs.push(d);
	drawLayers.now();
	d.el.showModal();
	(d.el.querySelector("[autofocus]") ?? d.el.querySelector("input,textarea,button"))?.focus();
}
export const isModal = () => dialogs.length > 0;
/** menu(event, [{text, run, key, danger, checked} or "-"], label) */
export function menu(ev, items, label) {
	const from = ev.currentTarget;
	open = {r: from.getBoundingClientRect(), items: items.filter(Boolean), label, from};
	drawLayers.now();
	layers.querySelector("[role^=menuitem]")?.focus();
}
function closeMenu(back) {
	const f = open.from;
	open = null;
	drawLayers.now();
	if (back && f.isConnected) f.focus();
}
document.addEventListener(
	"pointerdown",
	e => {
		if (open && !e.target.closest(".menu")) closeMenu();
	},
	true
);
function menuView() {
	const {r, items, label} = open;
	const keys = e => {
		const all = [...e.currentTarget.querySelectorAll("button")],
			step = {ArrowDown: 1, ArrowUp: -1}[e.key];
		if (step) all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
		else if (e.key === "Escape" || e.key === "Tab") closeMenu(true);
		if (step || e.key !== "Enter") e.preventDefault();
		e.stopPropagation();
	};
	return h(
		".menu",
		{
			role: "menu",
			label,
			onkeydown: keys,
			style: {
				top: Math.max(8, Math.min(r.bottom + 4, innerHeight - 24 - items.length * 29)) + "px",
				[r.right > innerWidth / 2 ? "right" : "left"]:
					(r.right > innerWidth / 2 ? innerWidth - r.right : r.left) + "px"
			}
		},
		items.map(it =>
			it === "-"
				? h("hr")
				: h(
						"button",
						{
							role: it.checked === undefined ? "menuitem" : "menuitemcheckbox",
							class: it.danger ? "danger" : "",
							"aria-checked": it.checked === undefined ? null : String(it.checked),
							onclick: () => {
								closeMenu(true);
								it.run();
							}
						},
						it.checked === undefined ? null : h("i", it.checked ? icon("ok") : null),
						h("span", it.text),
						it.key && h("kbd", it.key)
					)
		)
	);
}

/**
 * The one dialog for everything that changes something: what will happen, to how many, why, and the command.
 * {title, text, ok, danger, reason, typed, fields(d), valid(), action(reason), run(action, reason, d), says(answer), done(answer)}
 */
export function ask(spec) {
	let reason = "",
		busy = false,
		error = null,
		typed = "";
	const go = async (d, a) => {
		busy = true;
		error = null;
		d.draw();
		try {
			const answer = spec.run ? await spec.run(a, reason.trim(), d) : await run(a);
			d.close();
			toast(spec.says?.(answer) ?? `${spec.title}: accepted, and durable`);
			spec.done?.(answer);
		} catch (e) {
			busy = false;
			error = e;
			d.draw();
		}
	};
	dialog(
		d => {
			let a = null;
			const bad = spec.valid?.();
			try {
				a = spec.action(reason.trim());
			} catch {
				/* what was typed is not JSON yet */
			}
			const no = busy || bad || !a || (spec.typed && typed !== spec.typed);
			return h(
				"form",
				{
					onsubmit: e => {
						e.preventDefault();
						if (!no) go(d, a);
					}
				},
				h("h2", {id: "dlg-t"}, spec.title),
				spec.text && h("p.dlg-text", spec.text),
				spec.fields?.(d),
				spec.reason &&
					field(
						"Reason",
						reason,
						v => (reason = v),
						{
							hint: "kept in the history",
							placeholder: "why, for whoever reads this later",
							autofocus: !spec.fields
						}
					),
				spec.typed &&
					field(["Type ", h("code", spec.typed), " to confirm"], typed, v => (typed = v)),
				a && h(".cmds", a.cli && cmd(a.cli), cmd(curl(a))),
				bad && h("p.warn", bad),
				error &&
					h("p.warn", {role: "alert"}, icon("failed"), `${error.status || ""} ${error.message}`),
				h(
					".dlg-b",
					btn("Close", d.close),
					h(
						"button.b.b1",
						{type: "submit", class: spec.danger ? "danger" : "", disabled: !!no},
						busy ? "…" : (spec.ok ?? "Do it")
					)
				)
			);
		},
		{class: spec.class}
	);
}
/** A field for JSON that says what is wrong with it. */
export function jsonField(name, value, oninput, props = {}) {
	let bad = null;
	try {
		readJson(value);
	} catch (e) {
		bad = e.message;
	}
	return h(
		"label.f",
		h("span", name),
		h("textarea.mono", {
			rows: 5,
			value,
			"aria-invalid": bad ? "true" : null,
			...props,
			oninput: typed(oninput),
			onkeydown: e => {
				if ((e.metaKey || e.ctrlKey) && e.key === "Enter") e.target.form?.requestSubmit();
			}
		}),
		h("small", {class: bad ? "bad" : ""}, bad ?? (value.trim() ? "valid JSON" : "empty: no data"))
	);
}
export const readJson = s => (s.trim() ? JSON.parse(s) : undefined);

// ---- Charts
/** spark(values, {tone, second, label, dots}): a line over a soft area; dots joins over what is not known. */
export function spark(values, {height = 36, tone = "", second, label, dots} = {}) {
	const n = Math.max(2, values.length),
		W = 300,
		top = Math.max(1e-9, ...values, ...(second ?? [])) * 1.1;
	const path = list => {
		let d = "",
			pen = false;
		list.forEach((v, i) => {
			if (v == null) {
				pen &&= dots;
				return;
			}
			d += `${pen ? "L" : "M"}${((i / (n - 1)) * W).toFixed(1)} ${(height - 1 - (v / top) * (height - 3)).toFixed(1)}`;
			pen = true;
		});
		return d;
	};
	const line = path(values),
		x0 = /^M([\d.]+)/.exec(line)?.[1];
	return h(
		"svg.spark",
		{
			class: tone,
			viewBox: `0 0 ${W} ${height}`,
			preserveAspectRatio: "none",
			role: "img",
			label,
			style: {height: height + "px"}
		},
		h("line", {x1: 0, x2: W, y1: height - 0.5, y2: height - 0.5}),
		x0 && h("path.area", {d: `M${x0} ${height - 1}L${line.slice(1)}V${height - 1}Z`}),
		second && h("path.second", {d: path(second)}),
		h("path", {d: line})
	);
}

// ---- A page: it reads, shows, and listens
/** page(root, {title, read(), view(p), hears(type, data), of, keys, close}) with p.load, p.soon(ms), p.draw, p.error;
 * `of`: what it hears of, {instance} or {queue}; otherwise in brief, or everything (null);
 * gap(): it was opened a moment before it could hear; true: it need not read all again. */
export function page(root, o) {
	let busy = false,
		again = false,
		timer = 0;
	const p = {title: o.title, keys: o.keys ?? {}, error: null, ready: false};
	p.draw = drawer(() => render(root, h(".page", {class: o.class}, o.view(p))));
	p.load = async arg => {
		if (busy) return void (again = true);
		busy = true;
		try {
			await o.read(arg);
			p.error = null;
			p.ready = true;
		} catch (e) {
			p.error = e;
		}
		busy = false;
		p.draw();
		if (again) {
			again = false;
			p.soon(200);
		}
	};
	p.soon = ms => {
		timer ||= setTimeout(() => {
			timer = 0;
			p.load();
		}, ms);
	};
	listen(query(o.of === undefined ? {brief: true} : (o.of ?? {})));
	const stop = on((type, d) =>
		type === "reset" && !(d.changed && o.gap?.()) ? p.load() : o.hears?.(type, d)
	);
	p.close = () => {
		stop();
		clearTimeout(timer);
		timer = true; // a read that ends later asks for no other
		p.draw.stop();
		o.close?.();
	};
	p.draw();
	return p;
}
export const head = (title, sub, ...acts) =>
	h(
		"header.ph",
		h("h1", title),
		sub && h("p.ph-sub", sub),
		acts.length ? h(".ph-act", acts) : null
	);
