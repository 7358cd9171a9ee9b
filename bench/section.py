"""Sections of bench/RESULTS.md: `make bench` writes one, `make bench-peers` the other."""
import os, re

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "RESULTS.md")
ORDER = ["figures", "peers"]


def write(name, lines):
    """Put `lines` between the marks of the section; the others stay as they are."""
    text = open(FILE).read() if os.path.exists(FILE) else ""
    kept = dict(re.findall(r"<!-- begin (\w+) -->\n(.*?)<!-- end \1 -->\n", text, re.S))
    kept[name] = "\n".join(lines) + "\n"
    parts = [f"<!-- begin {n} -->\n{kept[n]}<!-- end {n} -->\n" for n in ORDER if n in kept]
    open(FILE, "w").write("\n".join(parts))
