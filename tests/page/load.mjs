// load.mjs -- a shop in the middle of its day, in three seconds: orders in every stage, trips that were
// undone, people who are waited for, a bank that is down, a release that does not fit, queues with locks
// and dead letters.  The same every time but for times and keys.
import {sleep} from "./kit.mjs";

let seed = 7;
export const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
const int = (a, b) => a + Math.floor(random() * (b - a + 1));
const pick = list => list[int(0, list.length - 1)];
const times = (n, make) => Array.from({length: n}, (_, i) => make(i));
const NAMES = ["ada", "grace", "edsger", "barbara", "dennis", "ken", "frances", "leslie"];
const SKUS = ["chair-oak", "desk-standing", "lamp-brass", "shelf-pine", "rug-wool", "kettle-steel"];

export function order(n, more) {
	const lines = times(int(1, 4), () => ({sku: pick(SKUS), qty: int(1, 4), cents: int(900, 64000)}));
	return {
		order: `ord-${n}`,
		customer: {name: pick(NAMES), email: `${pick(NAMES)}@example.org`},
		lines,
		total_cents: lines.reduce((sum, l) => sum + l.qty * l.cents, 0),
		ms: int(20, 240),
		...more
	};
}

/** Tax reports, and then the release whose code does not fit them. */
export async function blocked(server) {
	const countries = ["de", "fr", "it", "es", "pt"];
	await Promise.all(
		countries.map(c => server.begin("TaxReport", `tax-2026-q3-${c}`, {country: c}))
	);
	await sleep(600);
	await server.stop();
	await server.start({SHOP_RELEASE: "2"});
	await Promise.all(countries.map(c => server.raise(`tax-2026-q3-${c}`, "SignOff", {by: "cfo"})));
}

async function instances(s) {
	const all = [];
	const activity = name => ({match: [{activity: name}]});
	await s.call("PUT", "/api/v1/limits/bank", {...activity("BankTransfer"), concurrency: 5});
	await s.call("PUT", "/api/v1/limits/cards", {
		...activity("Charge*"),
		concurrency: 40,
		rate: {count: 6000, per_ms: 60000, burst: 100}
	});
	for (let i = 0; i < 5; i++) {
		const cents = int(20, 900) * 100,
			who = pick(NAMES),
			euros = (cents / 100).toFixed(2);
		all.push(
			s.begin(
				"Refund",
				`refund-${7001 + i}`,
				{
					cents,
					ask:
						i % 3 === 2
							? {title: `How much of ${euros} EUR goes back to ${who}?`}
							: {
									title: `Refund ${euros} EUR to ${who}?`,
									text: `Order ord-${48100 + i} came back with a broken ${pick(SKUS)}.`,
									choices: ["refund", "voucher", "decline"]
								}
				},
				{attributes: {customer: who, cents, tier: i % 2 ? "silver" : "gold"}}
			)
		);
	}
	for (let i = 0; i < 30; i++) {
		const o = order(48100 + i, {
			flaky: i % 5 === 1 ? int(1, 3) : 0,
			refused: i % 13 === 12,
			hop_ms: int(200, 900)
		});
		all.push(
			s
				.begin("Checkout", o.order, o)
				.then(() =>
					i % 2 ? s.raise(o.order, "Picked", {by: pick(NAMES), bin: `B${int(1, 40)}`}) : null
				)
		);
	}
	for (let i = 0; i < 16; i++) {
		const id = `o-${1000 + i}`;
		all.push(
			s
				.begin("ProcessOrder", id, {
					id,
					step_ms: int(10, 150),
					return_window_ms: pick([900, 86400000]),
					...(i === 9 ? {card: "refused"} : {})
				})
				.then(() =>
					i % 3 ? s.raise(id, "FraudReview", {approved: i !== 5, by: pick(NAMES)}) : null
				)
		);
	}
	for (let i = 0; i < 8; i++)
		all.push(
			s.begin("BookTrip", `trip-${pick(["oslo", "lima", "kyoto"])}-${200 + i}`, {
				trip: "Oslo",
				step_ms: int(20, 200),
				hold_ms: 3600000,
				...(i % 3 === 2 ? {fail: pick(["BookHotel", "BookCar"])} : {})
			})
		);
	for (let i = 0; i < 6; i++)
		all.push(
			s.begin("Approval", `approval-${pick(["chair", "laptop", "travel"])}-${i}`, {
				what: "a chair",
				patience_ms: 259200000,
				people: ["the team lead"]
			})
		);
	for (let i = 0; i < 4; i++)
		all.push(
			s.begin("Payout", `payout-2026-11-${10 + i}`, {
				account: `DE8950010517540732493${i}`,
				cents: int(1e5, 9e6),
				flaky: 99,
				ms: 40
			})
		);
	all.push(s.begin("RenderVideo", "video-keynote", {segments: 60}));
	all.push(s.begin("ImportCatalog", "import-2026-11-17", {rows: 2500, hold: true}));
	all.push(s.begin("Heartbeat", "heart", {every_ms: 300, until: 40}));
	all.push(s.begin("RegionRollout", "rollout-eu", {depth: 2, width: 3, hold: true}));
	await Promise.all(all);
}

async function queues(s) {
	const config = (q, c) => s.call("PUT", `/queue/${q}/config`, c),
		push = (q, items) => s.post(`/queue/${q}/push`, {items});
	await config("mail", {max_locks: 0, max_deliveries: 5});
	await config("thumbnails", {max_locks: 0, max_deliveries: 4, default_priority: 5});
	await config("payments", {max_locks: 4, max_deliveries: 1});
	await push(
		"mail",
		times(36, n => ({
			item: {template: pick(["welcome", "receipt", "shipped"]), to: `${pick(NAMES)}@example.org`, n}
		}))
	);
	await push(
		"thumbnails",
		times(300, i => ({
			item: {file: `s3://media/${i}.jpg`, size: pick([128, 256, 512])},
			priority: pick([0, 1, 1, 2, 5, 5, 5, 9])
		}))
	);
	await push(
		"thumbnails",
		times(12, i => ({
			item: {file: `s3://later/${i}.jpg`},
			priority: 5,
			delay_seconds: int(600, 86400)
		}))
	);
	await push(
		"payments",
		times(17, i => ({item: {invoice: `inv-${900 + i}`, cents: int(100, 90000)}, priority: i % 3}))
	);
	await push("reports", [{item: {report: "monthly"}}, {item: {report: "weekly"}}]);
	await s.post("/queue/reports/pause");
	for (let i = 0; i < 7; i++) {
		const got = await s.post("/queue/payments/pop?require_ack=true&ttl_seconds=60");
		if (got.json.lock_id)
			await s.post("/queue/payments/release", {
				lock_id: got.json.lock_id,
				reason: pick(["gateway timeout", "invalid IBAN"])
			});
	}
	await s.post("/queue/thumbnails/pop?require_ack=true&ttl_seconds=280&count=8");
	await s.post("/queue/thumbnails/pop?require_ack=true&ttl_seconds=120&count=2");
}

async function schedules(s) {
	const put = (name, spec) => s.call("PUT", "/api/v1/schedules/" + name, spec);
	await put("nightly-report", {
		cron: ["30 2 * * *"],
		zone: "Europe/Berlin",
		orchestration: "TaxReport",
		input: {country: "de"},
		overlap: "queue"
	});
	await put("mail-digest", {every_ms: 900000, queue: "mail", input: {template: "digest"}});
	await put("payday", {cron: ["0 9 L * *"], zone: "America/New_York", orchestration: "Payout"});
	await put("heartbeat", {
		every_ms: 2000,
		orchestration: "Heartbeat",
		input: {every_ms: 1, until: 2},
		max_runs: 1
	});
	await s.post("/api/v1/schedules/payday/pause", {reason: "the bank is closed"});
}

export async function fill(server) {
	await blocked(server);
	await Promise.all([instances(server), queues(server), schedules(server)]);
	void server
		.post("/api/v1/work/poll", {
			activities: ["PrintPoster"],
			wait_ms: 30000,
			worker: "poster-printer-1",
			tags: ["a3"]
		})
		.catch(() => {});
	await sleep(2000);
	for (const id of ["o-1003", "approval-chair-0"])
		await server.post(`/api/v1/instances/${id}/suspend`, {reason: "audit of warehouse north"});
}
