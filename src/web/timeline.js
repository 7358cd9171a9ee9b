// timeline.js -- a run as bars over time.  Shape says what it is (block: activity, thin: timer, outline: event,
// double: child), colour says how it went.  Quiet stretches are cut out; a playhead shows any event.
import {btn, check, choice, clock, day, dur, h, icon, num, plural} from "./ui.js";
import {label} from "./history.js";
import {Scale} from "./scale.js";

const MANY = 160,
	{max, min} = Math;

const STEPS = [
	1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 3e4, 6e4, 12e4, 3e5, 6e5, 18e5, 36e5,
	72e5, 216e5, 432e5, 864e5, 1728e5, 6048e5, 2592e6
];
const tickName = ms =>
	ms === 0 ? "0" : ms < 1000 ? ms + " ms" : ms < 6e4 ? +(ms / 1e3).toFixed(2) + " s" : dur(ms);
const watch = fn => el => new ResizeObserver(() => fn(el)).observe(el);
/** Follow a pointer from its press to its end. */
function drag(e, move) {
	const el = e.currentTarget;
	el.setPointerCapture(e.pointerId);
	move(e);
	el.onpointermove = move;
	el.onpointerup = el.onpointercancel = () => (el.onpointermove = null);
}

export class Timeline {
	constructor(draw) {
		Object.assign(this, {
			draw,
			a: 0,
			b: 1,
			width: 700,
			top: 0,
			size: 320,
			collapse: true,
			mode: null,
			hover: null
		});
	}
	x(t) {
		return ((this.scale.u(t) - this.a) / (this.b - this.a)) * this.width;
	}
	window(a, w) {
		this.a = max(0, min(1 - w, a));
		this.b = this.a + w;
		this.draw();
	}
	zoom(f, at = 0.5) {
		const w = min(1, max(0.0005, (this.b - this.a) * f));
		this.window(this.a + (this.b - this.a - w) * at, w);
	}
	fit() {
		this.window(0, 1);
	}
	focus(t) {
		const a = this.scale.u(t.at),
			w = this.scale.u(t.endAt ?? this.scale.t1) - a,
			m = max(0.02, w * 0.4);
		this.window(a - m, min(1, w + 2 * m));
	}

	/** What follows from the run alone is made once for each of its events, and a few times a second while it is open. */
	prepare(run, now) {
		const sig = [
			run.seq,
			run.of,
			run.told.now,
			this.collapse,
			this.mode,
			run.finish ? 0 : Math.floor(now / max(250, (now - run.start) / 400))
		].join();
		if (sig === this.sig && run === this.run) return;
		const bars = run.bars(),
			by = new Map();
		Object.assign(this, {
			sig,
			run,
			kept: new Map(),
			scale: new Scale(run.told, run.finish?.at ?? now, this.collapse),
			shown: this.mode ?? (bars.length > MANY ? "names" : "steps"),
			total: bars.length
		});
		for (const t of bars) {
			const k = this.shown === "steps" ? t.id : t.kind + label(t),
				r = by.get(k);
			r ? r.tasks.push(t) : by.set(k, {key: k, tasks: [t], name: label(t)});
		}
		this.list = [...by.values()];
	}
	/** {run, now, selected, select(task), at, seek(seq), reading: the history is not all there, ask(): for a new axis} */
	view(o) {
		const {run, now} = o;
		if (!run.events.length) return h("p.none", "It has not run yet: there is no history.");
		if (o.reading && run.timeline?.grouped) return this.whole(run.timeline);
		this.prepare(run, now);
		if (this.scale.old) o.ask?.();
		this.narrow = matchMedia("(max-width:760px)").matches;
		this.rh = this.narrow ? 38 : 24;
		const rh = this.rh,
			rows = this.list,
			from = max(0, Math.floor(this.top / rh) - 4),
			to = min(rows.length, Math.ceil((this.top + this.size) / rh) + 4),
			px = o.at ? this.x(run.events[o.at - 1].at) : null,
			[marks, lines] = this.ticks();
		const tool = (i, label, f) =>
			btn("", () => this.zoom(f), {class: "sq", icon: i, title: label, label});
		return h(
			".tl",
			{
				key: "steps",
				role: "group",
				label: "Timeline",
				tabindex: "0",
				onkeydown: e => this.keys(e, o)
			},
			h(
				".tl-bar",
				choice(
					"Rows",
					[
						["steps", "by step"],
						["names", "by name"]
					],
					this.shown,
					v => {
						this.mode = v;
						this.draw();
					}
				),
				check("cut quiet time", this.collapse, v => {
					this.collapse = v;
					this.fit();
				}),
				h(
					"span.tl-read",
					{"aria-hidden": "true"},
					this.hover ??
						`${plural(this.total, "step")} · ${dur((run.finish?.at ?? now) - run.start)}`
				),
				h(
					".seg.zoom",
					{role: "group", label: "Zoom"},
					tool("minus", "Zoom out", 1.6),
					btn("fit", () => this.fit(), {class: "sq"}),
					tool("plus", "Zoom in", 0.6)
				)
			),
			h(
				".tl-axis",
				h(".tl-lab", day(run.start)),
				h(
					".tl-cv",
					{
						ref: el => this.measure(el),
						onpointerdown: e => drag(e, ev => o.seek(this.seqAt(ev.clientX, run))),
						title: "Drag to see the run at any moment"
					},
					h("svg", {width: this.width, height: 26, "aria-hidden": "true"}, marks),
					px === null ? null : h("i.tl-knob", {style: {transform: `translateX(${px}px)`}})
				)
			),
			h(
				".tl-body",
				{
					style: {"--rows": min(rows.length, this.narrow ? 9 : 14), "--rh": rh + "px"},
					ref: el => {
						this.body = el;
						watch(() => {
							this.size = el.clientHeight;
							this.draw();
						})(el);
					},
					onscroll: e => {
						this.top = e.currentTarget.scrollTop;
						this.draw();
					},
					onwheel: e => this.wheel(e)
				},
				h(
					".tl-in",
					{style: {height: rows.length * rh + "px"}},
					h(
						".tl-grid",
						h("svg", {width: this.width, height: rows.length * rh, "aria-hidden": "true"}, lines)
					),
					rows.slice(from, to).map((r, i) => this.row(r, from + i, o)),
					px === null ? null : h(".tl-fog", h("i", {style: {left: max(0, px) + "px"}}))
				)
			)
		);
	}
	measure(el) {
		this.cv = el;
		watch(() => {
			if (el.clientWidth && el.clientWidth !== this.width) {
				this.width = el.clientWidth;
				this.draw();
			}
		})(el);
	}
	/** A history of many pages is being read: the server knows the whole of it, by name. */
	whole(t) {
		const rh = 24,
			step = this.width / t.names[0].skyline.length,
			svg = (height, ...kids) =>
				h("svg.tl-cv", {width: this.width, height, "aria-hidden": "true"}, ...kids);
		this.scale = new Scale(t, t.to, true);
		this.sig = null;
		const [marks, lines] = this.ticks(),
			row = (r, i) => {
				const name = r.name ?? r.kind;
				let path = "M0 20";
				r.skyline.forEach(
					(n, k) => (path += `H${k * step}V${20 - (n / (r.most_at_once || 1)) * 16}`)
				);
				return h(
					".tl-row",
					{key: i, style: {transform: `translateY(${i * rh}px)`, height: rh + "px"}},
					h(
						".tl-lab",
						{class: r.open ? "k-open" : "k-done"},
						icon(r.kind),
						h("span.tl-name", name),
						" ",
						h("span.tl-sub", "×" + num(r.count))
					),
					svg(
						rh,
						h(`path.f-${r.open ? "open" : "done"}`, {d: `${path}H${this.width}V20Z`}),
						r.failed_in.map(k => h("path.fx", {key: k, d: `M${k * step} 4v16`}))
					)
				);
			};
		return h(
			".tl",
			{key: "whole", role: "group", label: "Timeline"},
			h(".tl-bar", h("span.tl-read", `${plural(t.steps, "step")} · ${dur(t.to - t.from)}`)),
			h(
				".tl-axis",
				h(".tl-lab", day(t.from)),
				h(".tl-cv", {ref: el => this.measure(el)}, svg(26, marks))
			),
			h(
				".tl-body",
				{style: {"--rows": min(t.names.length, 14), "--rh": rh + "px"}},
				h(
					".tl-in",
					{style: {height: t.names.length * rh + "px"}},
					h(".tl-grid", svg(t.names.length * rh, lines)),
					t.names.map(row)
				)
			)
		);
	}
	ticks() {
		const marks = [],
			lines = [],
			seen = this.b - this.a,
			px = u => ((u - this.a) / seen) * this.width;
		this.scale.parts.forEach((p, i, all) => {
			const x0 = px(p.u),
				x1 = px(p.v);
			if (x1 < 0 || x0 > this.width) return;
			if (p.cut) {
				lines.push(h("rect.cut", {x: x0, y: 0, width: x1 - x0, height: "100%"}));
				marks.push(h("path.cutmark", {d: `M${x0 + 3} 21l3-4 3 4 3-4`}));
				if (x1 - x0 > 20)
					marks.push(
						h("text.cutname", {x: (x0 + x1) / 2, y: 10, "text-anchor": "middle"}, dur(p.b - p.a))
					);
				return;
			}
			const per = (x1 - x0) / (p.b - p.a),
				step = STEPS.find(s => s * per > 74) ?? STEPS.at(-1),
				base = i ? p.a : this.scale.t0,
				edge = all[i + 1]?.cut ? x1 - 16 : this.width;
			for (
				let n = max(0, Math.ceil((p.a + max(0, -x0) / per - base) / step)), k = 0;
				k < 60;
				n++, k++
			) {
				const x = x0 + (base + n * step - p.a) * per;
				if (x > min(x1, this.width)) break;
				lines.push(h("line.gl", {x1: x, x2: x, y1: 0, y2: "100%"}));
				const name = i && !n ? clock(base, step < 1000) : (i ? "+" : "") + tickName(n * step);
				if (x + name.length * 6 < edge) marks.push(h("text.tick", {x: x + 3, y: 20}, name));
			}
		});
		return [marks, lines];
	}
	row(r, i, o) {
		const t = r.tasks[0],
			one = r.tasks.length === 1,
			on = o.selected && r.tasks.includes(o.selected),
			hover = v => () => {
				this.hover = v;
				this.draw();
			},
			say = this.read(r, o);
		return h(
			".tl-row",
			{
				key: r.key,
				class: on ? "on" : "",
				style: {transform: `translateY(${i * this.rh}px)`, height: this.rh + "px"},
				onpointerenter: hover(say),
				onpointerleave: hover(null),
				onclick: () => o.select(one ? t : null)
			},
			h(
				"button.tl-lab",
				{tabindex: "-1", "aria-pressed": String(!!on), label: say, class: `k-${t.state}`},
				icon(t.kind),
				h("span.tl-name", r.name),
				" ",
				one
					? t.attempts > 1
						? h("span.tl-sub.bad", `${t.attempts} tries`)
						: null
					: h("span.tl-sub", "×" + num(r.tasks.length))
			),
			h(
				"svg.tl-cv",
				{width: this.width, height: this.rh, "aria-hidden": "true"},
				one ? this.bar(t, o.now) : this.merged(r, o.now)
			)
		);
	}
	sum(r) {
		const d = r.tasks
			.filter(x => x.endAt)
			.map(x => x.endAt - x.at)
			.sort((a, b) => a - b);
		return (
			`${r.name} ×${num(r.tasks.length)}` +
			(d.length ? `, median ${dur(d[d.length >> 1])}, longest ${dur(d.at(-1))}` : "")
		);
	}
	read(r, {now}) {
		const t = r.tasks[0];
		if (r.tasks.length > 1) return (r.say ??= this.sum(r));
		return `${r.name}${t.attempts > 1 ? ` ${t.attempts} tries` : ""}: ${t.state === "open" ? "open for" : t.state + " in"} ${dur((t.endAt ?? now) - t.at)}, from ${clock(t.at)}${t.endAt ? ` to ${clock(t.endAt)}` : ""}`;
	}
	bar(t, now) {
		const c = this.narrow ? this.rh - 10 : this.rh / 2,
			end = t.endAt ?? now,
			x = this.x(t.at),
			x2 = this.x(end),
			X = max(-4, x),
			W = max(2, min(this.width + 8, x2) - X),
			f = `rect.f-${t.state}`,
			out = [];
		const box = (tag, a, w, hh, rx = 2, ...kids) =>
			out.push(h(tag, {x: a, y: c - hh / 2, width: w, height: hh, rx}, ...kids));
		if (x2 < -2 || x > this.width + 2)
			return h("path.off", {
				d: x2 < 0 ? `M7 ${c - 4}l-5 4 5 4z` : `M${this.width - 7} ${c - 4}l5 4-5 4z`
			});
		if (t.state === "moment") return h("path.moment", {d: `M${x} ${c - 5}l5 5-5 5-5-5z`});
		if (t.kind === "timer") {
			box(f + ".thin", X, W, 4, 1);
			box(f, x2 - 1, 2, 10, 0);
		} else if (t.kind === "event") {
			box(`rect.o-${t.state}.wait`, X + 0.5, max(3, W - 1), 11);
			if (t.state === "done") out.push(h("path.got", {d: `M${x2} ${c - 6}l6 6-6 6-6-6z`}));
		} else if (t.attempts > 1) {
			out.push(h("line.backoff", {x1: X, x2: X + W, y1: c, y2: c}));
			for (const s of this.run.tries(t, now)) {
				const a = this.x(s.from);
				box(
					`${s.last ? f : "rect.try"}${s.estimated ? ".guess" : ""}`,
					a,
					max(3, this.x(s.to) - a),
					12,
					1.5,
					h(
						"title",
						`try ${s.n}${s.error ? ": " + s.error : ""}${s.estimated ? " (its place follows from the retry policy)" : ""}`
					)
				);
			}
		} else {
			const began = t.startedAt > t.at ? max(X, this.x(t.startedAt)) : X; // before that nobody had taken it
			if (began > X + 2) {
				box("rect.o-open.wait", X + 0.5, began - X - 1, 9);
				box(f, began, max(2, X + W - began), 12);
			} else
				box(t.wait && !t.wait.running && t.kind === "activity" ? "rect.o-open.wait" : f, X, W, 12);
		}
		if (t.state === "failed") out.push(h("path.fx", {d: `M${x2 - 3} ${c - 3}l6 6m0-6-6 6`}));
		const name =
				t.state !== "open"
					? dur(end - t.at)
					: t.kind === "timer" && t.due
						? "fires in " + dur(t.due - now)
						: dur(end - t.at) + " …",
			len = name.length * 6.4,
			thick = t.kind !== "timer" && t.kind !== "event"; // a text can stand in it
		const right = x2 + 10 + len < this.width,
			inside = !right && W > len + 16 && (thick || x - 6 < len);
		if (t.kind === "child")
			out.push(h("line.twin", {x1: X + 2, x2: X + W - (inside ? len + 12 : 2), y1: c, y2: c}));
		if (right || t.attempts < 2)
			out.push(
				h(
					`text.len${inside && !thick ? ".over" : ""}`,
					{
						x: right
							? max(2, x2 + (t.kind === "event" || t.state === "failed" ? 10 : 6))
							: inside
								? min(x2, this.width) - 6
								: max(len, x - 6),
						y: c + 3.5,
						"text-anchor": right ? null : "end"
					},
					name
				)
			);
		return out;
	}
	// Many tasks in one row: a skyline of how many ran at once; failures are marked where they happened.
	merged(r, now) {
		const key = [r.key, this.a, this.b, this.width].join(),
			n = Math.ceil(this.width / 2),
			d = new Int32Array(n + 2),
			y = this.narrow ? this.rh - 2 : this.rh - 4,
			bad = [],
			at = t => max(0, min(n, Math.floor(this.x(t) / 2)));
		if (this.kept.has(key)) return this.kept.get(key);
		for (const t of r.tasks) {
			const a = at(t.at),
				b = max(a + 1, at(t.endAt ?? now));
			if (this.x(t.endAt ?? now) >= 0) {
				d[a]++;
				d[b]--;
			}
			if (t.state === "failed") bad.push(this.x(t.endAt));
		}
		let most = 1,
			sum = 0,
			path = `M0 ${y}`;
		for (let i = 0, c = 0; i < n; i++) most = max(most, (c += d[i]));
		for (let i = 0; i < n; i++) if (d[i]) path += `H${i * 2}V${y - ((sum += d[i]) / most) * 16}`;
		const out = [
			h(`path.f-${r.tasks.some(t => t.state === "open") ? "open" : "done"}`, {
				d: `${path}H${this.width}V${y}Z`
			}),
			bad.map((x, i) => h("path.fx", {key: i, d: `M${x} ${y - 16}v16`})),
			most > 1 && h("text.len", {x: this.width - 4, y: 12, "text-anchor": "end"}, `${most} at once`)
		];
		this.kept.set(key, out);
		return out;
	}
	// ---- Hands
	/** The last event not after what is under the pointer. */
	seqAt(clientX, run) {
		const r = this.cv.getBoundingClientRect(),
			t = this.scale.t(this.a + ((clientX - r.left) / r.width) * (this.b - this.a));
		let lo = 0,
			hi = run.events.length;
		while (lo < hi) {
			const m = (lo + hi) >> 1;
			if (run.events[m].at <= t) lo = m + 1;
			else hi = m;
		}
		return max(1, lo);
	}
	wheel(e) {
		const r = this.cv.getBoundingClientRect(),
			w = this.b - this.a,
			flat = Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey;
		if (e.ctrlKey || e.metaKey)
			this.zoom(Math.exp(e.deltaY * 0.004), min(1, max(0, (e.clientX - r.left) / r.width)));
		else if (flat) this.window(this.a + ((e.deltaX || e.deltaY) / r.width) * w, w);
		else return;
		e.preventDefault();
	}
	keys(e, o) {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input")) return;
		const last = o.run.events.length,
			at = o.at ?? last,
			i = this.list.findIndex(r => r.tasks.includes(o.selected)),
			row = k => {
				k = max(0, min(this.list.length - 1, k));
				const y = k * this.rh,
					b = this.body;
				if (y < b.scrollTop) b.scrollTop = y;
				else if (y + this.rh > b.scrollTop + this.size) b.scrollTop = y + this.rh - this.size;
				o.select(this.list[k].tasks[0]);
			};
		const f = {
			ArrowLeft: () => o.seek(max(1, at - 1)),
			ArrowRight: () => o.seek(at + 1),
			Home: () => o.seek(1),
			End: () => o.seek(null),
			ArrowDown: () => row(i + 1),
			ArrowUp: () => row(i - 1),
			"+": () => this.zoom(0.6),
			"=": () => this.zoom(0.6),
			"-": () => this.zoom(1.6),
			0: () => this.fit(),
			z: () => o.selected && this.focus(o.selected),
			Escape: () => (o.at ? o.seek(null) : o.selected ? o.select(null) : this.fit())
		}[e.key];
		if (f) {
			e.preventDefault();
			e.stopPropagation();
			f();
		}
	}
}
