# SPDX-License-Identifier: MIT
"""clients/python and a network that fails it: no result is thrown away."""
import contextlib
import http.client
import http.server
import io
import threading
import time

import kit
from kit import Server

PASS, DROP, GONE = "pass", "drop the answer", "drop the request"


class Proxy:
    """Between a client and the server.  `rule(verb)` says what becomes of a request, by the last
    word of its path: PASS, DROP, GONE, or a status to answer instead of the server."""

    def __init__(self, server, rule):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                proxy.paths.append(self.path)
                what = proxy.rule(self.path.rsplit("/", 1)[1])
                status, text = what, b'{"error":{"code":"x","message":"says the proxy"}}'
                if what in (PASS, DROP):
                    try:
                        conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=70)
                        conn.request("POST", self.path, body, {"Content-Type": "application/json"})
                        answer = conn.getresponse()
                        status, text = answer.status, answer.read()
                        conn.close()
                    except (OSError, http.client.HTTPException):
                        what = GONE       # the server is away
                if what in (DROP, GONE):
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.rule, self.paths = rule, []
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def times(self, verb):
        return sum(1 for p in self.paths if p.endswith("/" + verb))


class Shop:
    """A worker for Charge behind a proxy; `runs` counts what it did."""

    def __init__(self, server, charge, rule=lambda verb: PASS, lock_seconds=3.0):
        import pawl
        self.runs, self.said = 0, io.StringIO()
        self.proxy = Proxy(server, rule)
        self.worker = pawl.Worker(pawl.Client(self.proxy.url), lock_seconds=lock_seconds)

        @self.worker.activity("Charge")
        def run(order, task):
            self.runs += 1
            return charge(order, task)

        self.thread = threading.Thread(target=self.worker.run, args=(False,))

    def __enter__(self):
        self.catch = contextlib.redirect_stderr(self.said)
        self.catch.__enter__()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.worker.stop()
        self.thread.join(30)
        self.catch.__exit__(None, None, None)
        self.proxy.http.shutdown()
        self.proxy.http.server_close()
        assert not self.thread.is_alive()

    def until_said(self, text):
        for _ in range(300):
            if text in self.said.getvalue():
                return
            time.sleep(0.1)
        raise AssertionError("%r is not in %r" % (text, self.said.getvalue()))


def test_python_hands_in_until_the_lease_is_over(server):
    """Away for twice the lease, in two ways; beats go through, so the lease lives."""
    began = time.monotonic()

    def rule(verb):
        past = time.monotonic() - began
        return PASS if verb != "complete" or past > 6 else GONE if past < 3 else 503

    with Shop(server, lambda order, task: "paid", rule) as shop:
        id = server.start_instance("RemoteOrder", 1)
        assert server.ended(id)["output"] == "paid"
        assert time.monotonic() - began > 6 and shop.runs == 1
        assert shop.proxy.times("heartbeat") >= 4, shop.proxy.paths


def test_python_hands_in_again_when_the_answer_was_lost(server):
    verbs = []

    def rule(verb):
        verbs.append(verb)
        return DROP if verb == "complete" and verbs.count(verb) < 3 else PASS

    with Shop(server, lambda order, task: "paid", rule) as shop:
        id = server.start_instance("RemoteOrder", 1)
        assert server.ended(id)["output"] == "paid" and shop.runs == 1
    assert verbs.count("complete") >= 2, verbs


def nested(depth):
    return [nested(depth - 1)] if depth else 1


def give(order, task):
    """What an activity may return or raise that is no result."""
    if order == "nan":
        return {"mean": float("nan")}
    if order == "deep":
        return nested(200)
    if order == "deeper":
        deep = []
        for _ in range(100000):
            deep = [deep]
        return deep
    if order == "large":
        return "x" * 300000
    if order == "set":
        return {1, 2}
    if order == "exit":
        raise SystemExit(3)
    if order == "long":
        raise RuntimeError("\u00fc" * 300000)
    raise RuntimeError("file \udcff")


def test_python_refused_results_are_final_failures():
    with Server("--max-payload", "100K") as server, Shop(server, give) as shop:
        told = {"nan": "no JSON (ValueError", "deep": "refused the result: 400",
                "deeper": "no JSON (RecursionError", "large": "refused the result: 4",
                "set": "no JSON (TypeError", "exit": "SystemExit: 3",
                "long": "refused the error text: 4", "surrogate": "RuntimeError: file ?"}
        retried = ("exit", "surrogate")          # ordinary failures: the policy's three attempts
        for order, text in told.items():
            before = shop.runs
            end = server.ended(server.start_instance("RemoteRetry", order))
            assert end["status"] == "failed" and text in end["error"], (order, end)
            assert shop.runs - before == (3 if order in retried else 1), (order, shop.runs)
            assert order in retried or text in shop.said.getvalue(), (order, shop.said.getvalue())


def test_python_a_proxy_that_forbids_the_result(server):
    with Shop(server, lambda *_: "paid", lambda v: 403 if v == "complete" else PASS) as shop:
        end = server.ended(server.start_instance("RemoteRetry", 1))
        assert end["error"] == "the server refused the result: 403 says the proxy", end
        assert shop.runs == 1 and end["error"] in shop.said.getvalue()


def test_python_a_token_that_is_mended_in_time(server):
    """Refused with everything it hands in: that is not the result's fault."""
    began = time.monotonic()
    deny = ("complete", "fail")
    rule = lambda verb: 401 if verb in deny and time.monotonic() - began < 2 else PASS
    with Shop(server, lambda *_: "paid", rule) as shop:
        end = server.ended(server.start_instance("RemoteRetry", 1))
        assert end["status"] == "completed" and end["output"] == "paid", end
        assert shop.runs == 1 and shop.said.getvalue().count("401") == 1, shop.said.getvalue()


def test_python_says_what_it_could_not_hand_in(server):
    away = lambda verb: PASS if verb == "poll" else GONE
    with Shop(server, lambda *_: "paid", away, lock_seconds=1.0) as shop:
        server.start_instance("RemoteOrder", 1, "lost-1")
        shop.until_said("Charge of instance 'lost-1' (attempt 1): not handed in before the lease")
        shop.proxy.rule = lambda verb: PASS
        assert server.ended("lost-1")["output"] == "paid" and shop.runs >= 2


def test_python_keeps_the_path_of_its_address(server):
    import pawl
    proxy = Proxy(server, lambda verb: 200)
    pawl.Client(proxy.url + "/base/path/").cancel("x")
    assert proxy.paths == ["/base/path/api/v1/instances/x/cancel"], proxy.paths


def test_python_reads_published_state(server):
    import pawl
    client = pawl.Client(server.url)
    client.start("Board", {"k": 1}, instance="board")
    client.raise_event("board", "Put", [1])
    client.raise_event("board", "Put", "x")
    client.wait("board")
    assert client.state("board") == {"first": {"k": 1}, "last": [1], "raw \u00e9": "not JSON"}
    assert client.state("board", "raw \u00e9") == "not JSON"
    try:
        client.state("board", "a/b")
        raise AssertionError("it is not set")
    except pawl.NotFound as e:
        assert "is not set" in str(e), e


def test_python_history_says_how_a_task_ended(server):
    import pawl
    client = pawl.Client(server.url)
    server.ended(server.start_instance("Late", 1, "late"))
    failed = [e for e in client.history("late") if e["kind"] == "ActivityFailed"]
    assert [(e["result_kind"], e["attempts"]) for e in failed] == [("schedule_to_start", 0)]
