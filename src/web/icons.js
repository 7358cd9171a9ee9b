// icons.js -- states and kinds.  Every one has a shape of its own: colour only repeats what the shape says.
import {h} from "./dom.js";

// Filled shapes; the others are lines.
const FILL = {
		running: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2zM6.4 5.2v5.6L11 8z",
		suspended: "M4 3h3v10H4zM9 3h3v10H9z",
		blocked:
			"M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3zM7.2 4.2v4.9h1.6V4.2zm0 6v1.6h1.6v-1.6z",
		failed:
			"M8 1.2 14.8 8 8 14.8 1.2 8zM5.9 5l-.9.9L7.1 8 5 10.1l.9.9L8 8.9l2.1 2.1.9-.9L8.9 8 11 5.9l-.9-.9L8 7.1z",
		activity: "M2 5h12v6H2z",
		event: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
		more: "M3 7h2v2H3zm4 0h2v2H7zm4 0h2v2h-2z"
	},
	LINE = {
		pending: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11z",
		completed: "m3 8.4 3.2 3.3L13 4.6",
		cancelled: "M8 2.6a5.4 5.4 0 1 1 0 10.8A5.4 5.4 0 0 1 8 2.6zM4.3 11.7l7.4-7.4",
		retrying: "M12.6 6A5 5 0 1 0 13 9.4M13 2.6V6H9.6",
		timer: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.4",
		child: "M3 2.5h5v4H3zM9 9.5h4v4H9zM5.5 6.5v5H9",
		queue: "M2 3.5h12M2 8h12M2 12.5h7",
		status: "M3 3h10v8H8l-3 2.5V11H3z",
		patch: "M4 2v12M4 3h8l-2 2.5L12 8H4",
		signal: "M8 2v7m0 3v1.5",
		detached: "M6 10 13 3M8 3h5v5M3 6v7h7",
		dead_letters: "M2 4h12v8H2zM2 4l6 5 6-5",
		no_worker:
			"M8 2.6a2.6 2.6 0 1 1 0 5.2 2.6 2.6 0 0 1 0-5.2zM3 14c0-3 2-4.5 5-4.5s5 1.5 5 4.5M2 2l12 12",
		copy: "M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1",
		search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zm3.4 7.9 3.6 3.6",
		close: "M4 4l8 8M12 4l-8 8",
		right: "m6 4 4 4-4 4",
		left: "m10 4-4 4 4 4",
		plus: "M8 3v10M3 8h10",
		minus: "M3 8h10",
		overview: "M2.5 2.5h5v5h-5zM9.5 2.5h4v3h-4zM9.5 7.5h4v6h-4zM2.5 9.5h5v4h-5z",
		instances: "M2 4h2M6 4h8M2 8h2M6 8h8M2 12h2M6 12h8",
		queues: "M2 4.5h12v7H2zM6 4.5v7M10 4.5v7",
		workers:
			"M8 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM8 2v2M8 12v2M2 8h2M12 8h2M3.8 3.8l1.4 1.4M10.8 10.8l1.4 1.4M3.8 12.2l1.4-1.4M10.8 5.2l1.4-1.4",
		import: "M8 2.5v7m-3-3 3 3 3-3M2.5 10.5v3h11v-3",
		compare: "M2.5 3h4v10h-4zM9.5 3h4v10h-4z"
	};
LINE.continued_as_new = LINE.retrying;
LINE.schedules = "M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 2v3M10.5 2v3M8 8.5v2h2";
LINE.asks = LINE.status;
LINE.ok = LINE.completed;
FILL.paused = FILL.suspended;

export const icon = (name, label) =>
	h(
		`svg.i.i-${FILL[name] ? "fill" : name === "pending" ? "line.dash" : "line"}`,
		{viewBox: "0 0 16 16", "aria-hidden": label ? null : "true", role: label ? "img" : null, label},
		h("path", {d: FILL[name] ?? LINE[name] ?? FILL.activity, "fill-rule": "evenodd"})
	);
export const STATES = [
	"running",
	"blocked",
	"failed",
	"suspended",
	"pending",
	"completed",
	"cancelled"
];
/** A state with its word: never colour alone. */
export const state = (s, bare) => {
	const word = s.replaceAll("_", " ");
	return h(
		`span.st.st-${s}`,
		{title: bare ? word : null},
		icon(s, bare ? word : null),
		bare ? null : h("span", word)
	);
};
