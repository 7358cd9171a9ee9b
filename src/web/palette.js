// palette.js -- Ctrl-K: pages, instances by id, queues and what can be done here, in one list.
import {copyText, dialog, h, icon, idHref, queueHref, state} from "./ui.js";
import {api, curl, may, me} from "./api.js";
import {listOf} from "./offers.js";
import {startDialog} from "./actions.js";

let shown = false;
/** Letters in order; word starts and runs of letters score higher. */
function score(needle, text) {
	let s = 1,
		at = -1;
	for (const c of needle) {
		const i = text.indexOf(c, at + 1);
		if (i < 0) return 0;
		s += i === at + 1 ? 3 : text[i - 1] === " " ? 2 : 0.2;
		at = i;
	}
	return s;
}
export function palette(app) {
	if (shown) return;
	shown = true;
	let text = "",
		at = 0,
		found = [],
		turn = 0,
		timer = 0;
	const go = to => () => app.go(to);
	const fixed = [
		...(app.actions?.() ?? []),
		may("operate") && ["Start an orchestration", "plus", () => startDialog(app), "n"],
		["Overview: what needs you", "overview", go("#/"), "g o"],
		["Instances", "instances", go("#/instances"), "g i"],
		["Asks: answer what is asked", "event", go("#/asks"), "g a"],
		["Queues", "queues", go("#/queues"), "g q"],
		["Schedules", "schedules", go("#/schedules"), "g s"],
		["Workers", "workers", go("#/workers"), "g w"],
		["Import an exported run", "import", go("#/import")],
		["Compare two runs", "compare", go("#/compare")],
		["Blocked instances", "blocked", go("#/instances?status=blocked")],
		["Failed instances", "failed", go("#/instances?status=failed")],
		["Most retried", "retrying", go("#/instances?waiting=retrying&sort=attempts")],
		["Copy a link to exactly this", "copy", () => copyText(location.href), "y"],
		app.api && [
			"Copy the API call behind this page",
			"copy",
			() => copyText(curl({method: "GET", path: app.api()}))
		],
		[
			"Light or dark",
			"status",
			() => app.set("theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark")
		],
		["Keys", "status", app.help, "?"]
	]
		.filter(Boolean)
		.map(c => (Array.isArray(c) ? {text: c[0], icon: c[1], run: c[2], key: c[3]} : c))
		.filter(c => !me.queues_only || ["queues", "copy", "status"].includes(c.icon));
	async function look(d) {
		const q = text.trim(),
			mine = ++turn;
		if (!q) return;
		const [i, qs] = await Promise.all(
			[me.queues_only ? {} : listOf({q, limit: 8}), api.queues({prefix: q, limit: 4})].map(p =>
				Promise.resolve(p).catch(() => ({}))
			)
		);
		if (mine !== turn) return;
		found = [
			...(i.instances ?? []).map(x => ({
				text: x.instance,
				side: x.orchestration,
				state: x.status,
				run: go(idHref(x.instance))
			})),
			...(qs.queues ?? []).map(x => ({
				text: x.name,
				side: `queue, ${x.ready} ready`,
				icon: "queues",
				run: go(queueHref(x.name))
			}))
		];
		d.draw();
	}
	dialog(
		d => {
			const n = text.trim().toLowerCase(),
				all = [
					...(n ? found : []),
					...fixed
						.map(c => ({...c, s: score(n, c.text.toLowerCase())}))
						.filter(c => c.s)
						.sort((a, b) => (n ? b.s - a.s : 0))
						.slice(0, n ? 6 : 30)
				],
				pick = c => {
					d.close();
					c?.run();
				};
			at = Math.max(0, Math.min(at, all.length - 1));
			return [
				h("h2.vh", {id: "dlg-t"}, "Find or do"),
				h(
					".pal-in",
					icon("search"),
					h("input", {
						type: "text",
						role: "combobox",
						"aria-expanded": "true",
						"aria-controls": "pal-l",
						"aria-activedescendant": `pal-${at}`,
						label: "Find instances, queues, pages, actions",
						placeholder: "An id, a queue, a page, something to do",
						autofocus: true,
						autocomplete: "off",
						value: text,
						oninput: e => {
							text = e.target.value;
							at = 0;
							clearTimeout(timer);
							timer = setTimeout(() => look(d), 90);
							d.draw();
						},
						onkeydown: e => {
							const step = {ArrowDown: 1, ArrowUp: -1}[e.key];
							if (step) at += step;
							else if (e.key === "Enter") pick(all[at]);
							else return;
							e.preventDefault();
							d.draw();
						}
					})
				),
				h(
					".pal-l",
					{id: "pal-l", role: "listbox", label: "Results"},
					all.map((c, i) =>
						h(
							"div",
							{
								key: (c.side ?? "") + c.text,
								id: `pal-${i}`,
								role: "option",
								"aria-selected": String(i === at),
								onclick: () => pick(c),
								onpointermove: () => {
									if (at !== i) {
										at = i;
										d.draw();
									}
								}
							},
							c.state ? state(c.state, true) : icon(c.icon),
							h("span", {class: c.state ? "mono" : ""}, c.text),
							c.side && h("small", c.side),
							c.key && h("kbd", c.key)
						)
					)
				)
			];
		},
		{class: "pal-d", closed: () => (shown = false)}
	);
}
