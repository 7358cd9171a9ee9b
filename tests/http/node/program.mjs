// SPDX-License-Identifier: MIT
// The language of tests/replay/program.c as an orchestration of the Node.js client: a program is a list of
// lines, each a list of words.  What the code saw is appended to a text, which `return` gives back.
// Payloads are raw texts.  Called by answers.mjs and the fuzz of programs.
import { Cancelled, Fail, TaskFailed } from "../../../clients/node/index.js";

const BLOCKS = new Set(["patched", "if-cancelled", "repeat"]);

/** The lines of `end` and `else` that belong to the block at `at`. */
function endOf(lines, at) {
  let depth = 0, other = 0;
  for (let i = at; i < lines.length; i++) {
    const word = lines[i][0];
    if (BLOCKS.has(word)) depth++;
    else if (word === "else" && depth === 1) other = i;
    else if (word === "end" && --depth === 0) return { end: i, other };
  }
  throw new Error("a block has no end");
}

class Walk {
  constructor(ctx, lines, input) {
    Object.assign(this, { ctx, lines, input, out: [], handles: {}, last: { ok: true, value: "" }, shields: 0 });
  }

  text() {
    return this.out.join(" ");
  }

  word(l, i) {
    if (i >= l.length) return "";
    return { $input: this.input, $last: this.last.value, $out: this.text() }[l[i]] ?? l[i];
  }

  note(text) {
    this.out.push(text);
  }

  noted(last) {
    this.last = last;
    this.note((last.ok ? "" : last.cancelled ? "~" : "!") + (last.ok && last.value === "" ? "ok" : last.value));
  }

  shielded(run) {
    return this.shields > 0 ? this.ctx.shield(run) : run();
  }

  async result(make) {
    try {
      const value = await this.shielded(async () => make());
      this.noted({ ok: true, value: typeof value === "string" ? value : "" });
    } catch (error) {
      if (!(error instanceof TaskFailed || error instanceof Cancelled)) throw error;
      this.noted({ ok: false, cancelled: error instanceof Cancelled, value: error.message });
    }
  }

  async index(make, tasks) {
    if (tasks.length === 0) return this.note("-1");
    try {
      this.note(String((await this.shielded(async () => make(tasks))).index));
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error;
      this.note("-1");
    }
    return undefined;
  }

  /** A call that is refused by value, at once. */
  now(make) {
    try {
      this.noted({ ok: true, value: make() ?? "" });
    } catch (error) {
      if (!(error instanceof TaskFailed)) throw error;
      this.noted({ ok: false, value: error.message });
    }
  }

  tasks(l) {
    return l.slice(1).flatMap((name) => this.handles[name]);
  }

  option(l, name) {
    return l.slice(2).find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
  }

  child(l) {
    return { instance: this.option(l, "id"), version: this.option(l, "version") || undefined, abandon: l.includes("abandon") || undefined };
  }

  start(l) {
    const { ctx } = this, [, , what, name] = l;
    switch (what) {
      case "start": return [ctx.call(name, this.word(l, 4))];
      case "start-retry": return [ctx.call(name, this.word(l, 4), { attempts: 5, tag: "gpu" })];
      case "timer": return [ctx.timer(Number(name))];
      case "wait": return [ctx.event(name, { fresh: l.slice(4).includes("fresh") || undefined })];
      case "ask": return [ctx.ask(name, JSON.parse(this.word(l, 4)))];
      case "update": return [ctx.update(name)];
      case "child": return [ctx.child(name, this.word(l, 4), this.child(l))];
      case "fan": return Array.from({ length: Number(name) }, (_, i) => ctx.call(l[4], String(i)));
      default: throw new Error(`cannot start ${what}`);
    }
  }

  /** {value} when the program has returned. */
  async run(at, to) {
    while (at < to) {
      const l = this.lines[at];
      if (BLOCKS.has(l[0])) {
        const { end, other } = endOf(this.lines, at);
        const times = l[0] === "repeat" ? Number(l[1]) : Number(l[0] === "patched" ? this.ctx.patched(l[1]) : this.ctx.cancelled);
        for (let i = 0; i < times; i++) {
          const returned = await this.run(at + 1, other || end);
          if (returned) return returned;
        }
        if (times === 0 && other) {
          const returned = await this.run(other + 1, end);
          if (returned) return returned;
        }
        at = end + 1;
        continue;
      }
      at++;
      if (l[1] === "=" && l.length > 2) this.handles[l[0]] = this.start(l);
      else {
        const returned = await this.line(l);
        if (returned) return returned;
      }
    }
    return undefined;
  }

  async line(l) {
    const { ctx } = this, given = l.length > 1 ? this.word(l, 1) : this.text(), one = this.handles[l[1]]?.[0];
    switch (l[0]) {
      case "return": return { value: given };
      case "fail": throw new Fail(given);
      case "return-last":
        if (this.last.ok) return { value: this.last.value };
        throw new Fail(this.last.value);
      case "continue": return ctx.continueAsNew(given, this.option(l, "version"));
      case "call": return void (await this.result(() => ctx.call(l[1], this.word(l, 2))));
      case "call-child": return void (await this.result(() => ctx.child(l[1], this.word(l, 2), this.child(l))));
      case "sleep": return void (await this.result(() => ctx.sleep(Number(l[1]))));
      case "await": return void (await this.result(() => one));
      case "all": return void (await this.result(() => ctx.all(...this.tasks(l)).then(() => "")));
      case "settled": return void (await this.result(() => ctx.settled(...this.tasks(l)).then(() => "")));
      case "any": return this.index((tasks) => ctx.any(...tasks), this.tasks(l));
      case "race": return this.index((tasks) => ctx.race(...tasks), this.tasks(l));
      case "cancel": return ctx.cancel(one);
      case "answer": return one.answer(this.word(l, 2));
      case "reject": return one.reject(this.word(l, 2));
      case "detached": return this.now(() => ctx.detach(l[1], this.word(l, 2), this.child(l)));
      case "raise":
        return this.now(() => ctx.raise(this.option(l, "id") ?? "", l[1], this.word(l, 2), { await_start: l.includes("await-start") || undefined }));
      case "set": return this.now(() => ctx.state.set(l[1], this.word(l, 2)));
      case "clear": return this.now(() => ctx.state.clear(l[1]));
      case "get": return this.note(shown(ctx.state.get(l[1])));
      case "status": return ctx.status(this.word(l, 1));
      case "log": return ctx.log.info(this.word(l, 1));
      case "shield": return void this.shields++;
      case "unshield": return void (this.shields = Math.max(0, this.shields - 1));
      default: return this.note(this.asked(l));
    }
  }

  asked(l) {
    const { ctx } = this;
    switch (l[0]) {
      case "note": return this.word(l, 1);
      case "is-done": return this.handles[l[1]][0].done ? "yes" : "no";
      case "now": return String(ctx.now);
      case "uuid": return ctx.uuid();
      case "random": return ctx.random64().toString(16).padStart(16, "0");
      case "length": return String(ctx.historyLength);
      case "execution": return String(ctx.execution);
      case "instance": return ctx.instance;
      case "name": return ctx.name;
      case "version": return ctx.version;
      case "is-cancelled": return ctx.cancelled ? "yes" : "no";
      default: throw new Error(`unknown statement ${l[0]}`);
    }
  }
}

const shown = (value) => (value === undefined ? "none" : Buffer.byteLength(value) > 60 ? "long" : value);

/** The orchestration that walks these lines. */
export async function walk(ctx, lines, input) {
  const w = new Walk(ctx, lines, input ?? "");
  return ((await w.run(0, lines.length)) ?? { value: w.text() }).value;
}
