// asks.js -- what instances ask people for, the oldest first; each is answered where it stands.
import {dim, empty, fault, h, head, ident, idHref, lk, loading, num, page, since} from "./ui.js";
import {may} from "./api.js";
import {asksOf} from "./offers.js";
import {pace} from "./live.js";
import {answer, question} from "./why.js";

export default function asks(root, route, app) {
	let list = null,
		next = null,
		pages = 1;
	const p = page(root, {
		title: "Asks",
		async read() {
			const all = [];
			next = undefined;
			for (let i = 0; i < pages && next !== null; i++) {
				const got = await asksOf(next);
				all.push(...got.asks);
				next = got.next;
			}
			list = all;
		},
		hears: t => t === "changes" && p.soon(pace(1000)),
		view: () => [
			head("Asks", list ? num(list.length) + (next ? "+" : "") : ""),
			!list
				? p.error
					? fault(p.error, p.load)
					: loading()
				: !list.length
					? empty("Nobody is asked for anything.")
					: h(
							"ul.waits.panel.asks",
							list.map(a =>
								h(
									"li",
									{key: a.instance + "\n" + a.id},
									h(
										".w-t",
										question({...a, name: a.event}, dim(" asked ", since(a.since), " ago")),
										h("p", ident(a.instance, idHref(a.instance)), dim(" ", a.orchestration))
									),
									may("operate") && answer(a.instance, {...a, name: a.event, kind: "event"}, p.load, p.draw)
								)
							)
						),
			next &&
				lk("more", () => {
					pages++;
					p.load();
				})
		]
	});
	app.api = () => "/api/v1/asks";
	p.load();
	return p;
}
