// fmt.js -- numbers, times and command lines for people.
const p2 = n => String(n).padStart(2, "0"),
	few = x => (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2));
export const num = n => (n == null ? "–" : Math.round(n).toLocaleString("en"));
/** 1,234 · 12.3k · 4.56M */
export const short = n =>
	!(Math.abs(n) >= 10000) ? num(n) : Math.abs(n) < 1e6 ? few(n / 1e3) + "k" : few(n / 1e6) + "M";
export const rate = n =>
	n == null ? "–" : n === 0 ? "0" : n < 10 ? n.toFixed(1) : num(n);
export function bytes(n) {
	for (const u of ["B", "KB", "MB", "GB"]) {
		if (n < 1000 || u === "GB")
			return (u === "B" || n >= 100 ? Math.round(n) : n.toFixed(1)) + " " + u;
		n /= 1000;
	}
}
export const plural = (n, one, many = one + "s") => `${num(n)} ${n === 1 ? one : many}`;

/** 412 ms · 4.2 s · 3m 12s · 2h 04m · 3d 4h; at most 7 characters. */
export function dur(ms) {
	if (ms == null || Number.isNaN(ms)) return "–";
	ms = Math.max(0, ms);
	if (ms < 1000) return (ms > 0 && ms < 10 ? +ms.toFixed(2) : Math.round(ms)) + " ms";
	if (ms < 60e3) return (ms < 10e3 ? (ms / 1000).toFixed(1) : Math.floor(ms / 1000)) + " s";
	const s = Math.floor(ms / 1000),
		m = Math.floor(s / 60),
		hh = Math.floor(m / 60),
		d = Math.floor(hh / 24);
	return hh < 1
		? `${m}m ${p2(s % 60)}s`
		: d < 1
			? `${hh}h ${p2(m % 60)}m`
			: d < 100
				? `${d}d ${hh % 24}h`
				: `${d}d`;
}
let skew = 0;
/** The server's clock: that of the browser may be wrong. */
export const serverNow = () => Date.now() + skew;
export const setNow = at => (skew = Math.abs(at - Date.now()) > 2000 ? at - Date.now() : 0);
let zone = "";
export const setZone = z => (zone = z === "utc" ? "UTC" : "");
const of = at => {
	const d = new Date(at);
	return k => d[`get${zone}${k}`]();
};
export const clock = (at, ms = true) => {
	const g = of(at);
	return (
		[g("Hours"), g("Minutes"), g("Seconds")].map(p2).join(":") +
		(ms ? "." + String(g("Milliseconds")).padStart(3, "0") : "")
	);
};
export const day = at => {
	const g = of(at);
	return `${g("FullYear")}-${p2(g("Month") + 1)}-${p2(g("Date"))}`;
};
export const stamp = (at, ms) => `${day(at)} ${clock(at, ms)}${zone ? "Z" : ""}`;
/** Today the clock, otherwise the day too. */
export const moment = at => (day(at) === day(Date.now()) ? clock(at, false) : stamp(at, false));
/** One argument of a POSIX shell. */
export const quote = s => (/^[\w@%+=:,./-]+$/.test(s) ? s : "'" + s.replaceAll("'", "'\\''") + "'");
/** A part of an address behind `#`. */
export const part = encodeURIComponent;
/** A part of a path.  A browser takes . and .. for steps, even escaped; the server reads "..," as "..". */
export const seg = s => (/^\.\.?$/.test(s) ? s + "," : part(s));
export const toJson = JSON.stringify;
