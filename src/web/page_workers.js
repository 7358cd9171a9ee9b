// page_workers.js -- who does the work: activities that somebody waits for, and the workers outside that ask for them.
import {ago, ask, btn, cmd, dim, dur, empty, fault, field, h, head, ib, ident, idHref, jsonField, left, listHref, lk, loading, num, page, panel, readJson, since, table, toJson} from "./ui.js";
import {act, api, may} from "./api.js";
import {overviewOf} from "./offers.js";
import {pace} from "./live.js";

const n = (x, tag = "span") => (x ? h(tag, num(x)) : dim("·"));
const list = words => (words.length ? words.join(", ") : dim("any"));

function open(activities) {
	if (!activities.length) return empty("No activity is open.");
	return table(
		[
			["Activity"],
			["Running", "r"],
			["Queued", "r"],
			["Backing off", "r w"],
			["Most tries", "r w"],
			["Oldest", "r"]
		],
		activities.map(a => [
			h("a", {href: listHref({waiting: "activity:" + a.activity})}, a.activity),
			n(a.running),
			n(a.queued, "b"),
			n(a.backing_off, "span.bad"),
			n(a.attempt > 1 && a.attempt),
			since(a.oldest)
		]),
		i => activities[i].activity
	);
}
function outside(workers) {
	if (!workers.length)
		return empty(
			"No worker has asked for work in the last ten minutes.",
			h(
				"p",
				"Activities of loaded modules run in the server. Any other activity is served by a process that asks for it:"
			),
			cmd(
				`curl -d '{"activities":["Charge"],"wait_ms":30000,"worker":"me"}' ${location.origin}/api/v1/work/poll`
			)
		);
	return table(
		[["Worker"], ["Activities"], ["Tags", "w"], ["Asked", "r"], ["Polls", "r w"], ["Has now"]],
		workers.map(w => [
			h("b.mono", w.worker),
			list(w.activities),
			w.tags.length ? w.tags.join(", ") : dim("–"),
			ago(w.seen_at),
			num(w.polls),
			w.leases.length
				? h(
						"ul.leases",
						w.leases
							.slice(0, 5)
							.map(l =>
								h(
									"li",
									{key: l.instance + l.id},
									l.activity,
									" of ",
									ident(l.instance, idHref(l.instance)),
									dim(" ", left(l.locked_until))
								)
							),
						w.leases.length > 5 && h("li.dim", `and ${w.leases.length - 5} more`)
					)
				: dim("nothing")
		]),
		i => workers[i].worker
	);
}

function change(limit, done) {
	let name = limit?.name ?? "",
		spec = toJson(
			limit?.spec ?? {match: [{activity: "Charge"}], by: "key", concurrency: 5},
			null,
			2
		);
	ask({
		title: limit ? "Change limit " + name : "New limit",
		text: "What finds no room waits until there is some.",
		ok: "Store",
		fields: d => [
			!limit &&
				field("Name", name, v => (name = v)),
			jsonField(
				"Says",
				spec,
				v => (spec = v),
				{rows: 8}
			)
		],
		valid: () => (name ? null : "its name?"),
		action: () => act.limit(name, readJson(spec), limit?.revision),
		done
	});
}
const remove = (l, done) =>
	ask({
		title: "Remove limit " + l.name,
		text: "What waits for it goes on.",
		ok: "Remove",
		danger: true,
		action: () => act.limit(l.name, undefined, l.revision),
		done
	});
const says = ({concurrency, rate, by = "all"}) =>
	[
		concurrency && num(concurrency) + " at a time",
		rate && `${num(rate.count)} in ${dur(rate.per_ms)}`
	]
		.filter(Boolean)
		.join(", ") + (by === "all" ? "" : ` for each ${by === "key" ? "key" : "first level"}`);
const limits = (all, done) =>
	all.length
		? table(
				[["Limit"], ["Of", "w"], ["Says"], ["In use", "r w"], ["Waiting", "r"], ["", "r"]],
				all.map(l => [
					may("admin") ? lk(l.name, () => change(l, done)) : l.name,
					l.spec.match.map(m => m.activity).join(", "),
					says(l.spec),
					n(l.in_use),
					n(l.waiting, "b"),
					may("admin") && ib("close", "Remove limit " + l.name, () => remove(l, done))
				]),
				i => all[i].name,
				"wrap"
			)
		: empty("Nothing is limited.");

export default function workers(root, route, app) {
	let activities = null,
		people = [],
		limited = [];
	const p = page(root, {
		title: "Workers",
		hears: t => t === "changes" && p.soon(pace(3000)),
		read: async () => {
			let told;
			[told, people, limited] = await Promise.all([overviewOf(), api.workers(), api.limits()]);
			activities = told.waits.activities;
			if (!told.current) p.soon(pace(3000));
		},
		view: () => [
			head("Workers", people.length ? num(people.length) : ""),
			p.error && !activities
				? fault(p.error, p.load)
				: !activities
					? loading()
					: [
							panel("Activities somebody waits for", null, open(activities)),
							panel(
								"Limits",
								btn("New…", () => change(null, p.load), {needs: "admin", icon: "plus"}),
								limits(limited, p.load)
							),
							panel("Workers outside the server", dim("that asked under a name"), outside(people))
						]
		]
	});
	app.api = () => "/api/v1/workers";
	p.load();
	return p;
}
