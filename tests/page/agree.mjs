// SPDX-License-Identifier: MIT
// agree.mjs -- the page and the server draw the same timeline: steps, attempts, and what is cut.
//
//     tests/page/agree.mjs DIR     every NAME.history.json in DIR has a NAME.timeline.json
//
// The page computes it from events, because it draws runs that grow, the past of a run, and files
// without a server; GET …/timeline has it for everyone else.  Called by tests/http/test_timeline.py.
import {readdirSync, readFileSync} from "node:fs";

const web = new URL("../../src/web/", import.meta.url),
	source = name => readFileSync(new URL(name, web), "utf8"),
	module = text => import("data:text/javascript," + encodeURIComponent(text)),
	{Run, tries} = await module(source("history.js"));
globalThis.tries = tries;
const {Scale} = await module(source("scale.js").replace(/^import .*history\.js.*$/m, ""));

const dir = process.argv[2];
let passed = 0,
	failed = 0;
const same = (what, a, b, within = 0) => {
	const ok = typeof a === "number" && within ? Math.abs(a - b) <= within : a === b;
	if (!ok) throw new Error(`${what}: the page has ${a}, the server ${b}`);
};

function compare(history, told) {
	const run = new Run().add(history.events);
	run.waits(history.waiting_for);
	const bars = run.bars(),
		now = told.now;
	same("steps", bars.length, told.steps);
	const scale = new Scale(run, now, true);
	same("parts", scale.parts.length, told.axis.length);
	scale.parts.forEach((p, i) => {
		const of = told.axis[i];
		same("cut", !!p.cut, of.cut);
		same("from", p.a, of.from, 2);
		same("to", p.b, of.to, 2);
		same("at", p.u, of.at, 0.02);
		same("until", p.v, of.until, 0.02);
	});
	told.bars.forEach((b, i) => {
		const t = bars[i],
			open = t.state === "open" && run.finish;
		same("kind", t.kind, b.kind);
		same("name", t.kind === "timer" ? null : t.name, b.name);
		same("outcome", open ? "cancelled" : t.state === "moment" ? "done" : t.state, b.outcome);
		same("begin", t.at, b.scheduled_at);
		same("end", open ? run.finish.at : t.endAt, b.ended_at);
		const mine = tries(t, now),
			theirs = b.tries ?? [];
		same("tries", mine.length, theirs.length);
		mine.forEach((s, k) => {
			same("try", s.n, theirs[k].n);
			same("guess", !!s.guess, !!theirs[k].estimated);
			same("try from", s.from, theirs[k].from, 2);
			same("try to", s.to, theirs[k].to, 2);
		});
	});
}

for (const file of readdirSync(dir).filter(f => f.endsWith(".history.json"))) {
	const read = f => JSON.parse(readFileSync(`${dir}/${f}`, "utf8"));
	try {
		compare(read(file), read(file.replace("history", "timeline")));
		passed++;
	} catch (e) {
		failed++;
		console.log(`FAILED ${file}: ${e.message}`);
	}
}
console.log(`agree: ${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
