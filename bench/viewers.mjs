// SPDX-License-Identifier: MIT
// viewers.mjs -- what open pages cost the server; bench/viewers runs it: viewers.mjs BUILD.
//
// CPU is that of the server's process alone (/proc/PID/stat), so a browser on the same cores does not
// count; loads run in turns, without and with pages, and the median of the pairs is told.
import {execFile} from "node:child_process";
import fs from "node:fs";
import {promisify} from "node:util";
import {build, close, open, Server, sleep} from "../tests/page/kit.mjs";

const ROUNDS = +(process.env.ROUNDS ?? 5),
	SECONDS = +(process.env.SECONDS_EACH ?? 5),
	IDLE = 30,
	PAGES = 10;
const run = promisify(execFile),
	median = list => list.toSorted((a, b) => a - b)[list.length >> 1];

/** Milliseconds of CPU that the server's process has used: user and system, in ticks of 10 ms. */
function cpu(server) {
	const fields = fs.readFileSync(`/proc/${server.process.pid}/stat`, "utf8").split(") ")[1].split(" ");
	return (+fields[11] + +fields[12]) * 10;
}
async function load(server) {
	const before = cpu(server),
		words = ["bench", "hello", "--url", server.url, "--concurrency", "32"],
		{stdout} = await run(`${build}/pawl`, [...words, "--seconds", String(SECONDS), "--json"]),
		told = JSON.parse(stdout);
	return {us: ((cpu(server) - before) * 1000) / told.orchestrations, per_s: told.orchestrations_per_s};
}
async function idle(server) {
	const before = cpu(server);
	await sleep(IDLE * 1000);
	return (cpu(server) - before) / (IDLE * 10);
}
const show = (what, list) =>
	console.log(
		`${what}: ${median(list).toFixed(2)} µs of the server's CPU per start [${Math.min(...list).toFixed(2)} to ${Math.max(...list).toFixed(2)}]`
	);

const server = await new Server("viewers").start(),
	none = [],
	ten = [];
console.log(`idle, no page open: ${(await idle(server)).toFixed(2)} % of one core in ${IDLE} s`);
await load(server);
for (let i = 0; i < ROUNDS; i++) {
	none.push((await load(server)).us);
	const pages = await Promise.all(Array.from({length: PAGES}, () => open(server, "#/")));
	await sleep(1000);
	ten.push((await load(server)).us);
	await Promise.all(pages.map(p => p.context().close()));
}
show("no page open", none);
show(`${PAGES} overviews open`, ten);
const ratio = median(none.map((us, i) => ten[i] / us));
console.log(`ratio: ${ratio.toFixed(3)} (median of ${ROUNDS} pairs)`);
const page = await open(server, "#/");
await sleep(3000);
console.log(`idle, one page open: ${(await idle(server)).toFixed(2)} % of one core in ${IDLE} s`);
await page.context().close();
await server.stop();
await close();
