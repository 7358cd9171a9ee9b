# SPDX-License-Identifier: MIT
"""Every exception of the package, in three families.

* Answers of the server (`Error` and below): raised by clients.
* What an orchestration meets at an await (`TaskFailed` and below, `Cancelled`): made from records of
  its history, so a replay raises the same.
* What authors raise: `Fail` ends an orchestration with its text, `Final` an activity for good.

The text of a failure is `Type: message`.  A class that @error knows is raised again at the await:

    @pawl.error
    class CardDeclined(pawl.TaskFailed): "the bank said no"
"""
from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Type, TypeVar, Union, overload

# ---- Answers of the server -------------------------------------------------------------


class Error(Exception):
    """An answer other than 2xx; `status` is HTTP's, `code` a stable word."""

    def __init__(self, status: int, code: str, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class NotFound(Error):
    """404: there is no such thing."""


class Conflict(Error):
    """409: the state forbids it, or it exists with other contents."""


class Lost(Error):
    """410: the lock or lease was lost."""


class Locked(Error):
    """423: another consumer holds the queue's lock."""


class Rejected(Conflict):
    """409: the code rejected the update, or ended without answering it."""


class Refused(Error):
    """422: the check of its wait refused the update; nothing is recorded."""


class Pending(Exception):
    """An update that is durable and not answered yet; `update` is its id."""

    def __init__(self, update: str):
        super().__init__("the update %s is not answered yet" % update)
        self.update = update


_BY_STATUS: Dict[int, Type[Error]] = {404: NotFound, 409: Conflict, 410: Lost, 422: Refused, 423: Locked}


def error_of(status: int, value: Any) -> Error:
    """The exception for an answer."""
    code, message = "error", str(value)
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        code, message = value["error"].get("code", code), value["error"].get("message", message)
    elif isinstance(value, dict):
        code, message = value.get("error_code", code), value.get("message", message)
    if code == "rejected":
        return Rejected(status, code, message)
    return _BY_STATUS.get(status, Error)(status, code, message)


def passes(error: Error) -> bool:
    """Is this about the moment and not about the request?"""
    return error.status >= 500 or error.status in (408, 425, 429)


# ---- What authors raise ----------------------------------------------------------------


class Fail(Exception):
    """Raise it in an orchestration: it fails with exactly this text."""


class Final(Exception):
    """Raise it in an activity: this failure must not be retried."""


# ---- What an orchestration meets -------------------------------------------------------


class TaskFailed(Fail):
    """An awaited activity, child or call failed.

    `text` is what was recorded, `type` and `message` its parts when it reads `Type: message`,
    `kind` Pawl's word for it (failed, start_to_close, poison …), `attempts` how often it was tried.
    It has no stack of its own: a replay makes the same exception again.
    """

    final = False

    def __init__(self, text: str = "", kind: str = "failed", attempts: int = 0):
        super().__init__(text)
        self.text, self.kind, self.attempts = text, kind, attempts
        head, colon, tail = text.partition(": ")
        named = bool(colon) and head.isidentifier()
        self.type, self.message = (head, tail) if named else ("", text)


class Timeout(TaskFailed):
    """One of the four time-outs of the call; `kind` says which."""


class Poison(TaskFailed):
    """Given up: it ended its workers too often."""


class WorkLost(TaskFailed):
    """Called with at_most_once, and nobody knows whether it was done."""


class CallRefused(TaskFailed):
    """The call was never made: it is over a limit, or its id is taken."""


class TaskCancelled(TaskFailed):
    """Withdrawn by the orchestration, for instance as the loser of a race."""


class ChildFailed(TaskFailed):
    """The child orchestration failed."""


class ChildCancelled(ChildFailed):
    """The child orchestration was cancelled."""


class ChildExists(ChildFailed):
    """The id of the child belongs to another instance."""


class Cancelled(BaseException):
    """The orchestration is being cancelled; raised by every await that would block.

    As asyncio's, it is no Exception: `except Exception` lets it pass.  Compensate inside
    `with ctx.shield():` and raise it again.
    """

    def __init__(self, reason: str = ""):
        super().__init__("cancelled" + (": " + reason if reason else ""))
        self.reason = reason


class Foreign(Exception):
    """Orchestration code did what a replay cannot repeat: it awaited something that is not Pawl's,
    or called its context outside its turn."""


class Stop(BaseException):
    """Ends code that must not decide any more.  Never caught by authors; reported whatever they do."""


class ContinueAsNew(BaseException):
    """How ctx.continue_as_new() leaves the function."""

    def __init__(self, input: Any, version: Optional[str]):
        super().__init__("continue as new")
        self.input, self.version = input, version


# Errors of the interpreter: the code is wrong, not the work.  They block an instance, and a
# corrected deploy goes on; every other exception fails it.
BUGS = (TypeError, NameError, AttributeError, LookupError, ImportError, AssertionError, RecursionError,
        SyntaxError, NotImplementedError, Foreign)

_BY_KIND: Dict[str, Type[TaskFailed]] = {
    "schedule_to_start": Timeout, "start_to_close": Timeout, "schedule_to_close": Timeout,
    "heartbeat": Timeout, "poison": Poison, "lost": WorkLost, "refused": CallRefused}
_named: Dict[str, Type[TaskFailed]] = {}
E = TypeVar("E", bound=Type[BaseException])


@overload
def error(cls: E) -> E: ...
@overload
def error(*, final: bool = False) -> Callable[[E], E]: ...


def error(cls: Optional[E] = None, *, final: bool = False) -> Union[E, Callable[[E], E]]:
    """Class decorator: failures whose text begins with this class' name are raised as it.

    With final=True an activity that raises it is not tried again.
    """
    def register(cls: E) -> E:
        if not (isinstance(cls, type) and issubclass(cls, TaskFailed)):
            raise TypeError("@pawl.error is for subclasses of pawl.TaskFailed")
        _named[cls.__name__] = cls
        cls.final = final
        return cls
    return register if cls is None else register(cls)


def failure_of(text: str, kind: str, attempts: int, child: bool) -> TaskFailed:
    """The exception that an await of this record raises."""
    cls = _BY_KIND.get(kind)
    if cls is None and child:
        cls = (ChildExists if text.endswith("exists already") else
               ChildCancelled if kind == "cancelled" or text.startswith("cancelled") else ChildFailed)
    if cls is None:
        cls = TaskCancelled if kind == "cancelled" else _named.get(text.partition(": ")[0], TaskFailed)
    made = cls.__new__(cls)
    TaskFailed.__init__(made, text, kind, attempts)
    return made


def text_of(error: BaseException) -> str:
    """What it says, whatever its __str__ does, as text that can be sent."""
    try:
        text = str(error)
    except Exception:
        text = "(an exception that cannot be printed)"
    return text.encode("utf-8", "replace").decode()


def failure_text(error: BaseException) -> str:
    """As it is recorded: the text of a Fail, `Type: message` of any other."""
    if isinstance(error, Fail):
        plain = type(error) is Fail or isinstance(error, TaskFailed) and getattr(error, "text", None)
        if plain:
            return text_of(error)
    return "%s: %s" % (type(error).__name__, text_of(error))
