// compare.js -- two runs side by side: where they part, what differed, who was slower.
import {check, dim, dur, empty, fault, h, head, icon, idHref, lk, loading, num, page, panel, plural, state, table, toJson} from "./ui.js";
import {api, readHistory} from "./api.js";
import {listOf} from "./offers.js";
import {align, jsonDiff, label, Run, text} from "./history.js";
import {imported} from "./page_import.js";

async function open(id) {
	const file = imported.get(id),
		info = file ?? (await api.instance(id)),
		run = file ? new Run().add(file.events) : await readHistory(new Run(), id, info.execution);
	run.waits(info.waiting_for);
	return {info, run, took: (run.finish?.at ?? Date.now()) - run.start};
}
const took = t => (t ? (t.endAt ?? Date.now()) - t.at : 0),
	what = t =>
		t.state === "failed"
			? `failed (${text(t.output?.data).slice(0, 90)})`
			: t.state === "open"
				? "is open"
				: `was ${t.state}`;
const parts = ([a, b]) => !a || !b || a.state !== b.state,
	change = ([a, b]) => Math.abs(took(b) - took(a));

export default function compare(root, route, app) {
	let A = null,
		B = null,
		result = null,
		only = true,
		near = [];
	const id = k => app.route.query.get(k),
		choose = (k, v) => {
			app.query({[k]: v.trim()});
			if (k === "a") near = [];
			p.load();
		};
	const side = (k, x) =>
		h(
			"div",
			h(
				"label.f",
				h("span", k.toUpperCase()),
				h("input.mono", {
					type: "text",
					list: "near",
					value: id(k) ?? "",
					placeholder: "instance id",
					onchange: e => choose(k, e.target.value)
				})
			),
			x &&
				h(
					"p.meta",
					state(x.info.status),
					dim(`${x.info.orchestration} ${x.info.version ?? ""}`),
					h("span", "took ", h("b", dur(x.took))),
					h("a", {href: idHref(x.info.instance)}, "open")
				)
		);
	function verdict(pairs, i) {
		const [a, b] = pairs[i] ?? [],
			d = B.took - A.took,
			slow = [...pairs].sort((x, y) => change(y) - change(x))[0];
		return h(
			"section.why",
			h(
				"p.why-s",
				i < 0
					? `Both took the same ${plural(pairs.length, "step")}. `
					: [
							`The same for ${plural(i, "step")}. Then `,
							h("b", label(a ?? b)),
							a && b ? ` ${what(a)} in A and ${what(b)} in B. ` : ` came only in ${a ? "A" : "B"}. `
						],
				"B took ",
				h("b", dur(Math.abs(d))),
				d > 0 ? " longer" : " less",
				slow && change(slow) > 5
					? [
							", most of it in ",
							h("b", label(slow[0] ?? slow[1])),
							slow[0] && slow[1]
								? ` (${dur(took(slow[0]))} and ${dur(took(slow[1]))})`
								: ` (${dur(change(slow))}, only in ${slow[0] ? "A" : "B"})`
						]
					: "",
				"."
			)
		);
	}
	function steps(pairs, first) {
		const most = Math.log1p(Math.max(1, ...pairs.flat().map(took))),
			list = pairs
				.map((x, i) => ({x, i}))
				.filter(
					({x}) =>
						!only ||
						parts(x) ||
						x[0].attempts !== x[1].attempts ||
						change(x) > 0.1 * Math.max(took(x[0]), took(x[1]), 20)
				);
		const bar = t =>
			t
				? h(
						"span.cb",
						h("i", {
							class: "bg-" + (t.state === "moment" ? "done" : t.state),
							style: {width: (Math.log1p(took(t)) / most) * 58 + "%"}
						}),
						dur(took(t)),
						t.attempts > 1 ? ` · ${t.attempts} tries` : "",
						t.state === "done" || t.state === "moment" ? "" : " · " + t.state
					)
				: dim("–");
		return panel(
			"Steps",
			check(`only what differs (${list.length} of ${pairs.length})`, only, v => {
				only = v;
				p.draw();
			}),
			list.length
				? table(
						[["Step"], ["A", "half"], ["B", "half"], ["B − A", "r"]],
						list.slice(0, 400).map(({x: [a, b], i}) => {
							const d = took(b) - took(a);
							return [
								[
									icon((a ?? b).kind),
									" ",
									label(a ?? b),
									i === first && h("span.tag.alert", "they part here")
								],
								bar(a),
								bar(b),
								!a || !b
									? dim(`only ${a ? "A" : "B"}`)
									: Math.abs(d) < 1
										? dim("0")
										: h(d > 0 ? "span.bad" : "span.good", (d > 0 ? "+" : "−") + dur(Math.abs(d)))
							];
						}),
						k => list[k].i,
						"cmp"
					)
				: empty("Nothing differs."),
			result.cut && h("p.note", "Long runs: the first 1,500 steps after they part are compared.")
		);
	}
	const differ = (title, a, b) => {
		const d = jsonDiff(a, b),
			v = x => (x === undefined ? dim("not there") : toJson(x).slice(0, 120));
		return panel(
			title,
			null,
			d.length
				? table(
						[
							["Path", "mono"],
							["A", "mono"],
							["B", "mono"]
						],
						d.slice(0, 60).map(([path, x, y]) => [path, v(x), v(y)]),
						null,
						"cmp wrap"
					)
				: empty("The same.")
		);
	};
	const p = page(root, {
		title: "Compare",
		async read() {
			result = null;
			[A, B] = await Promise.all(["a", "b"].map(k => id(k) && open(id(k))));
			if (A && !near.length)
				near = (await listOf({orchestration: A.info.orchestration, limit: 60})).instances.filter(
					i => i.instance !== A.info.instance
				);
			if (A && B) result = align(A.run, B.run);
		},
		view() {
			const pairs = result?.pairs,
				first = pairs?.findIndex(parts);
			return [
				head("Compare two runs"),
				h(
					"datalist",
					{id: "near"},
					near.map(i => h("option", {value: i.instance}, i.status))
				),
				h(".cols", side("a", A), side("b", B)),
				p.error
					? fault(p.error, p.load)
					: result
						? [
								verdict(pairs, first),
								steps(pairs, first),
								h(
									".cols",
									differ("Input", A.info.input, B.info.input),
									differ("Result", A.info.output ?? A.info.error, B.info.output ?? B.info.error)
								)
							]
						: A
							? panel(
									"Choose the other",
									dim(`the last ${num(near.length)} of ${A.info.orchestration}`),
									h(
										"ul.feed",
										near.slice(0, 20).map(i =>
											h(
												"li",
												{key: i.instance},
												h(`span.st-${i.status}`, icon(i.status)),
												lk(i.instance, () => choose("b", i.instance), {class: "id"}),
												dim(i.error),
												dim(dur(i.updated_at - i.created_at))
											)
										)
									)
								)
							: id("a")
								? loading()
								: empty("Give two instance ids, or press d on the page of an instance.")
			];
		}
	});
	p.update = () => p.load();
	p.load();
	return p;
}
