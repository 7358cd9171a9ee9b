// kit.mjs -- servers, a browser, and pages that are watched: every console error, page error and
// report of the content security policy counts against the test that had the page open.
import {AsyncLocalStorage} from "node:async_hooks";
import {spawn} from "node:child_process";
import fs from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";

export const build = path.resolve(process.argv[2]);
const require = createRequire(build + "/page/node_modules/x.js");
const {chromium} = require("playwright-core");
export const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const shots = path.resolve("build/screenshots");
export const work = fs.mkdtempSync(`${build}/page/data-`);
fs.mkdirSync(shots, {recursive: true});

export const sleep = ms => new Promise(ok => setTimeout(ok, ms));
export async function until(what, ask, ms = 20000) {
	for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) {
		const got = await ask().catch(() => null);
		if (got) return got;
	}
	throw new Error(`it did not come: ${what}`);
}

// ---- What holds
export const sum = {passed: 0, failed: 0};
/** Which test runs: several do at once. */
export const current = new AsyncLocalStorage();
export function ok(holds, what) {
	if (holds) sum.passed++;
	else {
		const test = current.getStore();
		sum.failed++;
		if (test) test.failed++;
		console.log(`  FAILED ${what}`);
	}
}

// ---- Servers
const running = new Set();
export class Server {
	constructor(name, ...flags) {
		Object.assign(this, {name, flags, data: `${work}/${name}`, port: 0});
	}
	async start(env = {}) {
		const modules = [
			...fs
				.readdirSync(`${build}/examples`)
				.filter(f => f.endsWith(".so"))
				.map(f => `${build}/examples/${f}`),
			`${build}/page/shop.so`
		];
		const file = `${work}/${this.name}.url`;
		fs.rmSync(file, {force: true});
		const log = fs.openSync(`${work}/${this.name}.log`, "a");
		this.process = spawn(
			`${build}/pawl`,
			[
				"serve",
				"--listen",
				`127.0.0.1:${this.port}`,
				"--data",
				this.data,
				"--url-file",
				file,
				...modules.flatMap(m => ["--load", m]),
				...this.flags
			],
			{env: {...process.env, ...env}, stdio: ["ignore", log, log]}
		);
		running.add(this);
		this.url = await until(`server ${this.name}`, async () => fs.readFileSync(file, "utf8").trim());
		this.port = +new URL(this.url).port; // the same one after a restart
		return this;
	}
	async stop(signal = "SIGTERM") {
		if (!running.delete(this)) return;
		const over = new Promise(done => this.process.once("exit", done));
		this.process.kill(signal);
		await over;
	}
	async call(method, where, body, headers = {}) {
		const answer = await fetch(this.url + where, {
			method,
			headers,
			body: body === undefined ? undefined : JSON.stringify(body)
		});
		const text = await answer.text();
		return {status: answer.status, json: text ? JSON.parse(text) : null};
	}
	get = where => this.call("GET", where);
	post = (where, body) => this.call("POST", where, body);
	begin = (orchestration, instance, input, more) =>
		this.post("/api/v1/instances", {orchestration, instance, input, ...more});
	raise = (instance, event, data = null) =>
		this.post(`/api/v1/instances/${encodeURIComponent(instance)}/events/${event}`, data);
}

// ---- Pages
const browser = await chromium.launch({
	executablePath: "/usr/bin/chromium",
	args: ["--no-sandbox", "--disable-gpu"]
});
/** Open a page; `but` are complaints of the browser that the test provokes, `answers` stand in for the server,
 * `hours` is how wrong its clock is. */
export async function open(
	server,
	route,
	{width = 1440, height = 900, dark = false, but = null, answers = {}, hours = 0} = {}
) {
	const context = await browser.newContext({
		viewport: {width, height},
		colorScheme: dark ? "dark" : "light",
		permissions: ["clipboard-read", "clipboard-write"]
	});
	const p = await context.newPage();
	p.bad = [];
	p.but = but;
	const note = text => (p.but?.test(text) ? null : p.bad.push(text.slice(0, 300)));
	p.on(
		"console",
		m => ["error", "warning"].includes(m.type()) && note(`${m.text()} ${m.location().url ?? ""}`)
	);
	p.on("pageerror", e => note(e.stack ?? e.message));
	p.on("dialog", d => (note("a dialog opened: " + d.message()), d.dismiss()));
	await p.addInitScript(() => {
		window.reports = [];
		addEventListener("securitypolicyviolation", e =>
			window.reports.push(`${e.violatedDirective} ${e.blockedURI}`)
		);
	});
	if (hours)
		await p.addInitScript(ms => {
			const real = Date.now;
			Date.now = () => real() + ms;
		}, hours * 3600e3);
	for (const [where, json] of Object.entries(answers))
		await p.route(`**${where}`, r => r.fulfill({json}));
	await p.goto(server.url + "/" + route);
	await p.waitForSelector("main h1");
	p.settled = () =>
		p.waitForFunction(() => !/Loading …/.test(document.querySelector("main").textContent));
	/** Another page of the same tab, as a link leads there. */
	p.visit = async where => {
		await p.goto(server.url + "/" + where);
		await p.evaluate(
			() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))
		);
		await p.waitForSelector("main h1");
		await p.settled();
	};
	p.key = async k => {
		await p.keyboard.press(k);
		await sleep(60);
	};
	p.shot = name => p.screenshot({path: `${shots}/${name}.png`});
	/** The end: nobody complained. */
	p.done = async what => {
		const reports = await p.evaluate(() => window.reports);
		ok(!reports.length, `${what}: the policy was broken: ${reports}`);
		ok(!p.bad.length, `${what}: the console says ${p.bad.join(" | ")}`);
		await context.close();
	};
	return p;
}
export async function close() {
	await browser.close();
	for (const s of [...running]) await s.stop("SIGKILL");
	if (!sum.failed) fs.rmSync(work, {recursive: true, force: true});
}
