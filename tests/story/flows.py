# SPDX-License-Identifier: MIT
"""What each orchestration of flows.c must have become."""

ENDED = ("completed", "failed", "cancelled")


def right_output(b, instance, flow, n, output):
    if flow == "StoryChain":
        return output == n * (n + 1) // 2
    if flow == "StoryFan":
        return output == n * (n - 1) // 2
    if flow in ("StoryNap", "StoryRound", "StoryPush"):
        return output == n
    if flow == "StoryPop":
        return output is None or set(output) == {"u", "acked", "why"}
    if flow == "StoryRemote":
        return isinstance(output, list) and len(output) == 2 and output[0] != output[1]
    if flow == "StoryAsk":
        return isinstance(output, list)
    return flow != "StoryLong"


def check_start(b, instance, s):
    told, final = s["told"], b.finals.get(instance)
    acked = [t for t in told if 200 <= t[2] < 300]
    created = [t for t in acked if t[3]]
    unknown = [t for t in told if t[2] == 0 or t[2] >= 500]
    if acked and not final:
        b.wrong("start lost", "%s: %s" % (instance, told))
    if len(created) > 1:
        b.wrong("start twice", "%s: %s" % (instance, told))
    if acked and not created and not unknown:
        b.wrong("start twice", "%s was there before it was started" % instance)
    b.count("starts not acknowledged, yet there", bool(final and not acked))
    if not final:
        return
    flow, status, output, error, _ = final
    if status not in ENDED:
        b.wrong("not ended", "%s is %s" % (instance, status))
        return
    asked = b.cancels.get(instance, [])
    if status == "cancelled" and asked:
        b.count("cancelled")
    elif flow == "StoryLong" and any(c[2] == 202 for c in asked):
        b.wrong("cancel lost", "%s is %s" % (instance, status))
    elif status != "completed" or flow != s["flow"] or not right_output(b, instance, flow, s["n"],
                                                                        output):
        b.wrong("output", "%s is %s: %r %r" % (instance, status, output, error))
    if status == "completed" and asked and all(c[2] == 202 for c in asked) and flow != "StoryLong":
        b.count("completed before the cancel")


def check_events(b, instance, raises):
    """All of one instance are raised one after the other."""
    final = b.finals.get(instance)
    if not final or final[1] != "completed" or not isinstance(final[2], list):
        return
    got, order = final[2], {}
    for t0, t1, nonce, status in raises:
        order.setdefault(nonce, len(order))
        if status == 202 and nonce not in got:
            b.wrong("raise lost", "%s %s" % (instance, nonce))
    if len(set(got)) != len(got):
        b.wrong("raise twice", "%s: %s" % (instance, got))
    if any(g not in order for g in got):
        b.wrong("raise order", "%s has events nobody raised: %s" % (instance, got))
    elif [order[g] for g in got] != sorted(order[g] for g in got):
        b.wrong("raise order", "%s: %s, raised %s" % (instance, got, list(order)))
    b.count("events received", len(got))


def check_work(b):
    key_of = {nonce: key for key, all in b.completes.items() for nonce, _ in all}
    for key, all in b.completes.items():
        accepted = {nonce for nonce, status in all if status == 200}
        if len(accepted) > 1:
            b.wrong("work twice", "%s: %s" % (key, accepted))
        instance = b.takes[key][0]
        final = b.finals.get(instance)
        if final and final[1] == "completed" and not accepted <= set(final[2]):
            b.wrong("work result", "%s has %s, accepted was %s" % (instance, final[2], accepted))
        b.count("remote results accepted", len(accepted))
    for instance, (flow, status, output, _, _) in b.finals.items():
        if flow != "StoryRemote" or status != "completed":
            continue
        for nonce in output:
            key = key_of.get(nonce)
            if key is None or b.takes[key][0] != instance:
                b.wrong("work result", "%s has %s of %s" % (instance, nonce, key))


def check_instances(b):
    for instance, s in b.starts.items():
        check_start(b, instance, s)
    for instance, raises in b.raises.items():
        check_events(b, instance, raises)
    check_work(b)
    for instance, (flow, status, output, error, child) in b.finals.items():
        seen = b.ends.get(instance)
        if seen and seen != (status, output, error):
            b.wrong("changed", "%s was %s, is %s" % (instance, seen, (status, output, error)))
        if status not in ENDED:
            b.wrong("not ended", "%s is %s" % (instance, status))
        if not child and flow != "StoryOrder" and instance not in b.starts:
            b.wrong("uninvited", "%s (%s)" % (instance, flow))
        if (child or flow == "StoryOrder") and status == "failed":
            b.wrong("output", "%s failed: %s" % (instance, error))
