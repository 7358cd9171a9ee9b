# SPDX-License-Identifier: MIT
"""A saga: three bookings, and what was booked is undone in reverse when one fails.

    python -m pawl worker examples/python/saga.py &
    pawl run Trip --input '{"to":"Lisbon","rooms":0}'

Each booking is an activity with retries; an error that trying again cannot cure is a pawl.error with
final=True.  The undo list is a plain Python list: it is built again from the history by a replay.
"""
import pawl

worker = pawl.Worker()


@pawl.error(final=True)
class SoldOut(pawl.TaskFailed):
    """Nothing left: no use in trying again."""


@worker.activity
def book(what, task):
    if what.get("left", 1) <= 0:
        raise SoldOut("no %s left" % what["kind"])
    return "%s-%s" % (what["kind"], task.key)


@worker.activity
def cancel_booking(booking):
    return "cancelled " + booking


@worker.orchestration("Trip")
async def trip(ctx, trip):
    undo = []
    try:
        for kind, left in (("flight", 1), ("hotel", trip.get("rooms", 1)), ("car", 1)):
            undo.append(await ctx.call(book, {"kind": kind, "to": trip["to"], "left": left}, attempts=3, initial=0.1))
            ctx.status("booked " + kind)
        return undo
    except (pawl.TaskFailed, pawl.Cancelled) as error:
        with ctx.shield():
            for booking in reversed(undo):
                await ctx.call(cancel_booking, booking, attempts=10)
        if isinstance(error, pawl.Cancelled):
            raise
        raise pawl.Fail("%s; %d bookings undone" % (error.message, len(undo)))


if __name__ == "__main__":
    worker.run()
