// actions.js -- what can be done to instances; each one asks in the same dialog.
import {ask, btn, dialog, field, h, idHref, jsonField, num, plural, quote, readJson, seg, toast, toJson} from "./ui.js";
import {act, call, may, run} from "./api.js";
import {startable} from "./offers.js";
import {ended} from "./history.js";

// Something to begin with: inputs of the examples, data of their events.
export const SAMPLE = {
	ProcessOrder: {id: "o-1", step_ms: 500, return_window_ms: 4000},
	BookTrip: {trip: "Oslo", step_ms: 300},
	Approval: {what: "a new chair"},
	ProvisionEnvironment: {name: "staging", step_ms: 400},
	Heartbeat: {every_ms: 1000, until: 20},
	FraudReview: '{"approved":true}',
	Decision: '{"approved":true,"by":"ada"}',
	Picked: '{"by":"ada","bin":"B7"}'
};

export async function startDialog(app, like) {
	const names = await startable().catch(() => []),
		pretty = v => toJson(v ?? {}, null, 2);
	let name =
			like?.orchestration ??
			(!names.length || names.includes("ProcessOrder") ? "ProcessOrder" : names[0]),
		id = name.replace(/[^A-Z]/g, "").toLowerCase() + "-" + Date.now().toString(36).slice(-5),
		input = "",
		touched = !!like;
	const begin = () => {
		const sample = SAMPLE[name];
		if (!touched) input = pretty(sample?.id ? {...sample, id} : sample);
	};
	if (like) input = pretty(like.input);
	else begin();
	ask({
		title: like ? `Start another like ${like.instance}` : "Start an orchestration",
		ok: "Start",
		class: "wide",
		fields: d => [
			h(
				".f2",
				field(
					"Orchestration",
					name,
					v => {
						name = v;
						begin();
						d.draw();
					},
					{list: "orch", autofocus: true}
				),
				field(
					"Instance",
					id,
					v => {
						id = v;
						begin();
						d.draw();
					},
					{hint: "the same one twice starts once", class: "mono"}
				)
			),
			h(
				"datalist",
				{id: "orch"},
				names.map(n => h("option", {value: n}))
			),
			jsonField(
				"Input",
				input,
				v => {
					input = v;
					touched = true;
					d.draw();
				},
				{rows: 8}
			)
		],
		valid: () => (name ? null : "which one?"),
		action: () => act.start(name, id.trim(), readJson(input)),
		says: a => (a.created ? `${a.instance} started` : `${a.instance} exists already`),
		done: a => app.go(idHref(a.instance))
	});
}
export function raiseDialog(id, event = "", done) {
	let name = event,
		data = SAMPLE[event] ?? "{}";
	ask({
		title: `Raise an event to ${id}`,
		text: "An event that nobody waits for yet is kept for it.",
		ok: "Raise",
		fields: d => [
			field(
				"Event",
				name,
				v => (name = v),
				{autofocus: !name}
			),
			jsonField(
				"Data",
				data,
				v => (data = v),
				{autofocus: !!name}
			)
		],
		valid: () => (name ? null : "which event?"),
		action: () => act.raise(id, name, readJson(data)),
		says: () => `${name} raised to ${id}`,
		done
	});
}

/** All of them as one object; what is taken out of it goes. */
export function attributesDialog(id, was, done) {
	let text = toJson(was, null, 2);
	const changed = () => {
		const now = readJson(text) ?? {},
			out = Object.fromEntries(Object.keys(was).map(k => [k, null]));
		for (const [k, v] of Object.entries(now)) v === was[k] ? delete out[k] : (out[k] = v);
		return out;
	};
	ask({
		title: `Attributes of ${id}`,
		text: "Texts and integers that it can be found by.",
		ok: "Change",
		fields: d =>
			jsonField(
				"Attributes",
				text,
				v => (text = v),
				{rows: 6, autofocus: true}
			),
		action: () => act.attributes(id, changed()),
		done
	});
}

const SPEC = {
	cancel: {
		ok: "Ask to end",
		text: "Asked to end, its code may undo what it did; that takes until it returns, at most the cancel grace (60 s).",
		reason: true,
		danger: true
	},
	terminate: {
		ok: "End now",
		text: "It ends at once. Its code is not asked and nothing is undone.",
		reason: true,
		danger: true
	},
	suspend: {
		ok: "Suspend",
		text: "It rests where it is. Events and results that arrive are kept.",
		reason: true
	},
	resume: {ok: "Resume", text: "It goes on where it rests.", reason: true},
	retry: {
		ok: "Try again",
		text: "Its code is run against its history once more. Deploy the mended module first."
	},
	remove: {
		ok: "Remove for good",
		text: "The instance, its history and its children are gone, and its id is free again.",
		danger: true
	}
};
export const title = verb => verb[0].toUpperCase() + verb.slice(1);
const one = (verb, id, reason, force = true) =>
	verb === "remove" ? act.remove(id, force) : act[verb](id, reason);
export const steer = (verb, id, done, status) =>
	ask({
		...SPEC[verb],
		title: `${title(verb)} ${id}`,
		typed: verb === "remove" ? id : null,
		action: r => one(verb, id, r, !ended(status)),
		says: () => `${id}: ${verb} accepted, and durable`,
		done
	});

/** Views of one's own: kept by this browser, shown beside the others. */
export const views = () => JSON.parse(localStorage.getItem("pawl.views") ?? "[]");
export function setViews(list) {
	localStorage.setItem("pawl.views", toJson(list));
	dispatchEvent(new Event("pawl-views"));
}
export function saveView(query) {
	let name = "";
	dialog(d =>
		h(
			"form",
			{
				onsubmit: e => {
					e.preventDefault();
					if (!name.trim()) return;
					setViews([...views().filter(v => v[0] !== name.trim()), [name.trim(), query]]);
					d.close();
				}
			},
			h("h2", {id: "dlg-t"}, "Save this view"),
			field("Name", name, v => (name = v), {autofocus: true, hint: "kept in this browser"}),
			h(".dlg-b", btn("Close", d.close), h("button.b.b1", {type: "submit"}, "Save"))
		)
	);
}

/** Many at once: by filter when all that match are meant, one by one when rows were picked. */
export async function bulk(verb, {ids, filter, count}, done) {
	const action = verb === "remove" ? "delete" : verb,
		dry = ids
			? null
			: await run(act.batch(action, {filter}, null, true)).catch(
					e => (toast(e.message, "bad"), null)
				);
	if (!ids && !dry) return;
	const many = ids?.length ?? count ?? dry.matched,
		name = plural(many, "instance") + (dry?.next && !count ? " or more" : "");
	let at = 0;
	ask({
		...SPEC[verb],
		title: `${title(verb)} ${name}`,
		ok: `${SPEC[verb].ok}: ${num(many)}`,
		typed: SPEC[verb].danger && many >= 25 ? String(many) : null,
		fields: () => [
			h(
				"p.ids",
				ids
					? [
							ids.slice(0, 8).map(i => h("code", i)),
							ids.length > 8 ? `and ${ids.length - 8} more` : ""
						]
					: Object.entries(filter).map(([k, v]) => h("code", `${k}: ${v}`))
			),
			at ? h("progress", {max: many, value: at}) : null
		],
		action: r =>
			ids
				? {
						...one(verb, ids[0], r),
						ids: ids.slice(0, 40).map(seg),
						cli: `pawl ${verb === "remove" ? "rm --force" : verb} ${ids.slice(0, 40).map(quote).join(" ")}${ids.length > 40 ? " …" : ""}`
					}
				: act.batch(action, {filter}, r),
		run: async (a, reason, d) => {
			let bad = 0,
				after;
			if (ids && !may("admin"))
				for (const id of ids) {
					await run(one(verb, id, reason)).catch(() => bad++);
					at++;
					d.draw();
				}
			else if (ids)
				for (; at < ids.length; d.draw()) {
					const some = ids.slice(at, at + 500);
					bad += (await run(act.batch(action, {ids: some}, reason))).failed.length;
					at += some.length;
				}
			else
				do {
					const r = await call("POST", a.path, {...a.body, ...(after ? {after} : {})});
					at += r.done;
					bad += r.failed.length;
					after = r.next;
					d.draw();
				} while (after);
			return {n: ids ? at - bad : at, bad};
		},
		says: r => `${plural(r.n, "instance")}: ${verb} accepted${r.bad ? `; ${r.bad} refused` : ""}`,
		done
	});
}
