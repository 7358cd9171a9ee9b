// vlist.js -- a list of any length: only the rows in sight exist.  A grid for the keyboard and for readers.
import {h} from "./ui.js";
let serial = 0;

export class VList {
	/** {draw, height, label, head(), row(i, active) -> {key, class, props, cells}, open(i), tap(i), pick(i, how), moved(i), near()} */
	constructor(opts) {
		Object.assign(this, {active: -1, top: 0, size: 600, id: "v" + serial++, headH: 0}, opts);
	}
	show(i) {
		const el = this.el,
			y = i * this.height;
		if (!el || i < 0) return;
		if (y < el.scrollTop) el.scrollTop = y;
		else if (y + this.height > el.scrollTop + el.clientHeight - this.headH)
			el.scrollTop = y + this.height - el.clientHeight + this.headH;
	}
	move(i) {
		this.active = Math.max(0, Math.min(this.count - 1, i));
		this.show(this.active);
		this.moved?.(this.active);
		this.draw();
	}
	keys(e) {
		if (e.target.closest("input") || e.ctrlKey || e.metaKey || e.altKey) return;
		const page = Math.max(1, Math.floor(this.size / this.height) - 2),
			a = this.active;
		const go = {
			ArrowDown: a + 1,
			j: a + 1,
			J: a + 1,
			ArrowUp: a - 1,
			k: a - 1,
			K: a - 1,
			PageDown: a + page,
			PageUp: a - page,
			Home: 0,
			End: this.count - 1
		}[e.key];
		if (go !== undefined) {
			if (e.shiftKey) this.pick?.(Math.max(0, Math.min(this.count - 1, go)), "range");
			this.move(go);
		} else if (e.key === "Enter" && a >= 0 && !e.target.closest("a,button")) this.open?.(a);
		else if ((e.key === "x" || e.key === " ") && a >= 0 && this.pick) this.pick(a, "toggle");
		else return;
		e.preventDefault();
		e.stopPropagation();
	}
	view(count, props = {}) {
		this.count = count;
		this.active = Math.min(this.active, count - 1);
		const H = this.height,
			from = Math.max(0, Math.floor(this.top / H) - 6),
			to = Math.min(count, Math.ceil((this.top + this.size) / H) + 6),
			rows = [],
			off = this.head ? 2 : 1;
		for (let i = from; i < to; i++) {
			const r = this.row(i, i === this.active);
			rows.push(
				h(
					".vr",
					{
						...r.props,
						key: r.key,
						id: `${this.id}-${i}`,
						role: "row",
						"aria-rowindex": i + off,
						class: `${r.class ?? ""}${i === this.active ? " on" : ""}`,
						style: {transform: `translateY(${i * H}px)`, height: H + "px"},
						onclick: e => {
							this.active = i;
							this.moved?.(i);
							if (!e.target.closest("a,button,input")) this.tap?.(i);
							this.draw();
						},
						ondblclick: e => e.target.closest("a,button,input") || this.open?.(i)
					},
					r.cells
				)
			);
		}
		if (this.near && to >= count - 20) queueMicrotask(() => this.near());
		return h(
			".vl",
			{
				...props,
				key: this.id,
				role: "grid",
				tabindex: "0",
				label: this.label,
				"aria-rowcount": count + off - 1,
				"aria-multiselectable": this.pick ? "true" : null,
				"aria-activedescendant":
					this.active >= from && this.active < to ? `${this.id}-${this.active}` : null,
				onkeydown: e => this.keys(e),
				onscroll: e => {
					this.top = e.currentTarget.scrollTop;
					this.draw();
				},
				ref: el => {
					this.el = el;
					this.ro = new ResizeObserver(() => {
						this.size = el.clientHeight;
						this.draw();
					});
					this.ro.observe(el);
					queueMicrotask(() => (el.scrollTop = this.top));
				},
				gone: () => this.ro.disconnect()
			},
			this.head && h(".vh-row", {role: "row", "aria-rowindex": 1}, this.head()),
			h(".vl-in", {role: "rowgroup", style: {height: count * H + "px"}}, rows)
		);
	}
}
