// why.js -- the first panel: what it waits for, since when, who can wake it, what failed, what is next.
// The sentence is made here from the facts `pawl why` uses, so that its times tick and its names are links.
import {
	ago,
	at,
	btn,
	cmd,
	copy,
	dim,
	h,
	icon,
	ident,
	idHref,
	meter,
	plural,
	quote,
	since,
	toast,
	until,
	serverNow
} from "./ui.js";
import {act, may, run} from "./api.js";
import {ended, text} from "./history.js";
import {SAMPLE, steer} from "./actions.js";

const later = w => w.due_at > serverNow();
function phrase(w) {
	if (w.kind === "event") return [w.ask ? "an answer: " : "event ", h("b", w.ask?.title ?? w.name)];
	if (w.kind === "update") return ["update ", h("b", w.name)];
	if (w.kind === "timer")
		return later(w) ? ["a timer that fires ", until(w.due_at)] : "a timer that is due";
	if (w.kind === "child") return ["child ", ident(w.instance, idHref(w.instance))];
	return [
		"activity ",
		h("b", w.name),
		w.running
			? ", which runs now"
			: later(w)
				? [
						", which failed ",
						plural(w.attempt - 1, "time"),
						" and is tried again ",
						until(w.due_at)
					]
				: w.limit
					? [", which waits for limit ", h("b", w.limit.name)]
					: ", which no worker has taken yet"
	];
}
function sentence(i, waits) {
	const then = ago(i.updated_at);
	switch (i.status) {
		case "completed":
			return [
				"Completed ",
				then,
				i.output === null ? "" : [" with ", h("code", text(i.output).slice(0, 120))],
				". Nothing more will happen."
			];
		case "continued_as_new":
			return ["This execution ended and continued as new ", then, "."];
		case "failed":
			return ["Failed ", then, ": ", h("b.bad", i.error)];
		case "cancelled":
			return ["Cancelled ", then, i.error ? ": " + i.error : "", "."];
		case "suspended":
			return ["Suspended ", then, ". It goes on where it was when somebody resumes it."];
		case "blocked":
			return [
				"Blocked ",
				then,
				i.finding?.startsWith("nondet")
					? ": its code does not fit its history. Nothing was lost."
					: ". Nothing was lost."
			];
		case "pending":
			return [
				"Accepted ",
				ago(i.created_at),
				" and has not run yet",
				i.finding ? ": it " + i.finding : "",
				"."
			];
	}
	if (!waits.length) return "Ready to go on: its next turn is due.";
	return [
		"Waits for ",
		waits
			.slice(0, 3)
			.map((x, k) => [k === 0 ? "" : k === waits.length - 1 ? " and for " : ", ", phrase(x)]),
		waits.length > 3 ? ` and ${waits.length - 3} more` : "",
		"."
	];
}
/** "recorded X, the code now calls Y, at FILE" of a mismatch, told apart. */
function finding(text) {
	const m =
		/^.*?: (.*?): recorded (.*?), the code now calls (.*?)(?:: another name)?(?:; called from (.*))?$/.exec(
			text ?? ""
		);
	return m
		? h(
				"dl.facts.find",
				[
					["recorded", m[2]],
					["code calls", m[3]],
					["called from", m[4] ? h("code", m[4]) : "–"],
					["where", m[1]]
				].map(([k, v]) => [h("dt", k), h("dd", v)])
			)
		: h("p.find", text);
}
const drafts = new Map();
/** What is asked for, with what stands beside it. */
export const question = (w, ...aside) => [
	h("p", h("b", w.ask?.title ?? w.name ?? "timer"), aside),
	w.ask?.text && h("p.note", w.ask.text)
];
/** The form that ends a wait: an event is raised, an update is sent; of an ask with choices one button each. */
export function answer(id, w, done, redraw) {
	const isUpdate = w.kind === "update",
		make = isUpdate ? act.update : act.raise,
		key = id + "\n" + w.name,
		value = drafts.get(key) ?? SAMPLE[w.name] ?? "{}";
	let a = null;
	try {
		a = make(id, w.name, value.trim() ? JSON.parse(value) : undefined);
	} catch {
		/* not JSON yet */
	}
	const go = async action => {
		try {
			const r = await run(action);
			toast(
				!isUpdate
					? w.ask
						? `${w.name} answered`
						: `${w.name} raised`
					: r && "result" in r
						? `${w.name}: ${text(r.result).slice(0, 200) || "done"}`
						: `${w.name} was sent; it is not answered yet`
			);
			drafts.delete(key);
			done();
		} catch (x) {
			toast(x.message, "bad");
		}
	};
	const some = w.ask?.choices;
	return h(
		"form.raise",
		{
			onsubmit: e => {
				e.preventDefault();
				if (a) go(a);
			}
		},
		some?.map(c => btn(c, () => go(make(id, w.name, c)), {type: "button", key: c})),
		!some && [
			h("input.mono", {
				type: "text",
				label: `Data of ${w.name}`,
				value,
				"aria-invalid": a ? null : "true",
				oninput: e => {
					drafts.set(key, e.target.value);
					redraw();
				}
			}),
			h("button.b.b1", {type: "submit", disabled: !a}, isUpdate ? "Send" : w.ask ? "Answer" : "Raise"),
			a && copy(a.cli)
		]
	);
}

/** {info, why, chain, done(), redraw(), offline} */
export function whyView({info, why, done, redraw, chain, offline}) {
	const s = info.status,
		id = info.instance,
		waits = ended(s) ? [] : (why?.waiting_for ?? info.waiting_for ?? []),
		fail = ended(s) ? null : why?.last_failure,
		acts = !offline && may("operate"),
		isCode = (why?.finding ?? info.finding)?.startsWith("nondet");
	const row = w =>
		h(
			"li",
			{key: w.id},
			h(
				`span.st-${w.attempt > 1 ? "failed" : "running"}`,
				icon(w.attempt > 1 ? "retrying" : w.kind)
			),
			h(
				".w-t",
				question(
					w.kind === "child" ? {name: ident(w.instance, idHref(w.instance))} : w,
					dim(
						w.kind === "timer"
							? later(w)
								? [" fires ", until(w.due_at), ", at ", at(w.due_at)]
								: [" is due since ", at(w.due_at)]
							: w.kind === "activity"
								? w.running
									? ` runs, try ${w.attempt}`
									: later(w)
										? [` try ${w.attempt} `, until(w.due_at)]
										: w.limit
											? ` waits for limit ${w.limit.name}, ${w.limit.before} before it`
											: " queued"
								: "",
						", for ",
						since(w.since)
					)
				),
				w.kind === "timer" && meter(w.since, w.due_at),
				w.last_error && h("p.err", w.last_error),
				w.kind === "activity" &&
					!w.running &&
					!later(w) &&
					!w.limit &&
					!offline &&
					s === "running" &&
					h(
						"p.note",
						"Load a module that has it, or start a worker: ",
						cmd(`@worker.activity("${w.name}")`)
					)
			),
			offline
				? null
				: (w.kind === "event" || w.kind === "update") && s === "running" && acts
					? answer(id, w, done, redraw)
					: w.kind === "child"
						? h("a.b", {href: idHref(w.instance)}, "Look there")
						: null
		);
	return h(
		"section.why",
		{class: "why-" + s, label: "Why"},
		h("p.why-s", sentence(info, waits)),
		s === "blocked" && finding(why?.finding ?? info.finding),
		s === "blocked" &&
			acts &&
			h(
				"p.fix",
				btn("Retry", () => steer("retry", id, done), {class: "b1"}),
				isCode ? " once the repaired code is deployed, or " : " once that is settled, or ",
				cmd(`pawl retry ${quote(id)}`),
				isCode && [
					dim("Check every open history before the next deploy: "),
					cmd("pawl check --load NEW.so")
				]
			),
		s === "suspended" &&
			acts &&
			h(
				"p.fix",
				btn("Resume", () => steer("resume", id, done), {class: "b1"}),
				cmd(`pawl resume ${quote(id)}`)
			),
		chain?.length
			? h(
					"p.chain",
					"In the end it hangs on ",
					chain.map((c, i) => [
						i ? dim(" → ") : "",
						ident(c.instance, idHref(c.instance)),
						i === chain.length - 1 ? [": ", c.text] : ""
					])
				)
			: null,
		waits.length
			? h(
					"ul.waits",
					waits.slice(0, 6).map(row),
					waits.length > 6 && h("li.dim", `and ${waits.length - 6} more`)
				)
			: null,
		why?.mailbox
			? h("p.note", `${plural(why.mailbox, "event")} raised that it has not taken yet.`)
			: null,
		fail &&
			h(
				"p.note",
				"Last failure: ",
				h("b", fail.name),
				" ",
				ago(fail.at),
				": ",
				h("span.bad", fail.error)
			)
	);
}
