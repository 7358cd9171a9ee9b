// scale.js -- the axis of a timeline: which quiet time is cut out of it, and where a time is.
// The server has the same rule (GET …/timeline); tests/page/agree.mjs compares them.
import {tries} from "./history.js";

const CUT = 0.045,
	CUTS = 10,
	{max, min} = Math;
const size = g => (g ? g[1] - g[0] : 0);

/** Time to place (0..1), with quiet stretches cut to a sliver. */
export class Scale {
	constructor(run, now, collapse) {
		const t0 = run.start,
			t1 = max(run.finish?.at ?? now, t0 + 1),
			busy = [[t0, t0]],
			gaps = [],
			cuts = [];
		for (const t of run.bars()) {
			if (t.kind !== "activity") busy.push([t.at, t.at], [t.endAt ?? t.at, t.endAt ?? t.at]);
			else
				for (const s of t.attempts > 1
					? tries(t, now)
					: [{from: t.at, to: t.wait && !t.wait.running ? t.at : (t.endAt ?? t1)}])
					busy.push([s.from, min(s.to, t1)]);
		}
		if (run.finish) busy.push([t1, t1]);
		let end = t0,
			keep = 1;
		for (const [a, b] of busy.sort((x, y) => x[0] - y[0])) {
			if (a > end) gaps.push([end, a]);
			if (b > end) {
				keep += b - max(a, end);
				end = b;
			}
		}
		if (t1 > end) gaps.push([end, t1]);
		for (const g of gaps.sort((a, b) => size(a) - size(b))) {
			if (!collapse || size(g) < 1500 || size(g) < 0.35 * keep) keep += size(g);
			else cuts.push(g);
		}
		const uncut = cuts.sort((a, b) => size(b) - size(a)).splice(CUTS);
		while (cuts.length && size(cuts.at(-1)) < 3 * size(uncut[0])) uncut.push(cuts.pop()); // many alike: cut none of them
		for (const g of uncut) keep += size(g);
		const total = keep / max(0.4, 1 - CUT * cuts.length),
			pad = max(1, Math.floor(total * 0.012));
		this.t0 = t0;
		this.t1 = t1;
		this.parts = [];
		let at = t0 - pad,
			u = 0;
		const add = (to, cut) => {
			const len = cut ? total * CUT : to - at;
			if (len > 0) this.parts.push({a: at, b: to, u, v: u + len, cut});
			u += len;
			at = to;
		};
		for (const [a, b] of cuts.sort((x, y) => x[0] - y[0])) {
			const m = min(pad, (b - a) / 4);
			add(a + m);
			add(b - m, true);
		}
		add(t1 + pad);
		for (const p of this.parts) {
			p.u /= u;
			p.v /= u;
		}
	}
	/** As the server made it. */
	static of(told) {
		return Object.assign(Object.create(Scale.prototype), {
			t0: told.from,
			t1: told.to,
			parts: told.axis.map(p => ({a: p.from, b: p.to, u: p.at, v: p.until, cut: p.cut}))
		});
	}
	u(t) {
		const p = this.parts.find(q => t <= q.b) ?? this.parts.at(-1);
		return p.u + (p.v - p.u) * min(1, max(0, (t - p.a) / (p.b - p.a)));
	}
	t(u) {
		const p = this.parts.find(q => u <= q.v) ?? this.parts.at(-1);
		return p.a + (p.b - p.a) * min(1, max(0, (u - p.u) / (p.v - p.u)));
	}
}
