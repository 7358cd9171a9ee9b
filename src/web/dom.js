// dom.js -- a small virtual DOM.  h() describes, render() makes it so, keeping nodes, focus and scroll.
// Text only ever becomes text nodes: nothing here parses markup, so payloads cannot become code.
const SVG = "http://www.w3.org/2000/svg",
	PROPS = new Set(["value", "checked", "disabled", "indeterminate"]),
	OURS = new Set(["key", "own", "ref", "gone"]);

/** h("p.note", {onclick, class, style: {}, label, key, own}, ...kids).  label is aria-label; own: kids are somebody else's. */
export function h(tag, props, ...kids) {
	if (
		props !== undefined &&
		props !== null &&
		(typeof props !== "object" || Array.isArray(props) || props.t)
	) {
		kids.unshift(props);
		props = null;
	}
	const [name, ...classes] = tag.split(".");
	if (classes.length)
		props = {...props, class: classes.join(" ") + (props?.class ? " " + props.class : "")};
	return {t: name || "div", p: props ?? {}, k: flat(kids, []), key: props?.key};
}
function flat(kids, out) {
	for (const k of kids) {
		if (Array.isArray(k)) flat(k, out);
		else if (k != null && typeof k !== "boolean")
			out.push(typeof k === "object" ? k : {text: String(k)});
	}
	return out;
}

function fire(ev) {
	this.__on[ev.type]?.call(this, ev);
}
function set(el, name, value, old) {
	if (OURS.has(name)) return;
	if (name === "label") name = "aria-label";
	if (name.startsWith("on")) {
		const type = name.slice(2),
			on = (el.__on ??= {});
		if (!(type in on)) el.addEventListener(type, fire, {passive: false});
		on[type] = value;
	} else if (name === "style") {
		for (const k in {...old, ...value})
			if (old?.[k] !== value?.[k]) el.style.setProperty(k, value?.[k] ?? "");
	} else if (PROPS.has(name)) {
		if (el[name] !== value && value !== undefined) el[name] = value;
	} else if (value == null || value === false) el.removeAttribute(name);
	else el.setAttribute(name, value === true ? "" : value);
}

function create(v, ns) {
	if ("text" in v) return (v.el = document.createTextNode(v.text));
	if (v.t === "svg") ns = SVG;
	const el = (v.el = ns ? document.createElementNS(ns, v.t) : document.createElement(v.t)),
		{value, ...rest} = v.p;
	if (v.t === "button") el.type = "button";
	for (const name in rest) set(el, name, rest[name]);
	if (!rest.own) patchKids(el, [], v.k, ns);
	if (value !== undefined) set(el, "value", value);
	rest.ref?.(el);
}
function gone(v) {
	v.p?.gone?.(v.el);
	v.k?.forEach(gone);
}
function patch(old, v, ns) {
	if (old === v) return; // kept by whoever drew it
	const el = (v.el = old.el);
	if ("text" in v) {
		if (old.text !== v.text) el.data = v.text;
		return;
	}
	if (v.t === "svg") ns = SVG;
	for (const name in {...old.p, ...v.p})
		if (name !== "value" && old.p[name] !== v.p[name]) set(el, name, v.p[name], old.p[name]);
	if (!v.p.own) patchKids(el, old.k, v.k, ns);
	if (old.p.value !== v.p.value) set(el, "value", v.p.value); // what somebody types stays
}
const same = (a, b) => a.t === b.t && a.key === b.key && !a.p?.ref === !b.p?.ref;
function patchKids(parent, olds, news, ns) {
	const keyed = new Map(),
		rest = [],
		match = new Map();
	for (const o of olds) o.key !== undefined ? keyed.set(o.key, o) : rest.push(o);
	let from = 0;
	for (const v of news) {
		let o;
		if (v.key !== undefined) {
			o = keyed.get(v.key);
			if (o && same(o, v)) keyed.delete(v.key);
			else o = null;
		} else
			for (let i = from; i < rest.length; i++)
				if (same(rest[i], v)) {
					o = rest[i];
					from = i + 1;
					break;
				}
		if (o) match.set(v, o);
	}
	const kept = new Set(match.values());
	for (const o of olds)
		if (!kept.has(o)) {
			o.el.remove();
			gone(o);
		}
	let place = parent.firstChild;
	for (const v of news) {
		const o = match.get(v);
		o ? patch(o, v, ns) : create(v, ns);
		if (place === v.el) place = place.nextSibling;
		else parent.insertBefore(v.el, place);
	}
}

const after = new Set();
export const afterRender = f => after.add(f);
/** Make the children of `parent` those given. */
export function render(parent, ...kids) {
	const v = flat(kids, []);
	patchKids(parent, parent.__v ?? [], v, null);
	parent.__v = v;
	for (const f of after) f(parent);
}
/** A drawing function that runs at most once a frame, however often it is asked for. */
export function drawer(fn) {
	let due = 0,
		dead = false;
	const draw = () => {
		if (!due && !dead) due = requestAnimationFrame(draw.now);
	};
	draw.now = () => {
		cancelAnimationFrame(due);
		due = 0;
		if (!dead) fn();
	};
	draw.stop = () => {
		dead = true;
		cancelAnimationFrame(due);
	};
	return draw;
}
