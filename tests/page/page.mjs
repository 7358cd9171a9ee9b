// page.mjs -- a person with a browser, in code.  tests/page/page runs it: page.mjs BUILD [WORD …]
import {execFileSync} from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import {axe, build, close, current, ok, open, Server, sleep, sum, until, work} from "./kit.mjs";
import {fill} from "./load.mjs";

const words = process.argv.slice(3);
const tests = {};
const shop = await new Server("shop").start();
// A crowd: 100,000 instances and a history of 50,000 events, made while other tests run.
const wants = name => !words.length || words.some(w => name.includes(w));
const crowd = wants("crowd") ? new Server("crowd") : null;
async function gather() {
	await crowd.start();
	await crowd.begin("ImportCatalog", "fifty-thousand", {rows: 25000, hold: true});
	await crowd.call("PUT", "/queue/crowd/config", {orchestration: "Approval"});
	const items = Array.from({length: 100}, () => ({
		item: {what: "tea", patience_ms: 1e9, people: ["ada"]}
	}));
	for (let i = 0; i < 1000; i += 4)
		await Promise.all(Array.from({length: 4}, () => crowd.post("/queue/crowd/push", {items})));
}
const gathered = crowd && gather();

// ---- The first minute, on a server that has nothing; then a server that dies
tests.first_minute = async () => {
	const server = await new Server("fresh").start(),
		began = Date.now();
	const p = await open(server, "#/");
	await p.waitForSelector("text=Nothing has been started yet");
	await p.shot("first-1-empty");
	await p.click("button:has-text('Start an order')");
	await p.waitForSelector("dialog >> text=Start an orchestration");
	await p.click("dialog button[type=submit]");
	await p.waitForFunction(() => document.querySelectorAll(".tl-row").length >= 2);
	await p.waitForSelector(".raise");
	const why = await p.textContent(".why-s");
	ok(/Waits for event FraudReview/.test(why), "the page says what it waits for: " + why);
	await p.shot("first-2-waits");
	await p.click(".raise button[type=submit]");
	await p.waitForSelector(".why-completed");
	ok(/Completed/.test(await p.textContent(".why-s")), "it completes in front of one's eyes");
	await p.shot("first-3-done");
	const took = (Date.now() - began) / 1000;
	console.log(`| from an empty page to a completed order: ${took.toFixed(1)} s`);
	ok(took < 60, "within the first minute");
	p.but = /ERR_|Failed to load|network error/i; // the browser's own remarks about a dead server
	await server.stop("SIGKILL");
	await p.waitForSelector(".banner[role=alert]");
	await p.shot("lost");
	await server.start();
	await p.waitForSelector(".conn-live");
	ok(!(await p.$(".banner")), "after kill -9 it is back by itself");
	await p.done("first minute");
	await server.stop();
};

// ---- The four examples of the queues' contract, with the mouse
tests.queue_tour = async () => {
	const p = await open(shop, "#/queues/tour?bench=1", {but: /status of (404|410|423)/});
	await p.waitForSelector(".tour");
	const codes = n =>
		p.$$eval(
			".wirelog b",
			(all, k) =>
				all
					.slice(0, k)
					.reverse()
					.map(x => +x.textContent)
					.join(),
			n
		);
	let steps = 0;
	const step = async (n = 1) => {
		for (; n; n--) {
			await p.click(".tour .b1");
			await p.waitForFunction(
				k => document.querySelectorAll(".wirelog b").length === Math.min(k, 12),
				++steps
			);
		}
	};
	await step(3);
	ok((await codes(3)) === "200,200,200", "acknowledge: " + (await codes(3)));
	await p.click("text=2 One lock");
	await step(4);
	ok((await codes(4)) === "200,200,423,200", "one lock: " + (await codes(4)));
	await p.click("text=3 Run out");
	await step(2);
	ok(/\d/.test(await p.textContent(".locks b")), "the lock counts down");
	await p.shot("queue-lock");
	await p.waitForSelector(".tour .b1:has-text('Go on')");
	await p.click(".tour .b1");
	await step(3);
	ok((await codes(5)) === "200,200,410,200,200", "run out: " + (await codes(5)));
	await p.click("text=4 No lock");
	await p.click(".tour .b1");
	await p.click(".tour .b1:has-text('Do it')");
	await p.waitForFunction(() =>
		/"count":1/.test(document.querySelector(".wirelog code")?.textContent)
	);
	ok((await codes(2)) === "200,200", "no lock: " + (await codes(2)));
	await p.shot("queue-bench");
	await p.done("queue tour");
};

// ---- Only the keyboard
tests.keyboard = async () => {
	const p = await open(shop, "#/"),
		focused = f => p.evaluate(f);
	await p.key("Control+k");
	await p.keyboard.type("payout-2026-11-10");
	await p.waitForSelector("[role=option] .mono");
	await p.shot("palette");
	await p.key("Enter");
	await p.waitForSelector("h1:has-text('payout-2026-11-10')");
	await p.waitForSelector(".tl-row");
	await p.key("ArrowLeft");
	ok(/at=\d+/.test(p.url()), "an arrow goes back one event: " + p.url());
	await p.key("Escape");
	ok(!/at=/.test(p.url()), "Esc goes back to now");
	await p.key("r");
	ok(await p.$("dialog[open]"), "r asks for an event");
	await p.key("Escape");
	ok(!(await p.$("dialog[open]")), "Esc closes the dialog");
	await p.key("g");
	await p.key("i");
	await p.waitForSelector(".vr");
	for (const k of ["j", "j", "x"]) await p.key(k);
	const under = await p.textContent(".vr.on .c-i"),
		read = p.waitForResponse(/api\/v1\/instances\?/);
	await p.key("."); // as a stream does that says `reset`: the list is read again
	await read;
	await p.settled();
	await sleep(100);
	ok(under === (await p.textContent(".vr.on .c-i")), "the same instance after another read");
	await p.key("Shift+ArrowDown");
	ok(/2 instances/.test(await p.textContent(".bulk b")), "x and Shift with an arrow select two");
	await p.key("Escape");
	await p.key("Enter");
	await p.waitForSelector(".tl-row");
	const first = await p.textContent("h1");
	await p.key("]");
	await p.waitForFunction(
		was => document.querySelector("h1").textContent !== was && document.querySelector(".tl-row"),
		first
	);
	await p.key("t");
	ok(
		await focused(() => document.activeElement.classList.contains("tl")),
		"t goes to the timeline"
	);
	await p.key("ArrowDown");
	ok(await p.$(".tl-row.on"), "an arrow picks a step");
	await p.key("y");
	const link = await p.evaluate(() => navigator.clipboard.readText());
	ok(link.includes("task="), "y copies a link to exactly this: " + link);
	await p.key("?");
	ok(await p.$("dialog >> text=Keys"), "? shows the keys");
	await p.key("Escape");
	await p.key("/");
	ok(await focused(() => document.activeElement.type === "search"), "/ goes to the search");
	await p.done("keyboard");
};

// ---- Every page: for everybody, in the light and in the dark, on every screen
const PAGES = {
	overview: "#/",
	instances: "#/instances",
	filtered: "#/instances?status=failed",
	nothing: "#/instances?q=no-such-thing",
	waiting: "#/instances/ord-48106",
	completed: "#/instances/ord-48101",
	blocked: "#/instances/tax-2026-q3-de",
	retrying: "#/instances/payout-2026-11-10",
	tree: "#/instances/rollout-eu",
	wide: "#/instances/video-keynote",
	moment: "#/instances/ord-48101?at=9",
	missing: "#/instances/no-such-instance",
	queues: "#/queues",
	queue: "#/queues/thumbnails",
	deadletters: "#/queues/payments-deadletter",
	schedules: "#/schedules",
	schedule: "#/schedules/nightly-report",
	workers: "#/workers",
	import: "#/import",
	compare: "#/compare?a=ord-48101&b=ord-48103",
	asks: "#/asks",
	asking: "#/instances/refund-7001",
	where: "#/instances?where=" + encodeURIComponent("tier=gold")
};
const serious = () =>
	axe
		.run(document, {
			runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
		})
		.then(r =>
			r.violations
				.filter(v => ["serious", "critical"].includes(v.impact))
				.map(
					v =>
						`${v.id}: ${v.nodes
							.slice(0, 2)
							.map(n => `${n.target} ${n.any[0]?.message ?? ""}`.slice(0, 160))
							.join("; ")}`
				)
		);
const sideways = () => {
	const main = document.querySelector("main"),
		out = [];
	if (document.documentElement.scrollWidth > innerWidth) out.push("the document");
	if (main.scrollWidth > main.clientWidth + 1)
		out.push(`main is ${main.scrollWidth} in ${main.clientWidth}`);
	if ([...document.querySelectorAll("main .list .vr")].some(r => r.scrollHeight > r.clientHeight + 1))
		out.push("a row of the list"); // than its place: rows lie over each other
	return out.join();
};
tests.every_page = async () => {
	const p = await open(shop, "#/", {but: /status of 40[04]/});
	for (const [name, route] of Object.entries(PAGES)) {
		await p.visit(route);
		await sleep(100);
		await p.shot("light-" + name);
		for (const [width, height] of [
			[768, 1024],
			[360, 740],
			[3840, 2160],
			[1440, 900]
		]) {
			await p.setViewportSize({width, height});
			await sleep(40);
			const over = await p.evaluate(sideways);
			ok(!over, `${name} at ${width}: ${over} is wider than the screen`);
			if (width === 360) await p.shot("phone-" + name);
		}
	}
	await p.done("every page");
};
const for_everybody = colorScheme => async () => {
	const p = await open(shop, "#/", {dark: colorScheme === "dark"});
	await p.evaluate(axe); // axe itself is no part of the page: what the console says of it does not count
	for (const [name, route] of Object.entries(PAGES)) {
		await p.visit(route);
		await sleep(100);
		const faults = await p.evaluate(serious);
		ok(!faults.length, `${name}, ${colorScheme}: ${faults.join("\n      ")}`);
		if (colorScheme === "dark") await p.shot("dark-" + name);
	}
	await p.context().close();
};
tests.for_everybody_light = for_everybody("light");
tests.for_everybody_dark = for_everybody("dark");

// ---- Text is text
const EVIL = [
	"<img src=x onerror=alert(1)>",
	'"><svg/onload=alert(2)>',
	"javascript:alert(3)",
	"${alert(4)}",
	"</script><script>alert(5)</script>",
	"\u202eevil",
	"it's $(touch pwned) `id`",
	"a".repeat(230)
];
tests.hostile_text = async () => {
	for (const e of EVIL) {
		await shop.begin("Approval", "x-" + e, {what: e, people: [e], [e]: e});
		await shop.post("/queue/xss/push", {item: {[e]: e}, headers: {e}});
		const ask = {title: e, text: e, choices: [e, "no"]};
		await shop.begin("Refund", "y-" + e, {cents: 1, ask}, {attributes: {evil: e}});
	}
	await shop.raise("x-" + EVIL[0], encodeURIComponent(EVIL[0]), EVIL[0]);
	await shop.post(`/api/v1/instances/${encodeURIComponent("x-" + EVIL[1])}/suspend`, {
		reason: EVIL[1]
	});
	await shop.post("/queue/" + encodeURIComponent("q" + EVIL[2]) + "/push", {item: EVIL});
	for (const e of EVIL.slice(0, 7))
		await shop.call("PUT", "/api/v1/schedules/" + encodeURIComponent("s-" + e), {
			cron: ["0 0 1 1 *"],
			orchestration: "Approval",
			input: {[e]: e},
			paused: true
		});
	for (const e of EVIL.slice(0, 7))
		await shop.call("PUT", "/api/v1/limits/" + encodeURIComponent("l-" + e), {
			match: [{activity: e}],
			concurrency: 1
		});
	const one = EVIL.flatMap(e => ["x-", "y-"].map(k => "#/instances/" + encodeURIComponent(k + e)));
	const all = [
		"#/asks",
		...EVIL.slice(0, 3).map(e => "#/instances?where=" + encodeURIComponent(`evil=${JSON.stringify(e)}`)),
		"#/",
		"#/instances?q=x-",
		"#/instances?q=" + encodeURIComponent(EVIL[0]),
		"#/queues",
		"#/queues/xss",
		"#/queues/" + encodeURIComponent(EVIL[0]),
		"#/instances?waiting=event:" + encodeURIComponent(EVIL[0]),
		"#/schedules",
		"#/schedules/" + encodeURIComponent("s-" + EVIL[0]),
		"#/workers",
		"#/compare?a=" + encodeURIComponent("x-" + EVIL[0]),
		"#/" + EVIL[0]
	];
	const p = await open(shop, "#/", {but: /status of 40[04]/});
	for (const route of [...one, ...all]) {
		await p.visit(route);
		await sleep(60);
		ok(
			!(await p.$("main img, main script, main iframe, #layers img")),
			`no markup from ${route.slice(0, 60)}`
		);
	}
	await p.done("hostile text");
};

// ---- What people are asked for, what instances are found by, and updates
tests.people = async () => {
	const status = async id => (await shop.get(`/api/v1/instances/${id}`)).json,
		ask = {title: "Lend the ladder?", text: "Until Friday.", choices: ["yes", "no"]};
	await shop.begin(
		"Refund",
		"ladder-1",
		{cents: 500, ask},
		{attributes: {shelf: "top", weight: 12}}
	);
	await shop.begin("Refund", "ladder-2", {cents: 1, ask: {title: "How many rungs?"}});
	const p = await open(shop, "#/asks", {but: /status of (400|409)/});
	const row = name => `.waits li:has-text("${name}")`;
	await p.waitForSelector(row("ladder-1"));
	ok(/Until Friday/.test(await p.textContent(row("ladder-1"))), "the list says what is asked");
	await p.fill(row("ladder-2") + " input", "no JSON");
	await p.waitForSelector(row("ladder-2") + " button[type=submit]:disabled"); // it is not sent
	await p.fill(row("ladder-2") + " input", '"nine"');
	await p.press(row("ladder-2") + " input", "Enter");
	await p.waitForSelector(row("ladder-2"), {state: "detached"});
	ok((await status("ladder-2")).output.said === "nine", "an answer by keyboard arrives");

	// The same question on the page of the instance; a correction first
	await p.visit("#/instances/ladder-1");
	await p.waitForSelector(".why-s:has-text('Lend the ladder?')");
	const update = row("amount");
	await p.fill(update + " input", "-5");
	await p.click(update + " button[type=submit]");
	await p.waitForSelector(".toast-bad:has-text('more than nothing')");
	await p.fill(update + " input", "750");
	await p.click(update + " button[type=submit]");
	await p.waitForSelector(".toast:has-text('750')");
	await p.waitForSelector(".insp dd:has-text('750')");
	ok(true, "an update is sent, its answer is shown, and so is the state that it changed");

	// Attributes: changed here, found in the list
	await p.click(".insp button:has-text('change')");
	await p.fill("dialog textarea", '{"shelf":"top","weight":1.5}');
	await p.click("dialog button[type=submit]");
	await p.waitForSelector("dialog [role=alert]");
	ok(true, "a value that is no attribute is refused in the dialog, and what was typed stays");
	await p.fill("dialog textarea", '{"shelf":"low","colour":"red"}');
	await p.waitForFunction(() =>
		/pawl attr ladder-1 .*weight=null/.test(document.querySelector("dialog .cmds").textContent)
	);
	await p.click("dialog button[type=submit]");
	await p.waitForSelector(".insp a:has-text('low')");
	const attributes = (await status("ladder-1")).attributes;
	ok(
		JSON.stringify(Object.entries(attributes).sort()) === '[["colour","red"],["shelf","low"]]',
		"they are as typed: " + JSON.stringify(attributes)
	);
	await p.click(".insp a:has-text('low')");
	await p.waitForSelector(".ftag:has-text('shelf=')");
	await p.waitForFunction(() => document.querySelectorAll(".vr").length === 1);
	ok(
		(await p.$$eval("#attrs option", all => all.map(o => o.value))).includes("colour="),
		"names of attributes are offered"
	);
	await p.fill(".where input", "colour!=red");
	await p.press(".where input", "Enter");
	await p.waitForSelector("text=No instance matches");
	ok((p.url().match(/where=/g) ?? []).length === 2, "two conditions are in the address");
	await p.click("[aria-label='Remove filter colour!=red']");
	await p.waitForFunction(() => document.querySelectorAll(".vr").length === 1);
	await p.fill(".where input", "colour~red");
	await p.press(".where input", "Enter");
	await p.waitForSelector(".empty.bad");
	ok(true, "a condition that is none is refused in a sentence: " + (await p.textContent(".empty")));

	// One of the choices
	await p.visit("#/instances/ladder-1");
	await p.click(row("Lend the ladder") + " button:has-text('yes')");
	await p.waitForSelector(".why-completed");
	const {output} = await status("ladder-1");
	ok(output.said === "yes" && output.cents === 750, "answered: " + JSON.stringify(output));
	await p.done("people");
};

// ---- Limits: stored, refused, changed while somebody else changes them, removed
tests.limits = async () => {
	const p = await open(shop, "#/workers", {but: /status of (400|412)/}),
		where = "/api/v1/limits/brushes",
		submit = () => p.click("dialog button[type=submit]"),
		spec = o => p.fill("dialog textarea", JSON.stringify(o));
	const one = {match: [{activity: "Paint"}], concurrency: 2};
	await p.click("button:has-text('New…')");
	await p.fill("dialog input", "brushes");
	await spec({...one, concurrency: -1});
	await submit();
	await p.waitForSelector("dialog [role=alert]");
	ok((await shop.get(where)).status === 404, "a limit that is none is refused, and not stored");
	await spec({...one, by: "key", rate: {count: 9, per_ms: 60000}});
	await submit();
	await p.waitForSelector("tr:has-text('brushes')");
	const row = await p.textContent("tr:has-text('brushes')");
	ok(/2 at a time, 9 in 1m 00s for each key/.test(row), "the list says what it says: " + row);
	await p.click("button:has-text('brushes')");
	await shop.call("PUT", where, {...one, concurrency: 3});
	await spec({...one, concurrency: 4});
	await submit();
	await p.waitForSelector("dialog [role=alert]:has-text('412')");
	ok(
		(await shop.get(where)).json.spec.concurrency === 3,
		"what somebody else stored meanwhile is not overwritten"
	);
	await p.key("Escape");
	await shop.call("PUT", where, {...one, concurrency: 1});
	for (const id of ["paint-1", "paint-2"])
		await shop.post("/api/v1/jobs", {activity: "Paint", instance: id});
	const {json} = await shop.post("/api/v1/work/poll", {activities: ["Paint"], wait_ms: 5000});
	ok(json.items.length === 1, "one at a time");
	const last = ["paint-1", "paint-2"].find(id => id !== json.items[0].instance);
	await p.visit("#/instances/" + last);
	await p.waitForSelector(".why-s:has-text('waits for limit brushes')");
	ok(!/start a worker/.test(await p.textContent(".why")), "and no worker is missing");
	await p.visit("#/workers");
	await p.click("[aria-label='Remove limit brushes']");
	await submit();
	await p.waitForSelector("tr:has-text('brushes')", {state: "detached"});
	ok((await shop.get(where)).status === 404, "and removed");
	await p.done("limits");
};

// ---- No network for a while: said plainly, nothing lost, nothing twice
tests.offline = async () => {
	await shop.begin("Approval", "offline-1", {what: "tea", patience_ms: 1e9, people: ["ada"]});
	const p = await open(shop, "#/instances/offline-1", {but: /ERR_|Failed to load|network error/i}),
		context = p.context();
	await p.waitForSelector(".raise");
	await p.waitForSelector(".conn-live");
	const draft = '{"approved":true,"by":"grace"}';
	await p.fill(".raise input", draft);
	await context.setOffline(true);
	await p.click(".raise button[type=submit]");
	await p.waitForSelector(".toast-bad:has-text('does not answer')");
	ok((await p.inputValue(".raise input")) === draft, "what was typed stays");
	ok(await p.$(".why-running"), "what was read stays in sight");
	await p.visit("#/queues");
	await p.waitForSelector("text=The server does not answer.");
	await p.shot("offline");
	await p.visit("#/instances/offline-1");
	await p.waitForSelector(".empty.bad");
	await shop.raise("offline-1", "Note", {while: "away"});
	await context.setOffline(false);
	await p.waitForSelector(".conn-live");
	await p.waitForSelector(".raise");
	ok(!(await p.$(".banner, .empty.bad")), "it is back by itself, with what it shows");
	const {json} = await shop.get("/api/v1/instances/offline-1/history");
	ok(
		!json.events.some(e => e.kind === "ExternalEvent"),
		"what could not be sent is not sent behind one's back"
	);
	await p.fill(".raise input", draft);
	await p.click(".raise button[type=submit]");
	await p.waitForSelector(".why-completed");
	const after = (await shop.get("/api/v1/instances/offline-1/history")).json.events;
	ok(after.filter(e => e.kind === "ExternalEvent").length === 1, "and then once");
	await p.done("offline");
};

// ---- What is copied into a shell is one argument, whatever it holds
tests.shell = async () => {
	const {quote} = await import(path.resolve("src/web/fmt.js"));
	for (const e of [
		...EVIL,
		"a b",
		"it's",
		"`id`",
		"; rm -rf x",
		'"q"',
		"a\nb",
		"-rf",
		"\\",
		"*",
		"~",
		"",
		"é李"
	])
		ok(
			execFileSync("sh", ["-c", `printf %s ${quote(e)}`], {encoding: "utf8"}) === e,
			"a shell reads back " + JSON.stringify(e)
		);
};

// ---- Files: a run is exported, replayed, and shown without a server's help
tests.files = async () => {
	const p = await open(shop, "#/instances/o-1001"),
		file = `${work}/run.json`;
	await p.waitForSelector(".tl-row");
	await p.click("button[aria-label='All actions']");
	const [download] = await Promise.all([
		p.waitForEvent("download"),
		p.click("text=Export as a file")
	]);
	await download.saveAs(file);
	const said = execFileSync(
		`${build}/pawl`,
		["replay", file, "--load", `${build}/examples/order.so`],
		{encoding: "utf8", stdio: ["ignore", "pipe", "pipe"]}
	);
	ok(/o-1001|event/i.test(said), "pawl replay reads the export: " + said.slice(0, 100));
	await p.goto(shop.url + "/#/import");
	await p.setInputFiles("input[type=file]", file);
	await p.waitForSelector(".tl-row");
	ok(!(await p.$(".ph-act")), "an imported run offers no action");
	await p.done("files");
	const q = await open(shop, "#/compare?a=ord-48101&b=ord-48103");
	await q.waitForSelector(".why-s");
	ok(/step/.test(await q.textContent(".why-s")), "two runs are compared in a sentence");
	await q.done("compare");
};

// ---- Many at once, with a reason
tests.many_at_once = async () => {
	for (let i = 0; i < 5; i++)
		await shop.begin("Approval", `bulk-${i}`, {what: "tea", patience_ms: 1e9, people: ["ada"]});
	const p = await open(shop, "#/instances?prefix=bulk-");
	await p.waitForFunction(() => document.querySelectorAll(".vr").length === 5);
	await p.click(".vh-row input");
	await p.click(".bulk >> text=Cancel…");
	await p.fill("dialog input", "no more tea");
	ok(/5 instances/.test(await p.textContent("dialog h2")), "the dialog says how many");
	await p.shot("bulk-cancel");
	await p.click("dialog button[type=submit]");
	await p.waitForSelector(".toast");
	const list = await until("all are cancelled", async () => {
		const {json} = await shop.get("/api/v1/instances?prefix=bulk-");
		return json.instances.every(i => i.status === "cancelled") && json.instances;
	});
	ok(list.length === 5, "five were cancelled");
	const {json} = await shop.get("/api/v1/instances/bulk-0/history");
	ok(JSON.stringify(json.events).includes("no more tea"), "the reason is in the history");
	await p.done("bulk");
};

// ---- Long histories: only what is in sight exists
tests.long_history = async () => {
	await until(
		"the import is long",
		async () =>
			(await shop.get("/api/v1/instances/import-2026-11-17")).json.waiting_for.some(
				w => w.kind === "event"
			),
		30000
	);
	const p = await open(shop, "#/instances/import-2026-11-17");
	await p.waitForFunction(() =>
		/event 5,0\d\d/.test(document.querySelector(".seek")?.textContent ?? "")
	);
	await p.evaluate(() => (document.querySelector(".evs").scrollTop = 40000));
	await sleep(200);
	ok(
		(await p.$$eval(".evs .vr", all => all.length)) < 60,
		"of 5,000 events only those in sight exist"
	);
	await p.shot("light-long");
	await p.done("long history");
	const slow = await open(shop, "#/workers");
	let first = true;
	await slow.route(/history\?.*after=[1-9]/, async r => {
		if (first) await sleep(3000);
		first = false;
		await r.continue();
	});
	await slow.visit("#/instances/import-2026-11-17");
	await slow.waitForFunction(() => /reading the history/.test(document.body.textContent));
	await slow.waitForFunction(
		() => /×2,[0-9]{3}/.test(document.querySelector(".tl-sub")?.textContent ?? ""),
		null,
		{timeout: 2900}
	);
	ok(true, "all steps of a long history are drawn before it is read");
	await slow.shot("light-long-reading");
	await slow.waitForFunction(() => document.querySelector(".tl-bar .seg"), null, {timeout: 20000});
	ok(
		!/reading the history/.test(await slow.textContent("main")),
		"and its own steps when it is read"
	);
	await slow.done("long history, slowly");
};

// ---- The modules are one script: what one exports must not hide a name of the browser from another
tests.names = async () => {
	const p = await open(shop, "#/"),
		names = fs
			.readdirSync("src/web")
			.filter(f => f.endsWith(".js"))
			.flatMap(f => [
				...fs
					.readFileSync("src/web/" + f, "utf8")
					.matchAll(/^export (?:async )?(?:const|let|function|class) (\w+)/gm)
			])
			.map(m => m[1]),
		hidden = await p.evaluate(all => all.filter(n => n in window), names);
	ok(names.length > 100 && !hidden.length, "exports hide names of the browser: " + hidden);
	await p.done("names");
};

// ---- Awkward data: large, not JSON, digits that JavaScript would change; a wrong clock; a wide screen
tests.awkward = async () => {
	await shop.begin("Approval", "large", {
		what: "x".repeat(2 * 1024 * 1024 - 100) /* with the rest just what is accepted */,
		patience_ms: 1e9,
		people: ["ada"]
	});
	const body =
		'{"orchestration":"Approval","instance":"digits","input":{"what":"tea","patience_ms":1000000000,"people":["ada"],"n":123456789012345678901}}';
	await fetch(shop.url + "/api/v1/instances", {method: "POST", body});
	const p = await open(shop, "#/instances/large");
	await p.waitForSelector(".payload");
	ok(
		(await p.$eval(".payload pre", e => e.textContent.length)) < 7000,
		"of 2 MB the page shows the beginning"
	);
	ok(await p.$("text=download"), "and offers the rest as a file");
	await p.visit("#/instances/digits");
	await p.click("text=raw");
	await p.waitForSelector(".evs");
	ok(
		/123456789012345678901/.test(await p.textContent(".evs")),
		"digits stay as they are: " + (await p.textContent(".evs"))
	);
	await p.setViewportSize({width: 3840, height: 2160});
	await sleep(200);
	ok(!(await p.evaluate(sideways)), "nothing scrolls sideways on a wide screen");
	await p.shot("wide-screen");
	await p.done("awkward data");
	const q = await open(shop, "#/instances/digits", {hours: -3});
	await q.waitForSelector(".why-s");
	await until(
		"the clock of the server",
		async () => !/[12]h|due/.test(await q.textContent(".meta"))
	);
	ok(
		/started (just now|\d+ s ago)/.test(await q.textContent(".meta")),
		"a browser three hours late shows the server's time: " + (await q.textContent(".meta"))
	);
	await q.done("a wrong clock");
};

// ---- A server that tells more, and one that tells less: the page shows what there is
tests.what_a_server_tells = async () => {
	const seconds = n => Array.from({length: 60}, (_, i) => (i % 7) * n);
	const answers = {
		"/api/v1/overview*": {
			now: Date.now(),
			exact: true,
			current: true,
			waits: {looked: null, events: [], activities: [], problems: []},
			queues: [{name: "told", ready: 2, locked: 0, paused: true, oldest_age_seconds: 5}],
			node: {},
			counts: {running: 1234567, completed: 42},
			orchestrations: [{name: "Checkout", counts: {running: 7}, p50_ms: 12, p95_ms: 345}],
			problems: [
				{kind: "failed", count: 3, orchestration: "Checkout", detail: "no", since: Date.now()}
			],
			series: {
				starts: seconds(2),
				ended: seconds(2),
				failed: seconds(0),
				turns: seconds(9),
				activities: seconds(4),
				retried: seconds(1),
				commits: seconds(3),
				commit_us: seconds(900)
			}
		}
	};
	const p = await open(shop, "#/", {answers});
	await p.waitForSelector("text=1,234,567");
	await p.waitForSelector(".charts .chart");
	ok(
		(await p.$$(".chart")).length === 3,
		"a chart for each figure that is told, and none for others"
	);
	ok(/3 Checkout failed/.test(await p.textContent(".needs")), "problems are those of the server");
	ok(/told is paused/.test(await p.textContent(".needs")), "and those of its queues");
	await p.shot("told");
	await p.visit("#/instances?status=running,failed&sort=updated");
	ok(await p.$(".vr"), "a list that the server does not know is sifted here");
	await p.done("a server that tells more");
};

// ---- A token: asked for once, kept where no script can read it, and over when it is revoked
const pawl = (...args) =>
	execFileSync(`${build}/pawl`, args, {encoding: "utf8"}).trim().split("\n").at(-1).trim();
tests.token = async () => {
	const server = new Server("guarded", "--require-token");
	fs.mkdirSync(server.data, {recursive: true});
	const make = (...flags) => pawl("token", "new", "--data", server.data, ...flags),
		admin = make("--scope", "admin"),
		read = make("--scope", "read"),
		queues = make("--scope", "operate", "--queues", "mail-");
	await server.start();
	const head = {authorization: `Bearer ${admin}`},
		post = (where, body) => server.call("POST", where, body, head),
		but = /status of (401|404)|ERR_/;
	await post("/api/v1/instances", {
		orchestration: "ProcessOrder",
		instance: "o-1",
		input: {id: "o-1"}
	});
	for (const q of ["mail-1", "other"]) await post(`/queue/${q}/push`, {item: 1});

	const p = await open(server, "#/", {but});
	const sign = async token => {
		await p.fill("dialog input[type=password]", token);
		await p.click("dialog button[type=submit]");
	};
	await p.waitForSelector("dialog input[type=password]");
	await p.shot("token");
	await sign(admin + "x");
	await p.waitForSelector("dialog [role=alert]");
	ok(
		/not valid/.test(await p.textContent("dialog [role=alert]")),
		"a wrong token is refused in the dialog"
	);
	await sign(admin);
	await p.waitForSelector(".conn-live");
	ok(!(await p.$("dialog[open]")), "the token was asked for once");
	ok(await p.$("button:has-text('Start…')"), "who may start sees the button");
	const kept = await p.evaluate(() =>
		JSON.stringify([document.cookie, {...sessionStorage}, {...localStorage}])
	);
	ok(!/pawl_/.test(kept), "no script can read the token: " + kept);
	const [cookie] = await p.context().cookies();
	ok(cookie.httpOnly && cookie.sameSite === "Strict", "the cookie is for the page alone");
	await p.reload();
	await p.waitForSelector(".conn-live");
	ok(!(await p.$("dialog[open]")), "it is not asked for again");
	await p.visit("#/instances/o-1");
	await p.waitForSelector(".raise");

	// It ends meanwhile: a calm question, nothing lost
	pawl("token", "revoke", admin.split("_")[1], "--data", server.data);
	await p.waitForSelector("dialog >> text=The sign-in has ended");
	await p.shot("token-ended");
	await sign(read);
	await p.waitForSelector(".conn-live");
	await p.waitForSelector(".tl-row");
	ok(
		!(await p.$(".raise, button:has-text('Suspend…')")),
		"who may only look is offered nothing else"
	);
	await p.visit("#/queues/mail-1");
	ok(!(await p.$("button:has-text('Push…'), .tour, .ib[title^=Revoke]")), "on a queue neither");

	// A token for some queues
	await p.click("button[aria-label=Settings]");
	await p.click("text=Sign out");
	await p.waitForSelector("dialog input[type=password]");
	await sign(queues);
	await p.waitForSelector("text=mail-1");
	await p.waitForSelector(".conn-live");
	ok(!/other/.test(await p.textContent("main")), "a token for queues shows its queues alone");
	ok((await p.$$(".rail .nav:first-of-type li")).length === 1, "and no page that it may not see");
	await p.shot("token-queues");
	await p.done("token");
	await server.stop();
};

// ---- Schedules: put with a preview, run, paused, resumed, filled back, removed
tests.schedules = async () => {
	const p = await open(shop, "#/schedules", {but: /status of 400/}),
		submit = () => p.click("dialog button[type=submit]"),
		one = async () => (await shop.get("/api/v1/schedules/tea")).json,
		act = async (name, ...rest) => {
			await p.click(`.ph-act >> text=${name}`);
			for (const f of rest) await f();
			await submit();
			await p.waitForSelector("dialog", {state: "detached"});
		};
	await p.click("button:has-text('New…')");
	await p.fill("dialog input >> nth=0", "tea");
	await p.fill("dialog input >> nth=1", "Europe/Berlin");
	await p.fill("dialog textarea >> nth=0", "30 2 * * 8");
	await p.waitForSelector(".next .warn");
	ok(
		await p.isDisabled("dialog button[type=submit]"),
		"what is no schedule cannot be stored: " + (await p.textContent(".next .warn"))
	);
	await p.fill("dialog textarea >> nth=0", "30 14 * * *");
	await p.waitForSelector(".next dd");
	const next = await p.textContent(".next");
	ok(
		/ 1[23]:30Z/.test(next) && / 14:30 \+0[12]:00/.test(next),
		"the preview has both zones: " + next
	);
	await p.fill("dialog input[list=orch]", "Approval");
	await p.fill(
		"dialog textarea >> nth=1",
		'{"what":"tea","patience_ms":1000000000,"people":["ada"]}'
	);
	await p.fill("dialog input.mono[placeholder^='{']", '{"overlap":"allow"}');
	await p.shot("schedule-new");
	await submit();
	await p.waitForSelector("h1:has-text('tea')");
	await p.waitForSelector("text=When it is due");
	let s = await one();
	ok(
		s.spec.zone === "Europe/Berlin" && s.spec.overlap === "allow" && s.spec.input.what === "tea",
		"it is stored as typed: " + JSON.stringify(s.spec)
	);
	await act("Pause…", () => p.fill("dialog input", "tea is over"));
	await p.waitForSelector(".st-suspended");
	s = await one();
	ok(s.paused && s.reason === "tea is over", "it is paused, with its reason");
	await act("Resume…");
	await p.waitForSelector(".st-running");
	await act("Change…", () => p.fill("dialog textarea >> nth=0", "30 15 * * *"));
	await p.waitForSelector("td:has-text(' 15:30 ')");
	ok((await one()).revision === 2, "it was changed");
	await act("Backfill…");
	await until(
		"the occurrence of yesterday ran",
		async () => (await shop.get("/api/v1/instances?prefix=tea@2")).json.instances.length === 1
	);
	await p.click(".ph-act >> text=Run now…");
	await submit();
	await p.waitForSelector("h1:has-text('tea@manual')");
	await p.visit("#/schedules");
	await p.waitForSelector("tr:has-text('tea') .ib");
	await p.click("tr:has-text('tea') .ib");
	await p.click("[role=menuitem]:has-text('Remove…')");
	await p.fill("dialog input", "tea");
	await submit();
	await p.waitForSelector("tr:has-text('tea')", {state: "detached"});
	ok((await shop.get("/api/v1/schedules/tea")).status === 404, "and removed");
	await p.done("schedules");
};

// ---- The server is another version meanwhile
tests.another_version = async () => {
	let version = "9.9.9";
	const p = await open(shop, "#/", {but: /ERR_|Failed to load/});
	await p.waitForSelector(".conn-live");
	await p.route("**/session", async r => {
		const answer = await r.fetch();
		await r.fulfill({json: {...(await answer.json()), version}});
	});
	await p.click(".conn");
	await p.click(".banner button:has-text('Resume')");
	await p.waitForSelector("text=The server is now pawl 9.9.9");
	await p.shot("another-version");
	await p.done("another version");
};

// ---- Every character that an id may have; bytes that are no text
tests.odd_names = async () => {
	const ascii = Array.from({length: 95}, (_, i) => String.fromCharCode(32 + i)).join("");
	for (const id of [ascii, "a/b?c=d&e#f", "%2F%00", "李-é-🐘-\u200d", "x".repeat(512), ".", ".."]) {
		await shop.begin("Approval", id, {what: "tea", patience_ms: 1e9, people: ["ada"]});
		const p = await open(shop, "#/instances/" + encodeURIComponent(id));
		await p.waitForSelector(".raise");
		ok((await p.textContent("h1")).includes(id), "the page shows the id " + id.slice(0, 30));
		await p.click(".raise button[type=submit]");
		await p.waitForSelector(".why-completed");
		await p.visit("#/instances?q=" + encodeURIComponent(id.slice(0, 60)));
		ok((await p.$$(".vr")).length >= 1, "and the search finds it: " + id.slice(0, 30));
		await p.done("id " + id.slice(0, 30));
	}
	await shop.begin("Bytes", "bytes", null);
	const p = await open(shop, "#/instances/bytes");
	await p.waitForSelector(".why-completed");
	ok(/base64/.test(await p.textContent(".insp")), "bytes that are no text are shown as base64");
	await p.done("bytes");
};

// ---- 100,000 instances, and 50,000 events in one of them
tests.crowd = async () => {
	await gathered;
	await until(
		"all are started",
		async () => (await crowd.get("/queue/crowd")).json.ready === 0,
		120000
	);
	const p = await open(crowd, "#/instances");
	await p.waitForSelector(".vr");
	await until(
		"all are loaded",
		() =>
			p.evaluate(() => {
				const el = document.querySelector(".vl");
				el.scrollTop = el.scrollHeight;
				return /10\d,\d\d\d loaded, that is all/.test(document.querySelector(".lfoot").textContent);
			}),
		180000
	);
	// The time of the page's own thread: wall time on shared cores lies.
	const cdp = await p.context().newCDPSession(p);
	await cdp.send("Performance.enable", {timeDomain: "threadTicks"});
	const busy = async () =>
		(await cdp.send("Performance.getMetrics")).metrics.find(m => m.name === "TaskDuration").value *
		1000;
	const before = await busy(),
		PAGES = 60;
	const wall = await p.evaluate(async n => {
		const el = document.querySelector(".vl"),
			frame = () => new Promise(ok => requestAnimationFrame(ok)),
			took = [];
		for (let i = 0; i < n; i++) {
			const from = performance.now();
			el.scrollTop = i % 2 ? i * el.clientHeight : el.scrollHeight - i * 40000;
			await frame();
			await frame();
			took.push(performance.now() - from);
		}
		return took.sort((a, b) => a - b)[n / 2];
	}, PAGES);
	const each = ((await busy()) - before) / PAGES,
		rows = await p.$$eval(".vr", all => all.length);
	console.log(
		`| 100,000 instances: a page costs ${each.toFixed(1)} ms of the page's thread, ${wall.toFixed(0)} ms by the clock (median); ${rows} rows exist`
	);
	ok(each < 100, `a page of 100,000 costs ${each} ms`);
	ok(rows < 80, "of 100,000 only those in sight exist");
	await p.shot("light-crowd");
	await p.fill("main input[type=search]", "fifty");
	await p.waitForFunction(() => document.querySelectorAll(".vr").length === 1, null, {
		timeout: 20000
	});
	ok(true, "one of 100,000 is found as one types");
	await until(
		"50,000 events",
		async () => (await crowd.get("/api/v1/instances/fifty-thousand")).json.events >= 50000,
		60000
	);
	const began = Date.now();
	await p.visit("#/instances/fifty-thousand");
	await p.waitForFunction(
		() => /event 50,0\d\d/.test(document.querySelector(".seek")?.textContent ?? ""),
		null,
		{timeout: 60000}
	);
	console.log(`| 50,000 events are shown after ${Date.now() - began} ms`);
	await p.evaluate(() => (document.querySelector(".evs").scrollTop = 400000));
	await sleep(300);
	ok(
		(await p.$$eval(".evs .vr", all => all.length)) < 60,
		"of 50,000 events only those in sight exist"
	);
	const at = performance.now();
	await crowd.get("/api/v1/instances/fifty-thousand?with=why");
	console.log(`| and a look at it takes ${(performance.now() - at).toFixed(1)} ms`);
	await p.shot("light-fifty-thousand");
	await p.done("crowd");
	await crowd.stop();
};

// ---- A view of one's own
tests.own_view = async () => {
	const p = await open(shop, "#/instances?status=failed,blocked");
	await p.waitForSelector(".vr");
	ok(!(await p.$(".vr .st-running, .vr .st-completed")), "two states at once");
	await p.click("text=Save view…");
	await p.fill("dialog input", "Trouble");
	await p.click("dialog button[type=submit]");
	await p.visit("#/");
	await p.waitForSelector(".chart:has-text('Wait for a worker')");
	ok((await p.$$(".chart")).length === 4, "rates, waits and commits of the last five minutes");
	await p.click(".views >> text=Trouble");
	await p.waitForSelector(".vr");
	ok(/status=failed%2Cblocked/.test(p.url()), "a saved view leads back: " + p.url());
	await p.click("button[aria-label='Remove view Trouble']");
	await p.waitForFunction(() => !/Trouble/.test(document.querySelector(".views").textContent));
	ok(true, "and can be removed");
	await p.visit("#/instances/ord-48106");
	await p.waitForSelector(".insp >> text=parcel");
	ok(
		/"stage":"packing"/.test(await p.textContent(".insp")),
		"an instance shows what its code has published"
	);
	await p.visit("#/instances/heart");
	await p.waitForSelector("text=Executions");
	await p.click("text=show them");
	await p.waitForSelector(".then .st-continued_as_new");
	await p.shot("light-executions");
	await p.done("own view");
};

// ---- All of them, a few at a time: most of a test is waiting.  Those with a server of their own
// begin while the shop is filled; its server is stopped and started by that.
const OWN = ["first_minute", "token", "shell"],
	LATE = 6, // behind the crowd, which is long, and must be gathered first
	rank = name => (OWN.includes(name) ? 0 : name === "crowd" ? 2 : 1),
	sorted = Object.keys(tests)
		.filter(wants)
		.sort((a, b) => rank(a) - rank(b)),
	todo = crowd ? sorted.toSpliced(-1).toSpliced(-LATE, 0, "crowd") : sorted,
	filled = todo.some(name => rank(name) === 1) ? fill(shop) : null;
async function lane() {
	for (let name; (name = todo.shift()); ) {
		if (rank(name) === 1) await filled;
		const began = Date.now(),
			test = {failed: 0};
		await current.run(test, () =>
			tests[name]().catch(e =>
				ok(false, `${name}: ${e.message.split("\n").slice(0, 4).join(" / ")}`)
			)
		);
		console.log(
			`| ${name}: ${test.failed ? "FAILED" : "ok"}, ${((Date.now() - began) / 1000).toFixed(1)} s`
		);
	}
}
await Promise.all([lane(), lane(), lane()]);
await close();
console.log(`page: ${sum.passed} passed, ${sum.failed} failed`);
process.exit(sum.failed ? 1 : 0);
