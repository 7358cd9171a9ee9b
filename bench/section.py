"""Sections of a page that are written by a program: what lies between their marks.

bench/RESULTS.md has two, of `make bench` and `make bench-peers`; README.md has one.
"""
import os, re

BENCH = os.path.dirname(os.path.abspath(__file__))
RESULTS, README = os.path.join(BENCH, "RESULTS.md"), os.path.join(BENCH, "..", "README.md")


def write(name, lines, file=RESULTS):
    """Replace the section, or put it at the end; everything else stays as it is."""
    text = open(file).read() if os.path.exists(file) else ""
    made = f"<!-- begin {name} -->\n" + "\n".join(lines) + f"\n<!-- end {name} -->\n"
    found = re.search(f"<!-- begin {name} -->\n.*?<!-- end {name} -->\n", text, re.S)
    text = text[:found.start()] + made + text[found.end():] if found else text + ("\n" if text else "") + made
    open(file, "w").write(text)
