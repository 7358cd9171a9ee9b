# SPDX-License-Identifier: MIT
"""Look at the source of an orchestration for what a replay cannot repeat.

Found are calls of wall time, randomness, the environment, network and files, asyncio, and loops over
sets, in the function itself and in functions of the same module that it calls.  Functions that are
handed to ctx.step() or ctx.call() are not orchestration code and are not looked at.  Nothing is patched
at run time; what this does not see, a replay finds (pawl.testing, python -m pawl check).
"""
from __future__ import annotations

import ast
import inspect
import os
import textwrap
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set

TIME, CHANCE = "use ctx.now or ctx.datetime", "use ctx.random(), ctx.uuid()"
WORLD = "do it in an activity or in ctx.step()"
WAITS = "use ctx.timer(), ctx.gather(), ctx.race()"

# module: {function: advice}; "*" is every function of it
_MODULES: Dict[str, Dict[str, str]] = {
    "time": {"time": TIME, "time_ns": TIME, "monotonic": TIME, "monotonic_ns": TIME, "perf_counter": TIME,
             "perf_counter_ns": TIME, "localtime": TIME, "gmtime": TIME, "sleep": "use await ctx.sleep()"},
    "random": {"*": CHANCE}, "secrets": {"*": CHANCE},
    "uuid": {"uuid1": CHANCE, "uuid4": CHANCE, "getnode": CHANCE},
    "asyncio": {"*": WAITS}, "threading": {"*": WAITS}, "multiprocessing": {"*": WORLD},
    "os": {"urandom": CHANCE, "getenv": WORLD, "environ": WORLD, "getpid": WORLD, "system": WORLD, "listdir": WORLD},
    "socket": {"*": WORLD}, "subprocess": {"*": WORLD}, "requests": {"*": WORLD}, "httpx": {"*": WORLD},
    "urllib.request": {"*": WORLD}, "http.client": {"*": WORLD}, "aiohttp": {"*": WORLD}, "sqlite3": {"*": WORLD},
}
_DATES = {"now": TIME, "utcnow": TIME, "today": TIME}
_BUILT_IN = {"open": WORLD, "input": WORLD, "id": "it differs in every process",
             "hash": "of a text it differs in every process"}
_STEPS = frozenset(("step", "call", "activity"))


class Nondeterministic(Exception):
    """A strict worker refuses this orchestration."""


class NondeterministicWarning(UserWarning):
    """The source of an orchestration has what a replay cannot repeat."""


class Finding(NamedTuple):
    site: str
    what: str
    advice: str

    def __str__(self) -> str:
        return "%s: %s is not the same in a replay; %s" % self


class _Look(ast.NodeVisitor):
    """One function."""

    def __init__(self, function: Any, path: str, first: int):
        self.names: Dict[str, Any] = getattr(function, "__globals__", {})
        self.site = os.path.basename(path)
        self.first = first
        self.found: List[Finding] = []
        self.called: List[Any] = []
        self.local: Set[str] = set()

    def tell(self, node: ast.AST, what: str, advice: str) -> None:
        self.found.append(Finding("%s:%d" % (self.site, self.first + getattr(node, "lineno", 1) - 1), what, advice))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _STEPS:
            runs = node.args[:1] if node.args and isinstance(node.args[0], (ast.Name, ast.Attribute, ast.Lambda)) else []
            for part in node.args[len(runs):] + [k.value for k in node.keywords]:
                self.visit(part)              # a function that is the first argument runs outside
            return
        name = _dotted(node.func)
        if name is not None and name.partition(".")[0] not in self.local:
            self._name(node, name)
        self.generic_visit(node)

    def _name(self, node: ast.AST, name: str) -> None:
        head, _, rest = name.partition(".")
        value = self.names.get(head)
        if value is None:
            if not rest and name in _BUILT_IN:
                self.tell(node, name + "()", _BUILT_IN[name])
            return
        for part in rest.split(".") if rest else ():
            owner, value = value, getattr(value, part, None)
            advice = _advice(owner, part)
            if advice:
                return self.tell(node, name + "()", advice)
        if not rest and callable(value):
            advice = _advice_of(value)
            if advice:
                return self.tell(node, name + "()", advice)
        if inspect.isfunction(value) and value.__globals__ is self.names:
            self.called.append(value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if _dotted(node.value) == "os.environ":
            self.tell(node, "os.environ", WORLD)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        inner = node.iter
        if isinstance(inner, (ast.Set, ast.SetComp)) or isinstance(inner, ast.Call) and _dotted(inner.func) in ("set", "frozenset"):
            self.tell(node, "the order of a set", "iterate over sorted(…)")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.local.update(t.id for t in node.targets if isinstance(t, ast.Name))
        self.generic_visit(node)


def _dotted(node: ast.AST) -> Optional[str]:
    parts: List[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def _advice(owner: Any, part: str) -> Optional[str]:
    if inspect.ismodule(owner):
        known = _MODULES.get(owner.__name__, {})
        return known.get(part) or known.get("*")
    if isinstance(owner, type) and owner.__module__ == "datetime":
        return _DATES.get(part)
    return None


def _advice_of(value: Any) -> Optional[str]:
    """`from time import time`"""
    known = _MODULES.get(getattr(value, "__module__", None) or "", {})
    owner = getattr(value, "__self__", None)
    if owner is not None and type(owner).__module__ == "random":
        return CHANCE
    return known.get(getattr(value, "__name__", "")) or known.get("*")


def look_at(function: Callable[..., Any]) -> List[Finding]:
    """What was found in it, and in what it calls of its own module; [] when there is no source."""
    found: List[Finding] = []
    todo, seen = [function], set()
    while todo:
        one = inspect.unwrap(todo.pop(0))
        if one in seen:
            continue
        seen.add(one)
        look = _look(one)
        if look is not None:
            found += look.found
            todo += look.called
    return found


def _look(function: Any) -> Optional[_Look]:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
        path = inspect.getsourcefile(function) or "?"
    except (OSError, TypeError, SyntaxError):
        return None
    look = _Look(function, path, first)
    body = tree.body[0]
    for part in body.body if isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)) else [body]:
        look.visit(part)
    return look
