// live.js -- one stream for the whole page: what changed.
// Read with fetch, not EventSource: that tells why it was refused.
import {OURS} from "./api.js";
import {serverNow} from "./fmt.js";

const listeners = new Set();
export const live = {
	state: "connecting",
	since: serverNow(),
	stats: null,
	samples: [],
	retryAt: 0,
	why: "",
	rate: 0
};
/** on(fn): fn(type, data) for "changes", "reset", "state".  Returns how to stop. */
export function on(fn) {
	listeners.add(fn);
	return () => listeners.delete(fn);
}
const tell = (type, data) => {
	for (const f of [...listeners]) f(type, data);
};
/** How long to wait with a read that many changes ask for: longer while the server is busy. */
export const pace = ms => (live.rate > 20 ? 4 * ms : ms);
/** A page read figures that the frame shows. */
live.changed = () => tell("state");
function become(state, why = "") {
	if (live.state !== state) live.since = serverNow();
	live.state = state;
	live.why = why;
	tell("state");
}

let lastId = null,
	wait = 500,
	wake = () => {},
	stream = null,
	what = "",
	other = false,
	turned = false,
	seen = [];
/** Hear less than everything: "brief=true", or one instance or queue.  The server then says `reset`. */
export function listen(query) {
	if (query === what) return;
	what = query;
	other = true;
	stream?.abort();
	wake();
}
export const retryNow = () => wake();
export const total = () =>
	live.stats ? Object.values(live.stats.counts ?? {}).reduce((a, b) => a + b, 0) : null;

function block(text) {
	let type = "message",
		data = "";
	for (const line of text.split("\n")) {
		if (line.startsWith("id: ")) lastId = line.slice(4);
		else if (line.startsWith("event: ")) type = line.slice(7);
		else if (line.startsWith("data: ")) data += line.slice(6);
	}
	if (!data) return;
	const json = JSON.parse(data),
		now = serverNow();
	json.changed = turned; // of a stream that took the place of another one
	turned = false;
	if (type === "changes") seen.push([now, json.count]);
	seen = seen.filter(t => t[0] > now - 3000);
	live.rate = seen.reduce((n, t) => n + t[1], 0) / 3;
	tell(type, json);
}
async function once() {
	stream = new AbortController();
	turned = other;
	other = false;
	const answer = await fetch("/api/v1/stream" + what, {
		headers: {...OURS, ...(lastId ? {"last-event-id": lastId} : {})},
		signal: stream.signal
	});
	if (answer.status === 401) dispatchEvent(new Event("pawl-token"));
	if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
	become("live");
	wait = 500;
	const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
	for (let text = ""; ; ) {
		const {value, done} = await reader.read();
		if (done) throw new Error("the server closed the stream");
		text += value;
		for (let at; (at = text.indexOf("\n\n")) >= 0; text = text.slice(at + 2))
			block(text.slice(0, at));
	}
}
export async function follow() {
	for (;;) {
		await once().catch(e => {
			if (other) return;
			live.retryAt = serverNow() + wait;
			become(live.paused ? "paused" : "lost", e.name === "AbortError" ? "" : e.message);
		});
		if (other && !live.paused) continue;
		await new Promise(ok => {
			wake = ok;
			if (!live.paused) setTimeout(ok, wait);
		});
		wait = Math.min(wait * 1.7, 8000);
	}
}
export function pause(yes) {
	live.paused = yes;
	if (yes) stream?.abort();
	else {
		wait = 500;
		wake();
	}
}
// A page nobody looks at costs the server nothing.
let hide = 0;
document.addEventListener("visibilitychange", () => {
	clearTimeout(hide);
	if (document.hidden)
		hide = setTimeout(() => {
			if (!live.paused) {
				live.asleep = true;
				pause(true);
			}
		}, 60e3);
	else if (live.asleep) {
		live.asleep = false;
		pause(false);
	}
});
