// SPDX-License-Identifier: MIT
// agree.mjs -- the page and the server see the same steps, and the page's axis is the server's.
//
//     tests/page/agree.mjs DIR     every NAME.history.json in DIR has a NAME.timeline.json
//
// The page makes steps of events, for its list of events and for the past of a run; bars, attempts and
// what is cut come from GET …/timeline.  Called by tests/http/test_timeline.py.
import {readdirSync, readFileSync} from "node:fs";

const web = new URL("../../src/web/", import.meta.url),
	source = name => readFileSync(new URL(name, web), "utf8"),
	module = text => import("data:text/javascript," + encodeURIComponent(text)),
	{Run} = await module(source("history.js")),
	{Scale} = await module(source("scale.js"));

const dir = process.argv[2];
let passed = 0,
	failed = 0;
const same = (what, a, b, within = 0) => {
	const ok = typeof a === "number" && within ? Math.abs(a - b) <= within : a === b;
	if (!ok) throw new Error(`${what}: the page has ${a}, the server ${b}`);
};

/** The axis as told; and later, when the run went on: nothing moves but the end. */
function axis(told) {
	const at = new Scale(told, told.to, true);
	told.axis.forEach((p, i) => {
		same("from", at.parts[i].a, p.from);
		same("until", at.parts[i].v, p.until);
	});
	for (const late of [0, 900, 5000, 3600e3]) {
		const now = told.to + late,
			scale = new Scale(told, now, true),
			plain = new Scale(told, now, false);
		same("end", scale.parts.at(-1).v, 1, 1e-9);
		same("parts", scale.parts.length, told.axis.length || 1);
		same("no cuts", plain.parts.length, 1);
		for (let u = 0, was = -1; u <= 1; u += 0.01) {
			const t = scale.t(u);
			if (t < was) throw new Error(`time runs backwards at ${u}`);
			was = t;
			same("there and back", scale.u(t), u, 0.002);
		}
		const quiet = told.axis.at(-2)?.cut && told.axis.at(-1).to - told.axis.at(-1).from < 2;
		if (late > 1500 && quiet && scale.old) throw new Error("a cut that grows needs no new axis");
	}
}

function compare(history, told) {
	const run = new Run().add(history.events);
	run.waits(history.waiting_for);
	const bars = run.bars(),
		now = told.now;
	same("steps", bars.length, told.steps);
	run.timeline = told;
	axis(told);
	told.bars.forEach((b, i) => {
		const t = bars[i],
			open = t.state === "open" && run.finish;
		same("kind", t.kind, b.kind);
		same("name", t.kind === "timer" ? null : t.name, b.name);
		same("outcome", open ? "cancelled" : t.state === "moment" ? "done" : t.state, b.outcome);
		same("begin", t.at, b.scheduled_at);
		same("end", open ? run.finish.at : t.endAt, b.ended_at);
		same("tries", run.tries(t, now).length, t.attempts < 2 ? 0 : (b.tries ?? []).length);
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
