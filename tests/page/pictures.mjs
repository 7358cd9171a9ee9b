// SPDX-License-Identifier: MIT
// pictures.mjs -- the pictures of README and guide, docs/images/page-*.png, of a shop that has been busy
// for five minutes:  tests/page/page names && node tests/page/pictures.mjs build [SECONDS]
import fs from "node:fs";
import {close, open, Server, shots, sleep} from "./kit.mjs";
import {fill, order, random} from "./load.mjs";

const SECONDS = +(process.argv[3] ?? 300),
	shop = await new Server("pictures").start();
await fill(shop);

/** Orders come, more and fewer of them; most are picked after a while. */
async function trade() {
	const end = Date.now() + SECONDS * 1000;
	for (let n = 50000; Date.now() < end; n++) {
		const o = order(n, {flaky: n % 7 === 1 ? 1 : 0, refused: n % 29 === 12, hop_ms: 300});
		await shop.begin("Checkout", o.order, o);
		if (n % 40)
			setTimeout(() => shop.raise(o.order, "Picked", {by: "ada", bin: "B7"}).catch(() => {}), 2000);
		if (n % 3) await shop.post("/queue/mail/pop?count=1"); // what a completed order has sent
		const tide = 1 + 0.8 * Math.sin(Date.now() / 15000);
		await sleep((60 + 500 * random()) / tide / (random() < 0.05 ? 8 : 1));
	}
}
await trade();

async function take(name, route, ready) {
	const p = await open(shop, route);
	await p.waitForSelector(ready);
	await sleep(1500);
	await p.shot(name);
	const from = `${shots}/${name}.png`,
		bytes = fs.statSync(from).size;
	if (bytes >= 200000) throw new Error(`${name} has ${bytes} bytes, 200,000 are too many`);
	fs.copyFileSync(from, `docs/images/${name}.png`);
	console.log(`${name}: ${bytes} bytes`);
	await p.context().close();
}
await take("page-overview", "#/", ".charts .chart:nth-child(4)");
await take("page-instance", "#/instances/ord-48106", ".tl-row");
await close();
