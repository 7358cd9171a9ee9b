# SPDX-License-Identifier: MIT
"""What is secret stays so: no token in any log, answer or file."""
import subprocess

import kit


def token(server, scope):
    return subprocess.run([str(kit.PAWL), "token", "new", "--data", str(server.data), "--scope", scope],
                          check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def misuse(server, secret):
    """A token where it belongs and where it does not; the answers."""
    def at(value):
        return {"Authorization": value}
    start = {"orchestration": "Echo", "input": 1}
    yield server.get("/api/v1/instances", headers=at("Bearer " + secret))
    yield server.post("/api/v1/instances", start, headers=at("Bearer " + secret))
    yield server.get("/api/v1/instances", headers=at("Bearer " + secret[:-1] + "~"))  # nearly right
    yield server.get("/api/v1/instances", headers=at("Basic " + secret))
    yield server.get("/api/v1/instances", headers=at(secret))
    yield server.get("/api/v1/instances", headers=at("Bearer " + secret + " " + secret))
    yield server.get("/api/v1/instances?token=" + secret)
    yield server.get("/api/v1/instances?access_token=" + secret, headers=at("Bearer " + secret))
    yield server.post("/api/v1/instances", start, headers={"X-Token": secret})
    yield server.post("/queue/q/push", {"item": 1}, headers=at("Bearer " + secret))
    yield server.get("/metrics", headers=at("Bearer " + secret))


def test_J15_no_token_is_in_a_log_an_answer_or_a_file():
    for style in ("--log=logfmt", "--log=json"):
        server = kit.Server("--require-token", "--log-level=debug", style, start=False)
        secrets = [token(server, scope) for scope in ("read", "operate", "admin")]
        server.start()
        try:
            statuses = set()
            for secret in secrets:
                for reply in misuse(server, secret):
                    statuses.add(reply.status)
                    told = reply.body if isinstance(reply.body, bytes) else reply.body.encode()
                    assert secret.encode() not in told + str(reply.headers).encode(), reply
            assert {200, 401, 403} <= statuses, statuses
            server.stop()
        finally:
            server.stop(kit.signal.SIGKILL)
        log = server.log_text()
        assert log and not [s for s in secrets if s in log or s[5:] in log], log[-2000:]
        for path in server.data.rglob("*"):
            if path.is_file():
                assert not [s for s in secrets if s.encode() in path.read_bytes()], path
