# SPDX-License-Identifier: MIT
"""Proof that the checker can fail: faults put into copies of a ledger, each must be noticed.

A fault is a function of the records and the checked book; it returns the records as they
would be if the server had done wrong, or None when the ledger has no place for it.
"""
import copy
import sys
import traceback

import check

BIG = 5000000   # numbers of records that nobody wrote


def drop(records, numbers):
    return [r for r in records if r[1] not in numbers]


def lone_pops(b, records, prefix):
    """Items delivered once, alone, and acknowledged: (uid, lock, numbers of their records)."""
    pop_of = {r[3]: r[1] for r in records if isinstance(r[2], int) and len(r) > 5 and r[3]}
    op_of = {}
    for r in records:
        if r[2] == "acknowledge":
            op_of.setdefault(r[4], []).append(r[1])
    for uid, i in b.items.items():
        if i.queue.startswith(prefix) and i.acked and len(i.seen) == 1 and len(i.taken) == 1:
            lock = i.seen[0][0][2]
            if lock in pop_of and len(b.locks[lock].items) == len(b.locks[lock].ops) == 1 and \
                    lock in op_of:
                yield uid, lock, [pop_of[lock]] + op_of[lock]


def lost_push(records, b):
    for _, _, numbers in lone_pops(b, records, "busy"):
        return drop(records, numbers)


def lost_order(records, b):
    for instance, f in b.finals.items():
        if f[0] == "StoryOrder" and b.items[f[2]["u"]].acked:
            return [r for r in records if not (r[2] == "final" and r[3] == instance)]


def again(records, numbers, later, relock):
    """The same records once more, `later` seconds after, under another lock id."""
    more = []
    for r in copy.deepcopy([r for r in records if r[1] in numbers]):
        r[0], r[1] = r[0] + later, r[1] + BIG
        r = [relock if x == numbers["lock"] else x for x in r]
        if len(r) > 5 and isinstance(r[2], int):
            r[4] += later
        more.append(r)
    return sorted(records + more, key=lambda r: r[0])


class Numbers(dict):
    def __init__(self, lock, numbers):
        super().__init__({n: 1 for n in numbers}, lock=lock)


def delivered_twice(records, b):
    for _, lock, numbers in lone_pops(b, records, "busy"):
        return again(records, Numbers(lock, numbers), 30.0, "other")


def redelivered_early(records, b):
    for _, lock, numbers in lone_pops(b, records, "busy"):
        return again(records, Numbers(lock, numbers[:1]), -0.0001, "other")


def wrong_order(records, b):
    """Two pops of one queue change places."""
    for queue, pops in b.pops.items():
        full = [p for p in pops if len(p[3]) == 1]
        for one, two in zip(full, full[1:]):
            x, y = one[3][0], two[3][0]
            if not queue.startswith("fifo") or (x[2], x[1]) >= (y[2], y[1]):
                continue
            first, second = b.items[x[0]], b.items[y[0]]
            if len(first.seen) > 1 or len(second.seen) > 1 or not first.acked or not second.acked:
                continue        # an ack before may have taken it
            if first.acked >= one[0] or second.acked >= one[0]:
                continue
            out = []
            for r in records:
                if isinstance(r[2], int) and len(r) > 5 and r[3] in (one[2], two[2]):
                    other = y if r[3] == one[2] else x
                    r = r[:5] + [[[other[0], str(other[1]), other[2], other[3], True]]]
                out.append(r)
            return out


def empty_though_full(records, b):
    told = {u for r in records if r[2] == "push" and r[7] for u in r[5]}    # their ids, when pushed
    for uid, lock, numbers in lone_pops(b, records, "fifo"):
        if b.items[uid].acked < b.locks[lock].sent and uid in told:
            return [r[:3] if isinstance(r[2], int) and len(r) > 5 and r[3] == lock else r
                    for r in drop(records, numbers[1:])]


def forgotten_lock(records, b):
    for _, lock, numbers in lone_pops(b, records, "fifo"):
        return [[r[0], r[1], 404] if r[1] == numbers[1] and isinstance(r[2], int) else r
                for r in records]


def duplicated_start(records, b):
    for instance, s in b.starts.items():
        if [t for t in s["told"] if t[3]]:
            n = [r[1] for r in records if r[2] == "start" and r[3] == instance]
            made = [r for r in records if r[1] in n and r[2] == 201]
            if made:
                sent = [r for r in records if r[1] == made[0][1] and r[2] == "start"][0]
                return records + [[sent[0] + 1, BIG] + sent[2:], [made[0][0] + 1, BIG] + made[0][2:]]


def final(records, instance, change):
    out = []
    for r in records:
        if r[2] in ("final", "end") and r[3] == instance:
            r = change(list(r))
        out.append(r)
    return out


def lost_start(records, b):
    for instance, s in b.starts.items():
        if [t for t in s["told"] if t[3]] and s["flow"] == "StoryChain":
            return [r for r in records if not (r[2] == "final" and r[3] == instance)]


def stuck(records, b):
    for instance, f in b.finals.items():
        if f[1] == "completed":
            return final(records, instance, lambda r: r[:4] + [r[4], "running"] + r[6:]
                         if r[2] == "final" else r)


def wrong_output(records, b):
    for instance, f in b.finals.items():
        if f[0] == "StoryChain" and f[1] == "completed":
            at = {"final": 6, "end": 5}
            return final(records, instance, lambda r: r[:at[r[2]]] + [-1] + r[at[r[2]] + 1:])


def events(records, b, change):
    for instance, f in b.finals.items():
        told = {r[2] for r in b.raises.get(instance, []) if r[3] == 202}
        if f[0] == "StoryAsk" and f[1] == "completed" and len(f[2]) > 1 and told >= set(f[2]):
            at = {"final": 6, "end": 5}
            return final(records, instance,
                         lambda r: r[:at[r[2]]] + [change(f[2])] + r[at[r[2]] + 1:])


def lost_raise(records, b):
    return events(records, b, lambda got: got[1:])


def doubled_raise(records, b):
    return events(records, b, lambda got: got[:1] + got)


def swapped_raises(records, b):
    return events(records, b, lambda got: got[::-1])


def two_results(records, b):
    for key, all in b.completes.items():
        if [s for _, s in all if s == 200]:
            return records + [[2e9, BIG, "complete", key, "another"], [2e9, BIG, 200]]


FAULTS = (
    ("a lost push", lost_push, "lost"),
    ("a duplicated start", duplicated_start, "start twice"),
    ("a wrong order", wrong_order, "order"),
    ("a lost message of a bound queue", lost_order, "lost"),
    ("an item acknowledged twice", delivered_twice, "twice"),
    ("an item delivered while it is locked", redelivered_early, "too early"),
    ("an empty answer of a full queue", empty_though_full, "empty"),
    ("a forgotten lock", forgotten_lock, "lock known"),
    ("a lost start", lost_start, "start lost"),
    ("an instance that does not end", stuck, "not ended"),
    ("a wrong output", wrong_output, "output"),
    ("a lost event", lost_raise, "raise lost"),
    ("a doubled event", doubled_raise, "raise twice"),
    ("events in the wrong order", swapped_raises, "raise order"),
    ("two results of one activity", two_results, "work twice"),
)
MANY = 400000   # records: of a long story only the first three faults, for time


def prove(path):
    records = list(check.read(path))
    b = check.check_book(records)
    out = []
    for name, fault, rule in FAULTS[:3] if len(records) > MANY else FAULTS:
        bad = fault(records, b)
        try:
            seen = check.check_book(bad).found if bad else {}
        except Exception:       # the fault made a ledger that no client could write
            traceback.print_exc(file=sys.stdout)
            seen = {}
        out.append((name, len(seen.get(rule, [])) > len(b.found.get(rule, []))))
    return out
