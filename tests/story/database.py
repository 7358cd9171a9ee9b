# SPDX-License-Identifier: MIT
"""What the story left in the database, asked with SQL of its own."""
import sqlite3

ENDS = "(2,3,4,5,6)"
SCHEDULES = "(10,20,30,40)"
CLOSES = "(11,12,13,21,22,31,32,41,42,43)"

HISTORY = (  # how many break it
    ("integrity", "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'"),
    ("events without gaps", "SELECT count(*) FROM (SELECT 1 FROM h GROUP BY uid,execution"
     " HAVING count(*)<>max(seq) OR min(seq)<>1)"),
    ("one end, and it is last", "SELECT count(*) FROM (SELECT 1 FROM h GROUP BY uid,execution HAVING"
     " sum(kind IN" + ENDS + ")<>1 OR max(seq)<>max(CASE WHEN kind IN" + ENDS + " THEN seq END))"),
    ("one schedule a task", "SELECT count(*) FROM (SELECT 1 FROM h WHERE kind IN" + SCHEDULES +
     " GROUP BY uid,execution,ref HAVING count(*)<>1)"),
    ("one completion a task", "SELECT count(*) FROM h s WHERE kind IN" + SCHEDULES +
     " AND 1<>(SELECT count(*) FROM h c WHERE c.uid=s.uid AND c.execution=s.execution AND"
     " c.ref=s.ref AND c.kind IN" + CLOSES + " AND c.seq>s.seq)"),
    ("no completion without a schedule", "SELECT count(*) FROM h c WHERE kind IN" + CLOSES +
     " AND NOT EXISTS(SELECT 1 FROM h s WHERE s.uid=c.uid AND s.execution=c.execution AND"
     " s.ref=c.ref AND s.kind IN" + SCHEDULES + ")"),
    ("no work left", "SELECT count(*) FROM all_work"),
    ("no message left", "SELECT count(*) FROM message"),
    ("no quarantine", "SELECT count(*) FROM quarantine"),
)
QUEUES = (
    ("counters", "SELECT count(*) FROM queue q WHERE ready+delayed+locked<>"
     "(SELECT count(*) FROM queue_entry e WHERE e.qid=q.qid)"),
    ("entries of no queue", "SELECT count(*) FROM queue_entry WHERE qid NOT IN(SELECT qid FROM queue)"),
    ("locks", "SELECT count(*) FROM queue q WHERE locks<>"
     "(SELECT count(*) FROM queue_lock l WHERE l.qid=q.qid)"),
    ("empty", "SELECT count(*) FROM queue_entry"),
)


def ask(b, db, rule, questions):
    for name, sql in questions:
        n = db.execute(sql).fetchone()[0]
        if n:
            b.wrong(rule, "%s: %d break it" % (name, n))


def check_effects(b, db, path):
    """Lines are KEY ATTEMPT, the key ending in -UID-EXECUTION-REF, the uid hexadecimal."""
    ran, runs = set(), 0
    for line in path.read_text().split("\n"):
        if line.strip():
            parts = line.split()[0].split("-")
            ran.add((int(parts[-3], 16), int(parts[-2]), int(parts[-1])))
            runs += 1
    scheduled = set(db.execute("SELECT uid,execution,ref FROM h WHERE kind=10 AND name='Step'"))
    recorded = {x for x in db.execute("SELECT uid,execution,ref FROM h WHERE kind=11")} & scheduled
    b.count("steps recorded", len(recorded))
    b.count("steps run again (their server was killed)", runs - len(ran))
    if ran - scheduled:
        b.wrong("effects", "%d ran without a schedule" % len(ran - scheduled))
    if recorded - ran:
        b.wrong("effects", "%d recorded and never ran" % len(recorded - ran))


def look(b, place):
    db = sqlite3.connect(place / "data" / "pawl.db")
    db.executescript(
        "CREATE TEMP TABLE h AS SELECT uid,execution,seq&4294967295 AS seq,kind,ref,name FROM history;"
        "CREATE INDEX temp.by_task ON h(uid,execution,ref)")
    ask(b, db, "history", HISTORY)
    ask(b, db, "queue rows", QUEUES)
    check_effects(b, db, place / "effects")
    db.close()
