# SPDX-License-Identifier: MIT
"""The language of tests/replay/program.c as an orchestration in Python, and the scripts that use it.

A program is a list of lines of words.  What its calls return is appended to a text, which `return` gives
back, so that a script sees everything the code saw.  Used by test_py_replay.py.
"""
import re

import pawl
from pawl import kinds

BLOCKS = ("patched", "if-cancelled", "repeat")
EXPECTED = ("out", "out-fan", "fate", "outcome", "finding", "recorded", "attempted", "at-event", "open", "mail", "consumed",
            "returned", "discarded", "logged")


def words(line):
    """Quoted words may have escapes; WORD*N is that word N times."""
    out = []
    for found in re.finditer(r'(?:[^\s"]|"(?:\\.|[^"\\])*")+', line):
        text = re.sub(r'"((?:\\.|[^"\\])*)"', lambda q: re.sub(r"\\(x[0-9a-f]{2}|.)", _escape, q.group(1)), found.group(0))
        many = re.match(r"(.*)\*(\d+)$", text, re.S)
        out.append(many.group(1) * int(many.group(2)) if many else text)
    return [_bytes(w) for w in out]


def _escape(found):
    code = found.group(1)
    return {"n": "\n", "t": "\t"}.get(code, chr(int(code[1:], 16)) if code[0] == "x" and len(code) == 3 else code)


def _bytes(word):
    try:                                        # \x escapes are bytes of UTF-8
        return word.encode("latin-1").decode() if any("\x80" <= c <= "\xff" for c in word) else word
    except (UnicodeEncodeError, UnicodeDecodeError):
        return word


def read(path):
    """({name: program}, [(act, its expectations)])"""
    programs, acts, current = {}, [], None
    for raw in path.read_text().splitlines():
        line = re.sub(r"\s+#( .*)?$", "", raw) if '"' not in raw else raw
        if not line.strip() or line.lstrip().startswith("# ") or line.strip() == "#":
            continue
        w = words(line)
        if line[0] == " " and current is not None:
            current.append(w)
        elif line[0] == " " or w[0] in EXPECTED:
            acts[-1][1].append(w)
        elif w[0] == "program":
            current = programs.setdefault(w[1], [])
            continue
        else:
            current = None
            acts.append((w, []))
    return programs, acts


def block(lines, at):
    """Where it ends, and where its else is."""
    depth, other = 0, None
    for i in range(at, len(lines)):
        word = lines[i][0]
        depth += word in BLOCKS
        if word == "else" and depth == 1:
            other = i
        if word == "end":
            depth -= 1
            if depth == 0:
                return i, other
    raise AssertionError("a block has no end")


class Program:
    """One run of a program."""

    def __init__(self, ctx, input, lines):
        self.ctx, self.input, self.all = ctx, input, lines
        self.out, self.last, self.handles, self.shields = [], ("ok", ""), {}, []

    async def run(self):
        ended = await self.lines(0, len(self.all))
        return ended[0] if ended else self.text()

    def text(self):
        return " ".join(self.out)

    def word(self, line, i):
        if i >= len(line):
            return ""
        return {"$input": self.input, "$last": self.last[1], "$out": self.text()}.get(line[i], line[i])

    async def lines(self, at, to):
        while at < to:
            line = self.all[at]
            if line[0] not in BLOCKS:
                at += 1
                ended = await self.line(line)
                if ended:
                    return ended
                continue
            end, other = block(self.all, at)
            times = (int(line[1]) if line[0] == "repeat" else
                     int(self.ctx.cancelled if line[0] == "if-cancelled" else self.ctx.patched(line[1])))
            parts = [(at + 1, other or end)] * times or ([(other + 1, end)] if other else [])
            for part in parts:
                ended = await self.lines(*part)
                if ended:
                    return ended
            at = end + 1

    def put(self, state, text):
        self.last = (state, text)
        self.out.append({"ok": "", "failed": "!", "cancelled": "~"}[state] + (text or ("ok" if state == "ok" else "")))

    async def result(self, task, many=False):
        try:
            value = await task
            self.put("ok", "" if many or value is None else value)
        except pawl.TaskFailed as error:
            self.put("failed", error.text)
        except pawl.Cancelled as error:
            self.put("cancelled", str(error))

    async def index(self, wait, tasks):
        if not tasks:
            return self.out.append("-1")
        try:
            self.out.append(str(tasks.index(await wait(*tasks))))
        except pawl.Cancelled:
            self.out.append("-1")

    def plain(self, call):
        try:
            self.put("ok", call() or "")
        except pawl.CallRefused as error:
            self.put("failed", error.text)

    def tasks(self, line):
        return [t for name in line[1:] for t in self.handles[name]]

    def child(self, line):
        options = dict(w.split("=", 1) for w in line[2:] if re.match("(id|version)=", w))
        return {"instance": options.get("id"), "version": options.get("version") or None}

    def start(self, l):
        c, kind = self.ctx, l[2]
        if kind == "start":
            return [c.call(l[3], self.word(l, 4))]
        if kind == "start-retry":
            return [c.call(l[3], self.word(l, 4), attempts=5, tag="gpu")]
        if kind == "timer":
            return [c.timer(ms=int(l[3]))]
        if kind == "wait":
            return [c.event(l[3], fresh="fresh" in l[4:])]
        if kind == "update":
            return [c.update(l[3])]
        if kind == "child":
            return [c.child(l[3], self.word(l, 4), abandon="abandon" in l, **self.child(l[1:]))]
        if kind == "fan":
            return [c.call(l[4], str(i)) for i in range(int(l[3]))]
        raise NotImplementedError(kind)

    async def line(self, l):
        c, w = self.ctx, l[0]
        if len(l) > 2 and l[1] == "=":
            self.handles[w] = self.start(l)
        elif w == "return":
            return (self.word(l, 1) if len(l) > 1 else self.text(),)
        elif w == "fail":
            raise pawl.Fail(self.word(l, 1) if len(l) > 1 else self.text())
        elif w == "return-last":
            if self.last[0] == "ok":
                return (self.last[1],)
            raise pawl.Fail(self.last[1])
        elif w == "continue":
            version = next((x[8:] for x in l if x.startswith("version=")), None)
            c.continue_as_new(self.word(l, 1) if len(l) > 1 else self.text(), version)
        elif w in ("call", "call-child", "sleep", "await", "all", "settled", "any", "race"):
            await self.waiting(w, l)
        else:
            self.other(w, l)

    async def waiting(self, w, l):
        c = self.ctx
        if w == "call":
            await self.result(c.call(l[1], self.word(l, 2)))
        elif w == "call-child":
            await self.result(c.child(l[1], self.word(l, 2), abandon="abandon" in l, **self.child(l)))
        elif w == "sleep":
            await self.result(c.timer(ms=int(l[1])))
        elif w == "await":
            await self.result(self.handles[l[1]][0])
        elif w in ("all", "settled"):
            await self.result(getattr(c, w)(*self.tasks(l)), many=True)
        else:
            await self.index(getattr(c, w), self.tasks(l))

    def other(self, w, l):
        c = self.ctx
        said = {"now": lambda: c.now, "uuid": c.uuid, "random": lambda: "%016x" % c.random64(), "length": lambda: c.history_length,
                "execution": lambda: c.execution, "instance": lambda: c.instance, "name": lambda: c.name,
                "version": lambda: c.version, "is-cancelled": lambda: "yes" if c.cancelled else "no",
                "note": lambda: self.word(l, 1), "get": lambda: self.got(c.state.get(l[1], None)),
                "is-done": lambda: "yes" if self.handles[l[1]][0].done else "no"}
        if w in said:
            self.out.append(str(said[w]()))
        elif w == "cancel":
            c.cancel(self.handles[l[1]][0])
        elif w == "detached":
            self.plain(lambda: c.detach(l[1], self.word(l, 2), **self.child(l)))
        elif w == "raise":
            self.plain(lambda: c.raise_event(self.child(l)["instance"], l[1], self.word(l, 2), await_start="await-start" in l))
        elif w == "set":
            self.plain(lambda: c.state.set(l[1], self.word(l, 2)))
        elif w == "clear":
            self.plain(lambda: c.state.clear(l[1]))
        elif w == "status":
            c.status(self.word(l, 1))
        elif w == "answer":
            self.handles[l[1]][0].answer(self.word(l, 2))
        elif w == "reject":
            self.handles[l[1]][0].reject(self.word(l, 2))
        elif w == "shield":
            self.shields.append(c.shield())
            self.shields[-1].__enter__()
        elif w == "unshield":
            if self.shields:
                self.shields.pop().__exit__()
        elif w != "log":
            raise NotImplementedError(w)

    @staticmethod
    def got(value):
        return "none" if value is None else "long" if len(value) > 60 else value


# ---- Events as the words of an `out` line -------------------------------------------------

OPENS = {"activity": kinds.ACTIVITY, "timer": kinds.TIMER, "wait": kinds.EXTERNAL, "update": kinds.UPDATE, "child": kinds.CHILD,
         "detached": kinds.DETACHED, "raise": kinds.SENT_EVENT}
ENDS = {"ok": kinds.COMPLETED, "failed": kinds.FAILED, "cancelled": kinds.CANCELLED, "continued": kinds.CONTINUED,
        "terminated": kinds.TERMINATED}
COMPLETIONS = {"completed": "ActivityCompleted", "failed": "ActivityFailed", "fired": "TimerFired",
               "child-completed": "SubOrchestrationCompleted", "child-failed": "SubOrchestrationFailed"}
OPTION = re.compile("(seq|at|fires|id|version|message|rid|attrs)=")


def same(want, got):
    return want[1:] in got if want.startswith("~") and len(want) > 1 else want == got


def _option(event, option):
    key, _, value = option.partition("=")
    attrs = kinds.attrs_of(event)
    found = {"seq": event["seq"], "at": event["at"], "fires": attrs.get("fire_at_ms"), "id": attrs.get("instance"),
             "version": attrs.get("version", ""), "refused": "refused" in attrs, "forced": attrs.get("forced"),
             "abandon": attrs.get("abandon")}
    if key in ("message", "rid", "attrs") or (key in ("refused", "id") and event["kind"] not in kinds.FAMILIES):
        return True
    return str(found[key]) == value if "=" in option else bool(found[key])


def fits(event, line):
    """Is this event what the words of an `out` line say?"""
    options = [w for w in line if OPTION.match(w) or w in ("refused", "abandon", "forced")]
    line = [w for w in line if w not in options]
    if not all(_option(event, o) for o in options):
        return False
    kind, data, name = event["kind"], event.get("data", ""), event.get("name", "")
    ref = "#%d" % event.get("ref", 0)
    w = line[0]
    if w.startswith("#"):
        if w != ref or kind != OPENS[line[1]]:
            return False
        if line[1] == "timer":
            return line[2] == "-1" or str(kinds.attrs_of(event).get("delay_ms")) == line[2]
        return same(line[2], name) and (len(line) < 4 or same(line[3], data))
    rest = line[1:]
    if w == "cancel":
        return kind in kinds.CANCELS and rest[0] == ref and (len(rest) < 2 or same(rest[1], data))
    if w == "event":
        return kind == "ExternalEvent" and rest[0] == ref and same(rest[1], name) and same(rest[2] if len(rest) > 2 else "", data)
    if w == "accepted":
        return kind == "UpdateAccepted" and rest[0] == ref
    if w in COMPLETIONS:
        return kind == COMPLETIONS[w] and rest[0] == ref and (len(rest) < 2 or same(rest[1], data))
    if w in ("answered", "rejected"):
        return kind == kinds.ANSWERED and rest[0] == ref and same(rest[1], name) and (len(rest) < 3 or same(rest[2], data))
    if w in ("state", "cleared"):
        return kind == kinds.STATE and same(rest[0], name) and (len(rest) < 2 or "refused" in kinds.attrs_of(event) or same(rest[1], data))
    if w == "carried":
        return kind == kinds.CARRIED and same(rest[0], name) and same(rest[1], data)
    if w == "status":
        return kind == kinds.STATUS and ("refused" in kinds.attrs_of(event) or same(rest[0] if rest else "", data))
    if w == "patch":
        return kind == kinds.PATCH and rest[0] == name
    if w == "finished":
        return kind == ENDS[rest[0]] and (len(rest) < 2 or same(rest[1], data))
    raise AssertionError("what is %s?" % line)
