// queues.js -- every queue and how it goes.
import {
	ask,
	btn,
	bytes,
	cmd,
	dim,
	dur,
	empty,
	fault,
	field,
	h,
	head,
	ident,
	jsonField,
	loading,
	num,
	page,
	queueHref,
	rate,
	readJson,
	search,
	spark,
	table
} from "./ui.js";
import {act} from "./api.js";
import {queuesOf} from "./offers.js";
import {pace} from "./live.js";

export function pushDialog(name, done) {
	let q = name ?? "mail",
		item = '{"task_id":123,"action":"send_email"}',
		priority = "",
		delay_seconds = "";
	ask({
		title: name ? `Push to ${name}` : "Push to a queue",
		ok: "Push",
		says: r => r.message,
		done: () => done(q),
		action: () =>
			act.push(q, {
				item: readJson(item) ?? null,
				...(+priority ? {priority: +priority} : {}),
				...(+delay_seconds ? {delay_seconds: +delay_seconds} : {})
			}),
		fields: d => [
			name
				? null
				: field(
						"Queue",
						q,
						v => (q = v),
						{hint: "it exists from its first item on"}
					),
			jsonField(
				"Item",
				item,
				v => (item = v),
				{autofocus: true}
			),
			h(
				".f2",
				field(
					"Priority",
					priority,
					v => (priority = v),
					{type: "number", placeholder: "0", hint: "lowest first"}
				),
				field(
					"Delay, seconds",
					delay_seconds,
					v => (delay_seconds = v),
					{type: "number", placeholder: "0"}
				)
			)
		]
	});
}
export default function queues(root, route, app) {
	let list = null,
		find = "";
	const n = x => (x ? num(x) : dim("·"));
	const p = page(root, {
		title: "Queues",
		read: async () => (list = await queuesOf()),
		hears: (t, d) => t === "changes" && (d.more || d.queues.length) && p.soon(pace(1000)),
		view() {
			const f = (list ?? []).filter(q => q.name.includes(find)),
				told = f.some(q => q.depth); // a server without rates says how it is, not how it goes
			return [
				head(
					"Queues",
					list ? num(list.length) : "",
					btn("Push…", () => pushDialog(null, q => app.go(queueHref(q))), {
						needs: "operate",
						class: "b1",
						icon: "plus"
					})
				),
				h(
					".tools",
					search("Search queues", find, v => {
						find = v;
						p.draw();
					})
				),
				p.error
					? fault(p.error, p.load)
					: !list
						? loading()
						: !list.length
							? empty(
									"No queue was used yet.",
									cmd(`curl -d '{"item":{"to":"you"}}' ${location.origin}/queue/mail/push`)
								)
							: !f.length
								? empty(`No queue has “${find}” in its name.`)
								: h(
										"section.panel.scroll",
										{tabindex: "0", role: "region", label: "Queues"},
										table(
											[
												["Queue"],
												["Ready", "r"],
												["Delayed", "r w"],
												["Locked", "r"],
												["Oldest", "r dim"],
												told && ["In /s", "r w"],
												told && ["Out /s", "r w"],
												told && ["Dead", "r"],
												["Size", "r dim w"],
												told && ["Last minute", "sp"]
											],
											f.map(q => {
												const dead = q.name.endsWith("-deadletter");
												return [
													[
														ident(q.name, queueHref(q.name)),
														q.paused && h("span.tag", "paused"),
														dead && h("span.tag.alert", "dead letters")
													],
													h("b", num(q.ready)),
													n(q.delayed),
													n(q.locked),
													q.ready ? dur(q.oldest_age_seconds * 1000) : "–",
													rate(q.in_per_s),
													rate(q.out_per_s),
													q.totals?.dead_lettered
														? h("span.bad", num(q.totals.dead_lettered))
														: dim("·"),
													bytes(q.bytes),
													spark(q.depth ?? [], {
														height: 18,
														tone: dead ? "c-bad" : "",
														label: `depth of ${q.name}`
													})
												];
											}),
											i => f[i].name
										)
									)
			];
		}
	});
	app.api = () => "/queue";
	p.load();
	return p;
}
