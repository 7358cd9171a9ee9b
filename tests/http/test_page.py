# SPDX-License-Identifier: MIT
"""GET / for people: the files of the page, as the binary serves them.  tests/page opens them in a browser."""
import gzip
import pathlib
import re

import kit
from kit import Server, expect

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
          "form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; "
          "trusted-types 'none'")
SOURCES = sorted(p.name for p in (kit.ROOT / "src" / "web").iterdir())
FILES = sorted({"app.js" if n.endswith(".js") else n for n in SOURCES})    # all modules are one script
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
         ".html": "text/html; charset=utf-8"}


def test_a_browser_gets_the_page_and_others_the_way_to_the_api(server):
    page = expect(server.get("/", headers=BROWSER), 200)
    assert b'src="/web/app.js"' in page.body and page.body.startswith(b"<!doctype html>")
    assert page.headers["Content-Security-Policy"] == POLICY and page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-cache" and "Accept" in page.headers["Vary"]
    for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "text/html;q=0"}):
        other = expect(server.get("/", headers=accept), 200)
        assert b"/openapi.json" in other.body and other.headers["Cache-Control"] == "no-store", accept
    assert expect(server.get("/", headers={**BROWSER, "If-None-Match": page.headers["ETag"]}), 304).body == b""


def test_every_file_is_there_in_both_forms(server):
    for name in FILES:
        plain = expect(server.get("/web/" + name), 200)
        assert plain.headers["Content-Type"] == TYPES[pathlib.Path(name).suffix], name
        assert plain.headers["X-Content-Type-Options"] == "nosniff" and "Content-Encoding" not in plain.headers
        for accept in ("gzip", "br, GZIP;q=0.5", "deflate,gzip ; q=1.0"):
            packed = expect(server.get("/web/" + name, headers={"Accept-Encoding": accept}), 200)
            assert packed.headers["Content-Encoding"] == "gzip" and "Accept-Encoding" in packed.headers["Vary"]
            assert gzip.decompress(packed.body) == plain.body, (name, accept)
        for accept in ("gzip;q=0", "gzip; q=0.000", "xgzip", "br"):
            assert server.get("/web/" + name, headers={"Accept-Encoding": accept}).body == plain.body, (name, accept)
        etag = plain.headers["ETag"]
        assert re.fullmatch(r'W/"[0-9a-f]{16}"', etag)
        same = server.get("/web/" + name, headers={"If-None-Match": '"other", ' + etag})
        assert same.status == 304 and same.body == b"" and same.headers["ETag"] == etag
        assert server.get("/web/" + name, headers={"If-None-Match": '"other"'}).body == plain.body
        head = server.call("HEAD", "/web/" + name)
        assert head.body == b"" and head.headers["Content-Length"] == str(len(plain.body))


def test_the_page_is_small(server):
    """The build fails when it is over 160,000 bytes, or 65,000 compressed (tools/embed-web.c)."""
    plain = sum(len(server.get("/web/" + n).body) for n in FILES)
    packed = sum(len(server.get("/web/" + n, headers={"Accept-Encoding": "gzip"}).body) for n in FILES)
    assert 100_000 < plain <= 160_000 and 30_000 < packed <= 65_000, (plain, packed)


def test_nothing_of_the_page_comes_from_elsewhere_or_parses_markup():
    for name in SOURCES:
        text = (kit.ROOT / "src" / "web" / name).read_text()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                     "setAttribute(\"style\"", " style=", "onclick=", "https://", "//cdn"):
            assert word not in text, (name, word)
        for url in re.findall(r"http://[\w./]+", text):
            assert url in ("http://www.w3.org/2000/svg",), (name, url)


def embed(**modules):
    """What tools/embed-web makes of these modules: the script, or what it says against them."""
    folder = kit.pathlib.Path(kit.tempfile.mkdtemp(dir=kit.work_dir()))
    for name, text in modules.items():
        (folder / (name + ".js")).write_text(text)
    got = kit.subprocess.run([kit.BUILD / "web" / "embed-web", folder] + sorted(folder.glob("*.js")),
                             capture_output=True, text=True)
    return (folder / "app.js").read_text() if got.returncode == 0 else got.stderr


def run_script(text):
    got = kit.subprocess.run(["node", "-e", text], capture_output=True, text=True, check=True)
    return got.stdout.split()


def test_modules_become_one_script():
    script = embed(app='import {one, two} from "./b.js";\nimport {up} from "./c.js";\n'
                       'import main from "./b.js";\nconst three = 3; // hidden from b.js\nconsole.log(one, two(), up(1), main(), three);\n'
                       'const o = {true: 1, undefined: 2};\nlet p = true;\nconsole.log(o.true, o.undefined, p, p ? undefined : false, p === true);\n',
                   b='import {up} from "./c.js";\nconst three = 0.5;\nexport const one = up(0);\n'
                     'export function two() {\n\treturn `${one + three}`;\n}\n'
                     'export default function start() {\n\tfor (let i = 0; i < 3; i++);\n}\n',
                   c='export const up = n => {\n\tconst a = n;\n\tconst b = 1;\n\treturn a + b;\n};\n')
    assert run_script(script) == ["1", "1.5", "2", "undefined", "3", "1", "2", "true", "undefined", "true"], script
    assert "hidden" not in script and "let a=n,b=1" in script and "const" not in script and "i++);}" in script, script


def test_modules_that_do_not_fit_end_the_build():
    for modules, says in (
            ({"app": 'import {no} from "./b.js";\n', "b": "export const yes = 1;\n"}, "imports no, which b.js"),
            ({"app": 'import {a} from "./none.js";\n'}, "none.js, which is not there"),
            ({"app": 'import {a} from "./b.js";\n', "b": 'import {x} from "./c.js";\nexport const a = 1;\n',
              "c": 'import {a} from "./b.js";\nexport const x = 1;\n'}, "imports itself"),
            ({"app": 'import {a} from "./b.js";\nimport {b} from "./c.js";\n',
              "b": "export const a = 1;\n", "c": "export const a = 2;\nexport const b = 1;\n"}, "both export a"),
            ({"app": "1;\n", "b": "1;\n"}, "no module imports b.js"),
            ({"app": 'import {a as c} from "./b.js";\n', "b": "export const a = 1;\n"}, "an import is not understood"),
            ({"app": "export {x};\n"}, "an export is not understood"),
            ({"app": "const a = `${1;\n"}, "does not end"),
            ({"app": "f);\n"}, "a bracket closes")):
        assert says in embed(**modules), (modules, embed(**modules))


def test_what_is_no_file_of_the_page(server):
    for name in ("nothing.js", "ui.js", "..%2Fapp.js", "%2e%2e", "app.js%2F", "APP.JS", "files.c", "index.html.gz"):
        expect(server.get("/web/" + name), 404, "unknown_path")
    expect(server.get("/web/app.js?v=1"), 400)
    assert server.call("POST", "/web/app.js").headers["Allow"] == "GET"


def test_the_page_needs_no_token_and_its_calls_do():
    from test_security import token
    server = Server("--require-token", start=False)
    token(server, "read")
    with server.start():
        assert expect(server.get("/", headers=BROWSER), 200).body.startswith(b"<!doctype html>")
        expect(server.get("/web/app.js"), 200)
        expect(server.get("/api/v1/instances"), 401)
