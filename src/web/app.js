// app.js -- the frame: where one is, how one gets elsewhere, whether what one sees is true now.
import {call, know, may, me} from "./api.js";
import {
	btn,
	copyText,
	dialog,
	drawer,
	field,
	h,
	ib,
	icon,
	isModal,
	left,
	menu,
	render,
	setZone,
	short,
	since
} from "./ui.js";
import {follow, live, on, pause, retryNow, total} from "./live.js";
import {palette} from "./palette.js";
import {setViews, startDialog, views} from "./actions.js";
import overview from "./page_overview.js";
import instances from "./page_instances.js";
import instance from "./page_instance.js";
import compare from "./page_compare.js";
import queues from "./page_queues.js";
import queue from "./page_queue.js";
import asks from "./page_asks.js";
import workers from "./page_workers.js";
import schedules from "./page_schedules.js";
import importer from "./page_import.js";

// ---- Where one is: everything is in the address
const ROUTES = {"": overview, instances, asks, compare, queues, schedules, workers, import: importer},
	ONE = {instances: instance, queues: queue, schedules};
function here() {
	const [path, q] = location.hash.replace(/^#\/?/, "").split("?"),
		[name, ...rest] = path.split("/");
	let arg = rest.join("/");
	try {
		arg = decodeURIComponent(arg);
	} catch {
		/* as it stands */
	}
	return {name, arg: arg || null, query: new URLSearchParams(q ?? "")};
}
const app = {
	route: here(),
	list: null /* ids of the list one came from */,
	actions: null,
	api: null,
	set,
	help: () => help(),
	go: to => (location.hash = to),
	/** Change the query of this page; replaces, so that Back leaves the page. */
	query(changes) {
		const r = here();
		for (const [k, v] of Object.entries(changes))
			r.query.delete(k), [v ?? ""].flat().forEach(x => x !== "" && r.query.append(k, x));
		const q = r.query.toString();
		history.replaceState(
			null,
			"",
			`#/${r.name}${r.arg ? "/" + encodeURIComponent(r.arg) : ""}${q ? "?" + q : ""}`
		);
		app.route = here();
		frame();
	}
};
let open = null,
	root = null,
	drawn = null;
function enter() {
	const r = (app.route = here()),
		id = r.name + "/" + (r.arg ?? ""),
		make = r.arg && ONE[r.name] ? ONE[r.name] : ROUTES[r.name];
	frame.now();
	if (drawn === id && open?.update) return open.update(r);
	open?.close?.();
	app.actions = app.api = null;
	root.replaceChildren();
	delete root.__v;
	root.scrollTop = 0;
	drawn = id;
	open = make
		? make(root, r, app)
		: (render(
				root,
				h(".page", h("h1", "There is no such page."), h("a", {href: "#/"}, "Overview"))
			),
			{});
	document.title = `${open.title ?? "Pawl"} · Pawl`;
}
addEventListener("hashchange", enter);

// ---- Frame
const NAV = [
	["", "Overview", "o"],
	["instances", "Instances", "i"],
	["asks", "Asks", "a"],
	["queues", "Queues", "q"],
	["schedules", "Schedules", "s"],
	["workers", "Workers", "w"],
	["import", "Import", "m"]
];
const VIEWS = [
	["Blocked", "status=blocked", "blocked"],
	["Retrying", "waiting=retrying&sort=attempts", "retrying"],
	["No worker", "waiting=noworker", "no_worker"],
	["Waiting for an event", "waiting=event&sort=waiting", "event"],
	["Failed", "status=failed&sort=updated", "failed"],
	["Suspended", "status=suspended", "suspended"]
];
const seen = n => !me.queues_only || n[0] === "queues";
const CTRL = /Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K";
const frame = drawer(() => {
	const r = app.route,
		s = live.stats,
		count = (n, cls = "") => (n ? h("b.nav-n", {class: cls}, short(n)) : null);
	const link = (href, on, ic, text, n, beside) =>
		h(
			"li",
			{key: href},
			h("a", {href, "aria-current": on ? "page" : null}, icon(ic), h("span", text), n),
			beside
		);
	render(
		document.getElementById("app"),
		h(
			".shell",
			h(
				"nav.rail",
				{label: "Pages"},
				h(
					"a.brand",
					{href: "#/"},
					h(
						"svg.mark",
						{viewBox: "0 0 16 16", "aria-hidden": "true"},
						h("path", {d: "M1 11.5 3.6 6v5.5zm4.2 0L7.8 6v5.5zm4.2 0L12 6v5.5z"}),
						h("path", {d: "m14.6 1.8-5.2 3"})
					),
					h("b", "Pawl")
				),
				h(
					"button.find",
					{
						onclick: () => palette(app),
						label: "Find or do " + CTRL,
						"aria-keyshortcuts": "Control+K"
					},
					icon("search"),
					h("span", "Find or do "),
					h("kbd", CTRL)
				),
				h(
					"ul.nav",
					NAV.filter(seen).map(([n, t]) =>
						link(
							"#/" + n,
							r.name === n,
							n || "overview",
							t,
							!s
								? null
								: n === ""
									? count(s.problems, "alert")
									: n === "instances"
										? count(total())
										: null
						)
					)
				),
				!me.queues_only && h("h2", "Views"),
				h(
					"ul.nav.views",
					{hidden: me.queues_only},
					VIEWS.map(([t, q, ic]) =>
						link(
							"#/instances?" + q,
							r.name === "instances" && !r.arg && r.query.toString() === q,
							ic,
							t,
							count(s?.counts?.[/^status=(\w+)/.exec(q)?.[1]])
						)
					),
					views().map(([name, q]) =>
						link(
							"#/instances?" + q,
							r.name === "instances" && !r.arg && r.query.toString() === q,
							"instances",
							name,
							null,
							ib("close", `Remove view ${name}`, e => {
								e.preventDefault();
								setViews(views().filter(v => v[0] !== name));
							})
						)
					)
				),
				h(
					".rail-foot",
					h(
						`button.conn.conn-${live.state}`,
						{
							title: "Pause or resume live updates",
							onclick: () => (live.state === "lost" ? retryNow() : pause(!live.paused))
						},
						h("i"),
						h("span", live.state === "lost" ? "not connected" : live.state),
						live.state === "live" && live.rate >= 0.5 && h("small", `${live.rate.toFixed(0)}/s`)
					),
					ib("more", "Settings", settings)
				)
			),
			live.state === "lost"
				? h(
						".banner",
						{role: "alert"},
						icon("failed"),
						h(
							"span",
							"Not connected for ",
							since(live.since),
							live.why ? ` (${live.why})` : "",
							". What you see may be old. Next try in ",
							left(live.retryAt),
							"."
						),
						btn("Try now", retryNow)
					)
				: version && me.version && version !== me.version
					? h(
							".banner.calm",
							{role: "status"},
							icon("retrying"),
							h("span", `The server is now pawl ${me.version}; this page is of ${version}.`),
							btn("Reload", () => location.reload())
						)
					: live.state === "paused"
						? h(
								".banner.calm",
								icon("suspended"),
								h("span", "Live updates are paused since ", since(live.since), "."),
								btn("Resume", () => pause(false))
							)
						: null,
			h("main", {id: "main", tabindex: "-1", own: true, ref: el => (root = el)})
		)
	);
});

// ---- Settings and keys
const pref = Object.fromEntries(
		[
			["theme", "auto"],
			["zone", "local"],
			["keys", "on"]
		].map(([k, v]) => [k, localStorage.getItem("pawl." + k) ?? v])
	),
	night = matchMedia("(prefers-color-scheme:dark)");
function set(name, value) {
	if (name) localStorage.setItem("pawl." + name, (pref[name] = value));
	setZone(pref.zone);
	document.documentElement.dataset.theme =
		pref.theme !== "auto" ? pref.theme : night.matches ? "dark" : "light";
	open?.draw?.();
}
night.onchange = () => set();
function settings(ev) {
	const one = (name, value, text) => ({
		text,
		checked: pref[name] === value,
		run: () => set(name, value)
	});
	menu(
		ev,
		[
			one("theme", "auto", "Theme of the system"),
			one("theme", "light", "Light"),
			one("theme", "dark", "Dark"),
			"-",
			one("zone", "local", "Local time"),
			one("zone", "utc", "UTC"),
			"-",
			{
				text: "Single-key shortcuts",
				checked: pref.keys === "on",
				run: () => set("keys", pref.keys === "on" ? "off" : "on")
			},
			{text: "Keys", key: "?", run: help},
			{text: "API description", run: () => window.open("/openapi.json")},
			me.token && {
				text: `Sign out (${me.scope}, ${me.token})`,
				run: () => call("POST", "/logout").finally(() => location.reload())
			}
		],
		"Settings"
	);
}
const KEYS = {
	Everywhere: [
		"Ctrl K",
		"find or do anything",
		"/",
		"search on this page",
		"n",
		"start an orchestration",
		"g",
		"then o, i, a, q, s, w: overview, instances, asks, queues, schedules, workers",
		"y",
		"copy a link to exactly this",
		"Esc",
		"close, leave, clear"
	],
	Lists: [
		"j k ↑ ↓",
		"next, previous",
		"Enter",
		"open",
		"x",
		"select; with Shift from here to there",
		".",
		"show what is new"
	],
	Instance: [
		"← →",
		"one event back, forward in time",
		"Home End",
		"first event, now",
		"↑ ↓",
		"step to step",
		"+ − 0 z",
		"zoom in, out, fit, to the selection",
		"r s c",
		"raise, suspend or resume, cancel",
		"t e",
		"to the timeline, to the events",
		"d",
		"compare with another run",
		"[ ]",
		"previous, next of the list you came from"
	]
};
const help = () =>
	dialog(
		d => [
			h("h2", {id: "dlg-t"}, "Keys"),
			h(
				".keys",
				Object.entries(KEYS).map(([t, list]) =>
					h(
						"section",
						h("h3", t),
						h(
							"dl.facts",
							list.map((x, i) => (i % 2 ? h("dd", x) : h("dt", h("kbd", x))))
						)
					)
				)
			),
			h(".dlg-b", btn("Close", d.close, {autofocus: true}))
		],
		{class: "wide"}
	);

let prefix = 0;
addEventListener("keydown", e => {
	const mod = e.ctrlKey || e.metaKey;
	if (mod && e.key.toLowerCase() === "k") {
		e.preventDefault();
		return palette(app);
	}
	if (isModal() || mod || e.altKey || e.defaultPrevented) return;
	if (e.target.closest?.("input:not([type=checkbox],[type=range]),textarea,select")) {
		if (e.key === "Escape") e.target.blur();
		return;
	}
	if (pref.keys !== "on" && e.key !== "?") return;
	const to = Date.now() - prefix < 1200 ? NAV.filter(seen).find(n => n[2] === e.key) : null;
	const f = to
		? () => app.go("#/" + to[0])
		: (open?.keys?.[e.key] ??
			{
				g: () => (prefix = Date.now()),
				"?": help,
				n: () => may("operate") && startDialog(app),
				y: () => copyText(location.href, "Link copied"),
				"/": () => document.querySelector("main input[type=search]")?.focus()
			}[e.key]);
	if (f) {
		e.preventDefault();
		if (to) prefix = 0;
		f(e);
	}
});

// ---- Who looks
let asking = false,
	began = false;
/** Ask for a token, once; the browser keeps it where no script can read it. */
function signIn(text) {
	let token = "",
		error = null;
	if (asking) return;
	asking = true;
	const go = async (e, d) => {
		e.preventDefault();
		try {
			Object.assign(me, await call("POST", "/login", {token: token.trim()}, {quiet: true}));
			d.close();
			begin();
		} catch (x) {
			error = x;
			d.draw();
		}
	};
	dialog(
		d =>
			h(
				"form",
				{onsubmit: e => go(e, d)},
				h("h2", {id: "dlg-t"}, text),
				h(
					"p.dlg-text",
					"Make one where the data is: ",
					h("code", "pawl token new --scope operate")
				),
				field("Token", token, v => (token = v), {type: "password", autofocus: true}),
				error && h("p.warn", {role: "alert"}, icon("failed"), error.message),
				h(".dlg-b", h("button.b.b1", {type: "submit"}, "Sign in"))
			),
		{closed: () => (asking = false)}
	);
}
/** Show what the one who looks may see. */
function begin() {
	if (me.needs_token && !me.scope) {
		const text = "This server wants a token";
		render(
			root,
			h(
				".page",
				h("h1", "Not signed in"),
				btn("Sign in", () => signIn(text))
			)
		);
		return signIn(text);
	}
	if (me.queues_only && here().name !== "queues") history.replaceState(null, "", "#/queues");
	if (!began) follow();
	else retryNow();
	began = true;
	drawn = null;
	enter();
}
addEventListener("pawl-token", () => {
	me.scope = null;
	signIn("The sign-in has ended");
});
addEventListener("pawl-views", () => frame());
let version = null;
on(type => {
	if (type !== "state") return;
	frame();
	if (live.state !== "live") return void (live.known = false);
	if (!live.known)
		know().then(
			() => ((version ??= me.version), frame()),
			() => {}
		);
	live.known = true;
});
set();
frame.now();
know().then(begin, begin);
