// page_workers.js -- who does the work: activities that somebody waits for, and the workers outside that ask for them.
import {
	ago,
	cmd,
	dim,
	empty,
	fault,
	h,
	head,
	ident,
	instanceHref,
	left,
	listHref,
	loading,
	num,
	page,
	panel,
	since,
	table
} from "./ui.js";
import {api} from "./api.js";
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
									ident(l.instance, instanceHref(l.instance)),
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

export default function workers(root, route, app) {
	let activities = null,
		people = [];
	const p = page(root, {
		title: "Workers",
		hears: t => t === "changes" && p.soon(pace(3000)),
		read: async () =>
			([activities, people] = await Promise.all([
				overviewOf().then(o => o.activities),
				api.workers()
			])),
		view: () => [
			head("Workers", people.length ? num(people.length) : ""),
			p.error && !activities
				? fault(p.error, p.load)
				: !activities
					? loading()
					: [
							panel("Activities somebody waits for", null, open(activities)),
							panel("Workers outside the server", dim("that asked under a name"), outside(people))
						]
		]
	});
	app.api = () => "/api/v1/workers";
	p.load();
	return p;
}
