// import.js -- an exported run, read here: nothing is sent anywhere.
import {btn, cmd, h, head, page, plural, toast} from "./ui.js";
import {parse} from "./api.js";
import instance from "./page_instance.js";

export const imported = new Map();
export default function importer(root, route, app) {
	let bad = null,
		over = false,
		shown = null;
	async function take(file) {
		over = false;
		try {
			const j = parse(await file.text());
			if (j.pawl_export !== 1 || !Array.isArray(j.events))
				throw new Error('there is no "pawl_export": 1 in it');
			imported.set(j.instance, j);
			show(j);
		} catch (e) {
			bad = `${file.name} is not a file of pawl export: ${e.message}`;
			p.draw();
		}
	}
	function show(j) {
		p.close();
		root.replaceChildren();
		delete root.__v;
		shown = instance(root, route, app, j);
		toast(`${j.instance}: ${plural(j.events.length, "event")} read`);
	}
	const hover = v => e => {
		e.preventDefault();
		if (over !== v) {
			over = v;
			p.draw();
		}
	};
	const p = page(root, {
		title: "Import",
		view: () => [
			head("Import", "an exported run, read in this page and sent nowhere"),
			h(
				"label.drop",
				{
					class: over ? "over" : "",
					ondragover: hover(true),
					ondragleave: hover(false),
					ondrop: e => {
						e.preventDefault();
						if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]);
					}
				},
				h("b", "Drop a file here, or choose one"),
				h(
					"span",
					"made by ",
					h("code", "pawl export ID > run.json"),
					", or by Export on the page of an instance"
				),
				h("input", {
					type: "file",
					accept: ".json",
					onchange: e => e.target.files[0] && take(e.target.files[0])
				})
			),
			bad && h("p.warn", {role: "alert"}, bad),
			h(
				".row",
				cmd("pawl export o-1 > run.json"),
				cmd("pawl replay run.json --load NEW.so --gdb"),
				[...imported.values()].map(j => btn(j.instance, () => show(j), {key: j.instance}))
			)
		]
	});
	return {
		title: "Import",
		close() {
			p.close();
			shown?.close();
		},
		draw: () => (shown ?? p).draw()
	};
}
