// offers.js -- what the server tells, in the shape that pages want.  It is decided here and nowhere else.
// Every read is bounded, and nothing here runs on a timer: the pages read when something changed and somebody looks.
import {get, query} from "./api.js";
import {serverNow} from "./fmt.js";

const over = status => ["completed", "failed", "cancelled", "continued_as_new"].includes(status);
const instances = want => get("/api/v1/instances" + query(want));

// ---- Overview
/** All that the first page shows, in one answer that the server makes once for all who look. */
export async function overviewOf() {
	const told = await get("/api/v1/overview?with=all");
	return {
		...told,
		samples: samplesOf(told.series),
		problems: [...told.problems, ...told.waits.problems, ...queueProblems(told.queues)].sort(
			(a, b) => rank(a) - rank(b)
		)
	};
}
const rank = p =>
	[
		"health",
		"blocked",
		"retrying",
		"no_worker",
		"dead_letters",
		"failed",
		"suspended",
		"paused"
	].indexOf(p.kind);
/** How many instances there are in each state. */
export const counts = async () => get("/api/v1/overview");
export const queuesOf = async () => (await get("/queue?limit=1000")).queues;

/** Does the row say what it waits for, as far as there is something? */
export const hasWaits = r => over(r.status) || r.waiting_for?.length > 0;

function queueProblems(queues) {
	const kindOf = q =>
		q.name.endsWith("-deadletter") ? "dead_letters" : q.paused ? "paused" : null;
	return queues
		.filter(q => q.ready && kindOf(q))
		.map(q => ({
			kind: kindOf(q),
			queue: q.name,
			count: q.ready,
			since: serverNow() - (q.oldest_age_seconds ?? 0) * 1000
		}));
}

/** What was done in each of the last seconds, oldest first: [{starts, ended, …, commit_ms}]. */
function samplesOf(series) {
	const all = Object.entries(series);
	return Array.from({length: all[0][1].length}, (_, i) => {
		const s = Object.fromEntries(all.map(([k, v]) => [k, v[i]]));
		return {...s, commit_ms: s.commits ? s.commit_us / s.commits / 1000 : null};
	});
}
/** The names of what can be started. */
export const startable = async () =>
	(await get("/api/v1/registry")).orchestrations.map(o => o.name);

// ---- Lists
/** A page of the list, with what its rows wait for. */
export const listOf = want => instances({limit: 200, with: "waiting", ...want});
/** What people are asked for; `after`: the next page. */
export const asksOf = after => get("/api/v1/asks" + query({after}));
