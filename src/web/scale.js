// scale.js -- the axis of a timeline: where a time is, with the quiet time that the server cut out of it.
// Between two answers of the server an open run goes on: the axis grows at its end.
const {max, min} = Math;

/** The axis of `told` (GET …/timeline) when it is `now`; without `cuts` all time is drawn. */
export class Scale {
	constructor(told, now, cuts) {
		const {from, to, axis} = told,
			pad = (to - from + 1) * 0.012,
			parts =
				cuts && axis.length
					? axis.map(p => ({a: p.from, b: p.to, u: p.at, v: p.until, cut: p.cut}))
					: [{a: from - pad, b: to + pad, u: 0, v: 1}],
			last = parts.at(-1),
			quiet = parts.at(-2),
			late = max(0, now - to);
		let more = 0;
		if (quiet && to - last.a <= last.b - to) {
			quiet.b += late; // nothing but the time since the cut
			last.a += late;
		} else more = ((last.v - last.u) * late) / (last.b - last.a);
		last.b += late;
		last.v += more;
		for (const p of parts) {
			p.u /= 1 + more;
			p.v /= 1 + more;
		}
		/** It grew so much that the server might cut something. */
		this.old = late > 1500 && more > 0.35;
		Object.assign(this, {t0: from, t1: to + late, parts});
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
