# SPDX-License-Identifier: MIT
"""The checker: reads the ledger, says what the server broke.

It trusts nothing but what clients wrote down.  "Present" below means certainly present:
the push was answered before, and nobody had yet sent what could take the item out.  An
outcome nobody knows is allowed both ways, and counted.
"""
import heapq
import json

from database import look
from flows import check_instances

RULES = {
    "lost": "every acknowledged push came out, or somebody may have taken it",
    "twice": "no item was acknowledged or taken twice",
    "invented": "nothing came out that nobody pushed, and the bytes are those pushed",
    "one message": "one push made one message",
    "all or none": "a bulk push is there as a whole or not at all",
    "after ack": "no item was delivered after its acknowledgement",
    "too early": "no item was delivered again before its lock ended",
    "one lock": "a queue with one lock had one at a time",
    "order": "pops came in order of priority and age, with nothing left out",
    "empty": "no pop said empty while something was there",
    "ids": "later pushes have higher ids",
    "delay": "nothing delayed came before its time",
    "lock known": "a lock that was handed out is known until it ends, and after",
    "lock end": "locks end when they said, not before and not after",
    "start lost": "every acknowledged start is there",
    "start twice": "an instance was created once",
    "not ended": "every instance has ended after healing",
    "output": "every instance has the right output",
    "changed": "an end that was seen did not change",
    "uninvited": "no instance that nobody started",
    "raise lost": "every acknowledged event was received",
    "raise twice": "no event was received twice",
    "raise order": "events came in the order they were raised",
    "cancel lost": "an acknowledged cancel cancelled, or came too late",
    "work twice": "one result was accepted for each remote activity",
    "work result": "the result accepted is the result recorded",
    "odd answer": "no answer that the API does not promise here",
    "server": "the server came up and went down as it should",
    "healing": "everything under way ended and every queue was emptied",
    "clients": "no client broke",
    "history": "the histories in the database are whole",
    "effects": "each recorded step ran, and none ran that was not scheduled",
    "queue rows": "the queues' counters agree with their rows",
}
TROUBLE = ("level=error", "Sanitizer", "runtime error:")  # in its log
ENDING = ("acknowledge", "release", "deadletter")
SLACK = 0.02    # s: rounding, and the way to our clock


def sure(status):
    return status != 0 and status < 500


class Item:
    __slots__ = ("queue", "priority", "sent", "acked", "due", "bulk", "id", "ids", "seen", "taken",
                 "maybe")

    def __init__(self, queue, priority, sent, due=0.0, bulk=0):
        self.queue, self.priority, self.sent, self.due, self.bulk = queue, priority, sent, due, bulk
        self.acked = None       # time of the first 200
        self.id = None
        self.ids = set()
        self.seen = []          # deliveries: (pop, delivery count, id)
        self.taken = []         # for good: times
        self.maybe = False


class Lock:
    __slots__ = ("queue", "sent", "got", "until", "items", "ops")

    def __init__(self, queue, sent, got, until, items):
        self.queue, self.sent, self.got, self.until = queue, sent, got, until
        self.items = items      # id: uid
        self.ops = []           # [sent, answered, op, id or None, status, new end]

    def covers(self, op, id):
        return op[3] is None or op[3] == id

    def end(self):
        """The latest end it was given for sure."""
        return max([self.until] + [o[5] for o in self.ops if o[2] == "extend" and o[4] == 200])

    def may_end(self):
        """The latest end it can have had."""
        return max([self.end()] + [o[1] + 304 for o in self.ops
                                   if o[2] == "extend" and not sure(o[4])])


class Book:
    """The ledger, read."""

    def __init__(self, records):
        self.items, self.locks, self.pops, self.pushes = {}, {}, {}, {}
        self.budget = {}        # items that plain pops without an answer may have taken
        self.starts, self.raises, self.cancels = {}, {}, {}
        self.finals, self.ends, self.takes, self.completes = {}, {}, {}, {}
        self.bulks = {}
        self.found, self.counts = {}, {}
        self.open = {}
        for r in records:
            if isinstance(r[2], str):
                self.sent(r)
            else:
                self.answered(r)
        for n in list(self.open):           # nobody wrote down an answer
            self.answered([1e12, n, 0])

    def wrong(self, rule, text):
        self.found.setdefault(rule, []).append(text)

    def count(self, what, n=1):
        self.counts[what] = self.counts.get(what, 0) + n

    def sent(self, r):
        t, n, kind = r[:3]
        if kind in ("end", "final", "odd", "take", "kill"):
            getattr(self, "see_" + kind)(t, *r[3:])
            return
        self.open[n] = r
        if kind == "push":
            _, _, _, queue, priority, uids, delay, careful = r
            for u in uids:
                if u not in self.items:
                    self.items[u] = Item(queue, priority, t, t + delay if delay else 0,
                                         n if len(uids) > 1 else 0)
            if len(uids) > 1 and not careful:
                self.bulks[n] = uids
        elif kind == "start":
            s = self.starts.setdefault(r[3], {"flow": r[4], "n": r[5], "told": []})
            if r[4] == "StoryPush":
                for i in range(r[5]):
                    self.items.setdefault("%s/%d" % (r[3], i), Item("from-flows", i, t))

    def answered(self, r):
        t, n, status = r[:3]
        s = self.open.pop(n)
        getattr(self, "done_" + s[2].replace("-", "_"), self.done_other)(s, t, status, r[3:])

    # ---- What was answered

    def done_other(self, s, t, status, said):
        pass

    def done_push(self, s, t, status, said):
        if status != 200:
            return
        ids = [int(i) for i in said[0]] if said else []
        for k, u in enumerate(s[5]):
            i = self.items[u]
            i.acked = t if i.acked is None else min(i.acked, t)
            if ids:
                i.id = ids[k]
                i.ids.add(ids[k])
        if ids:
            self.pushes.setdefault(s[3], []).append((s[0], t, ids))

    def done_pop(self, s, t, status, said):
        queue, count, ttl = s[3:6]
        pop = (s[0], t, said[0] if said else None, [(u, int(i), p, d, ok) for u, i, p, d, ok in
                                                   said[2]] if said else [], status, queue)
        if not sure(status):
            if not ttl:
                self.budget[queue] = self.budget.get(queue, 0) + count
            self.count("pops whose answer was lost")
            return
        if status == 200:
            self.pops.setdefault(queue, []).append(pop)
        if pop[2]:
            if pop[2] in self.locks:
                self.wrong("one lock", "lock id %s was handed out twice" % pop[2])
            self.locks[pop[2]] = Lock(queue, s[0], t, said[1], {i: u for u, i, *_ in pop[3]})

    def done_lock(self, s, t, status, said):
        lock, _, one = s[4].partition(".")
        self.locks[lock].ops.append([s[0], t, s[2], int(one) if one else None, status,
                                     said[0] if said else 0])

    done_acknowledge = done_release = done_extend = done_deadletter = done_lock

    def done_start(self, s, t, status, said):
        self.starts[s[3]]["told"].append((s[0], t, status, said[0] if said else None))

    def done_raise(self, s, t, status, said):
        self.raises.setdefault(s[3], []).append((s[0], t, s[4], status))

    def done_cancel(self, s, t, status, said):
        self.cancels.setdefault(s[3], []).append((s[0], t, status))

    def done_complete(self, s, t, status, said):
        self.completes.setdefault(s[3], []).append((s[4], status))

    # ---- What was seen

    def see_end(self, t, instance, status, output, error):
        self.ends[instance] = (status, output, error)

    def see_final(self, t, instance, flow, status, output, error, child):
        if instance in self.finals:
            self.wrong("start twice", "%s is listed twice" % instance)
        self.finals[instance] = (flow, status, output, error, child)

    def see_take(self, t, token, key, instance, id, attempt):
        was = self.takes.setdefault(key, (instance, id))
        if was != (instance, id):
            self.wrong("work twice", "key %s is of %s and %s" % (key, was, (instance, id)))
        self.count("leases")
        self.count("leases after a lost one", attempt > 1)

    def see_odd(self, t, kind, n, status, text):
        self.wrong("odd answer", "%s %d: %d %s" % (kind, n, status, text))

    def see_kill(self, t, how):
        self.count("ends of the server")


# ---- Queues --------------------------------------------------------------------------

def gather(b):
    """Deliveries, and what was taken, by item."""
    for queue, pops in b.pops.items():
        for pop in pops:
            for uid, id, priority, times, intact in pop[3]:
                i = b.items.get(uid)
                if i is None or not intact or i.priority != priority:
                    b.wrong("invented", "%s came out of %s at priority %d" % (uid, queue, priority))
                    continue
                i.seen.append((pop, times, id))
                i.ids.add(id)
                i.id = id
                if not pop[2]:
                    i.taken.append(pop[1])
    for lock in b.locks.values():
        for op in lock.ops:
            if op[2] != "acknowledge" or 400 <= op[4] < 500:
                continue
            for id, uid in lock.items.items():
                if lock.covers(op, id) and uid in b.items:
                    if op[4] == 200:
                        b.items[uid].taken.append(op[1])
                    else:
                        b.items[uid].maybe = True
    for instance, (flow, status, output, _, _) in b.finals.items():
        uid = output.get("u") if isinstance(output, dict) else None
        if flow in ("StoryOrder", "StoryPop") and status == "completed" and uid is not None:
            if uid not in b.items:
                b.wrong("invented", "%s has %s" % (instance, uid))
            elif flow == "StoryOrder" or output["acked"]:
                b.items[uid].taken.append(0.0)
            else:
                b.items[uid].maybe = True
    for uid, i in b.items.items():          # pushed by an orchestration: when it has ended, all
        if i.queue == "from-flows":
            if b.finals.get(uid.rsplit("/", 1)[0], (0, 0))[1] == "completed":
                i.acked = 1e12


def check_items(b):
    lost = {}
    for uid, i in b.items.items():
        if i.acked and not i.taken and not i.maybe:
            lost.setdefault(i.queue, []).append(uid)
        if len(i.taken) > 1:
            b.wrong("twice", "%s in %s was taken %d times" % (uid, i.queue, len(i.taken)))
        if len(i.ids) > 1 and not i.queue.startswith("frail"):
            b.wrong("one message", "%s in %s is messages %s" % (uid, i.queue, sorted(i.ids)))
        for pop, times, id in i.seen:
            if i.due and pop[1] < i.due - SLACK:
                b.wrong("delay", "%s came %.3f s early" % (uid, i.due - pop[1]))
            if i.taken and 0 < min(i.taken) < pop[0]:
                b.wrong("after ack", "%s came again at %.3f" % (uid, pop[1]))
        check_again(b, uid, i)
        b.count("items taken for good", bool(i.taken))
        b.count("items that may be taken (answer lost)", bool(not i.taken and i.maybe))
        b.count("pushes not acknowledged, yet there", bool(not i.acked and i.seen))
    for queue, uids in lost.items():
        if len(uids) > b.budget.get(queue, 0):
            b.wrong("lost", "%d of %s, %d explained by plain pops without an answer: %s" % (
                len(uids), queue, b.budget.get(queue, 0), " ".join(uids[:5])))
        else:
            b.count("items in plain pops without an answer", len(uids))
    for uids in b.bulks.values():
        there = sum(1 for u in uids if b.items[u].seen or b.items[u].taken)
        if 0 < there < len(uids) - b.budget.get(b.items[uids[0]].queue, 0):
            b.wrong("all or none", "%d of %d: %s" % (there, len(uids), uids[0]))


def check_again(b, uid, i):
    """Delivered again: the lock before must have ended."""
    redriven = i.queue.startswith("frail")      # then the count begins again
    seen = sorted(i.seen, key=lambda d: d[0][1] if redriven else (d[2], d[1]))
    for (before, _, id), (pop, _, id2) in zip(seen, seen[1:]):
        b.count("deliveries again")
        if id != id2 or not before[2]:
            continue
        lock = b.locks[before[2]]
        ended = [o for o in lock.ops if o[2] in ENDING and o[0] < pop[1] and lock.covers(o, id)
                 and not 400 <= o[4] < 500]
        if ended:
            b.count("… after a release or an ack without an answer")
        elif pop[1] < lock.end() - SLACK:
            b.wrong("too early", "%s %.3f s before its lock ended" % (uid, lock.end() - pop[1]))
        else:
            b.count("… after a lock that ran out")


def check_locks(b):
    for id, lock in b.locks.items():
        for op in sorted(lock.ops):
            if not sure(op[4]):
                continue
            ending = [o for o in lock.ops if o is not op and o[2] in ENDING and o[0] <= op[1]
                      and not 400 <= o[4] < 500]
            if op[4] in (400, 404) and not ending:
                b.wrong("lock known", "%s of %s: %d" % (op[2], id, op[4]))
            if op[4] == 410 and op[1] < lock.end() - SLACK:
                b.wrong("lock end", "%s of %s: expired %.3f s early" % (op[2], id,
                                                                        lock.end() - op[1]))
            if op[4] == 200 and op[0] > lock.may_end() + SLACK:
                b.wrong("lock end", "%s of %s: %.3f s late" % (op[2], id, op[0] - lock.may_end()))
            b.count("locks found lost (410)", op[4] == 410)


def removal(b, i):
    """When somebody first sent what may take the item out of its queue."""
    first = 1e12
    for pop, _, id in i.seen:
        for op in b.locks[pop[2]].ops:
            if op[2] == "acknowledge" and not 400 <= op[4] < 500 and b.locks[pop[2]].covers(op, id):
                first = min(first, op[0])
    return first


def check_order(b, queue):
    """One lock at a time: every pop must have had the first of all that were present."""
    heap, at = [], 0
    mine = sorted(((i.acked, i.priority, i.id, removal(b, i), uid) for uid, i in b.items.items()
                   if i.queue == queue and i.acked and i.id is not None))
    before = None
    for pop in sorted(b.pops.get(queue, []), key=lambda p: p[1]):
        while at < len(mine) and mine[at][0] < pop[1]:
            heapq.heappush(heap, mine[at][1:4] + (mine[at][0], mine[at][4]))
            at += 1
        got = [(p, i) for _, i, p, _, _ in pop[3]]
        back, first = [], None
        while heap:
            top = heapq.heappop(heap)
            if top[2] <= pop[1]:
                continue
            back.append(top)
            if top[3] < pop[0] and top[:2] not in got:
                first = top
                break
        for x in back:
            heapq.heappush(heap, x)
        if not got and first:
            b.wrong("empty", "%s at %.3f, but %s was there" % (queue, pop[1], first[4]))
        if got and (got != sorted(got) or (first and first[:2] < max(got))):
            b.wrong("order", "%s at %.3f gave %s, but %s was there" % (
                queue, pop[1], got, first and (first[4], first[:2])))
        if got:
            check_one_lock(b, queue, before, pop)
            before = pop
        b.count("pops whose order was checked", bool(got))


def check_one_lock(b, queue, before, pop):
    if before is None:
        return
    lock = b.locks[before[2]]
    ended = [o for o in lock.ops if o[2] in ENDING and o[0] < pop[1] and not 400 <= o[4] < 500]
    if not ended and pop[1] < lock.end() - SLACK:
        b.wrong("one lock", "%s at %.3f: %s was still locked" % (queue, pop[1], before[2]))


def check_ids(b):
    for queue, pushes in b.pushes.items():
        done, top, at = sorted((t1, max(ids)) for _, t1, ids in pushes), 0, 0
        for t0, _, ids in sorted(pushes):
            while at < len(done) and done[at][0] < t0:
                top = max(top, done[at][1])
                at += 1
            if ids != sorted(ids) or (ids[0] <= top and not queue_repeats(b, queue, ids[0], t0)):
                b.wrong("ids", "%s: %s after %d" % (queue, ids, top))


def queue_repeats(b, queue, id, t0):
    """A push asked again gets the id of the first time."""
    b.repeats = getattr(b, "repeats", None) or {i.id: i.sent for i in b.items.values()}
    return b.repeats.get(id, t0) < t0


# ---- All of it ------------------------------------------------------------------------

def check_book(records):
    b = Book(records)
    gather(b)
    check_items(b)
    check_locks(b)
    for queue in list(b.pops):
        if queue.startswith("fifo"):
            check_order(b, queue)
    check_ids(b)
    check_instances(b)
    return b


def read(path):
    with open(path) as f:
        for line in f:
            yield json.loads(line)


def everything(place, told):
    b = check_book(read(place / "ledger"))
    for text in told["server"].wrong:
        b.wrong("server", text)
    for line in open(place / "server.log", errors="replace"):
        if any(word in line for word in TROUBLE):
            b.wrong("server", "it said: " + line.strip())
    if told["left"]:
        b.wrong("healing", "left: %s" % told["left"][:5])
    for text in told["crashed"]:
        b.wrong("clients", text)
    b.count("ms the wall clock was set during the story", round(told["drift"] * 1000))
    look(b, place)
    return b


def report(path, args, told, b, proofs):
    """One page; how many rules held."""
    ledger, server = told["ledger"], told["server"]
    failed = sum(1 for r in RULES if r in b.found) + sum(1 for _, ok in proofs if not ok)
    passed = len(RULES) + len(proofs) - failed
    out = ["# The story", "", "%d clients, %g minutes and healing: %d s; seed %d, %d instances." % (
        told["clients"], args.minutes, told["seconds"], args.seed, told["instances"]), "",
        "The server was ended %d times: %s. Slowest start %.2f s." % (
            sum(server.ends.values()), ", ".join("%s %d" % e for e in sorted(server.ends.items())),
            server.slowest), "",
        "| request | sent | acknowledged | outcome unknown |", "|---|---|---|---|"]
    for kind in sorted(ledger.sent):
        out.append("| %s | %d | %d | %d |" % (kind, ledger.sent[kind], ledger.acked.get(kind, 0),
                                              ledger.unknown.get(kind, 0)))
    out += ["", "| | |", "|---|---|"]
    out += ["| %s | %d |" % (k, v) for k, v in sorted(b.counts.items())]
    out += ["", "| rule | violations |", "|---|---|"]
    out += ["| %s: %s | %d |" % (r, text, len(b.found.get(r, []))) for r, text in RULES.items()]
    out += ["", "| fault put into a copy of the ledger | noticed |", "|---|---|"]
    out += ["| %s | %s |" % (name, "yes" if ok else "NO") for name, ok in proofs]
    for rule, texts in b.found.items():
        out += ["", "## FAILED %s: %s" % (rule, RULES[rule]), ""] + ["* " + t for t in texts[:20]]
        for t in texts[:5]:
            print("FAILED %s: %s" % (rule, t))
    out += ["", "%d passed, %d failed" % (passed, failed)]
    path.write_text("\n".join(out) + "\n")
    return passed, failed
