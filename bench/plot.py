#!/usr/bin/env python3
"""Plots of what was measured, as SVG: `bench/plot.py` draws both again.

throughput.svg  hello a second against how many are in flight, from bench/peers.jsonl
history.svg     what a step costs against how long its history is, from bench/figures.jsonl

Axes are logarithmic, but for what a step costs.  Colours are told apart by most people and on white and dark pages.
"""
import json, math, os

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 440, 74, 190, 66, 56
OURS, OTHERS = ["#d1495b", "#e58f65"], ["#00798c", "#5f4bb6", "#3d8b37", "#8a6d3b", "#2e6fbb", "#7a7a7a"]
STYLE = """text { font: 13px system-ui, sans-serif; fill: #24292f } .small { font-size: 12px; fill: #57606a }
.title { font-size: 16px; font-weight: 600 } .grid { stroke: #d8dee4; stroke-width: 1 } .page { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9da7b1 } .grid { stroke: #30363d } .page { fill: #0d1117 } }"""


def lines_of(name):
    path = os.path.join(HERE, name)
    return [json.loads(line) for line in open(path) if line.strip()] if os.path.exists(path) else []


def short(value):
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def ticks(least, most):
    """Powers of ten around both, and 2 and 5 between them when there is room."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = (1,) if high - low > 2 else (1, 2, 5)
    return [m * 10 ** e for e in range(low, high + 1) for m in steps if m * 10 ** e <= 10 ** high]


def even_ticks(most):
    """From nothing to a round number above."""
    step = next(m * 10 ** e for e in range(9) for m in (1, 2, 5) if most * 1.1 <= 6 * m * 10 ** e)
    return [i * step for i in range(math.ceil(most * 1.1 / step) + 1)]


class Chart:
    """Ticks of y that begin with 0 make that axis linear."""

    def __init__(self, title, note, x_name, xs, y_ticks):
        self.xs, self.lo, self.hi = sorted(set(xs)), y_ticks[0], y_ticks[-1]
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
                      f"<title>{title}</title><style>{STYLE}</style>", f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
                      f'<text class="title" x="20" y="26">{title}</text><text class="small" x="20" y="45">{note}</text>',
                      f'<text class="small" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{x_name}</text>']
        for value in y_ticks:
            y = self.y(value)
            self.parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                              f'<text class="small" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(value)}</text>')
        for value in self.xs:
            self.parts.append(f'<text class="small" x="{self.x(value):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{value:,}</text>')

    def x(self, value):
        span = math.log(self.xs[-1] / self.xs[0]) or 1
        return LEFT + 16 + (WIDTH - LEFT - RIGHT - 32) * math.log(value / self.xs[0]) / span

    def y(self, value):
        up = value / self.hi if self.lo == 0 else math.log(value / self.lo) / math.log(self.hi / self.lo)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up

    def line(self, points, colour, strong):
        path = " ".join(f"{'M' if i == 0 else 'L'}{self.x(x):.1f} {self.y(y):.1f}" for i, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{3 if strong else 2}" stroke-linejoin="round"/>')
        self.parts += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="{4 if strong else 3}" fill="{colour}"/>' for x, y in points]

    def names(self, lines):
        """Beside the ends of the lines, pushed apart where they would overlap."""
        placed = sorted([self.y(points[-1][1]), name, colour, self.x(points[-1][0])] for name, points, colour in lines)
        for i in range(1, len(placed)):
            placed[i][0] = max(placed[i][0], placed[i - 1][0] + 17)
        over = placed[-1][0] - (HEIGHT - BOTTOM) if placed else 0
        for i in range(len(placed) - 1, -1, -1):
            if over > 0:
                limit = HEIGHT - BOTTOM if i == len(placed) - 1 else placed[i + 1][0] - 17
                placed[i][0] = min(placed[i][0], limit)
        for y, name, colour, x in placed:
            at = WIDTH - RIGHT + 14
            self.parts.append(f'<text x="{at}" y="{y + 4:.1f}" style="fill:{colour}">{name}</text>')

    def write(self, name):
        open(os.path.join(HERE, name), "w").write("\n".join(self.parts + ["</svg>"]) + "\n")


def throughput():
    series = {}
    for f in lines_of("peers.jsonl"):
        workload, _, in_flight = f.get("plan", "").partition(":")
        if workload == "hello" and "per_s" in f:
            series.setdefault(f["peer"], {}).setdefault(int(in_flight), []).append(f["per_s"])
    if not series:
        return
    lines, others = [], iter(OTHERS * 3)
    for name, by in series.items():
        points = sorted((n, sorted(values)[len(values) // 2]) for n, values in by.items())
        ours = name.startswith("Pawl")
        lines.append((name, points, OURS[name != "Pawl"] if ours else next(others)))
    xs, ys = [x for _, p, _ in lines for x, _ in p], [y for _, p, _ in lines for _, y in p]
    chart = Chart("One-step workflows a second", "start, one activity, end; durable as RESULTS.md says of each; higher is better",
                  "workflows in flight", xs, ticks(min(ys), max(ys)))
    for name, points, colour in lines:
        chart.line(points, colour, name.startswith("Pawl"))
    chart.names(lines)
    chart.write("throughput.svg")


def history():
    all, late, sync = {}, {}, []
    for f in lines_of("figures.jsonl"):
        if f.get("workload") == "chain" and f.get("concurrency") == 1:
            all.setdefault(f["steps"], []).append(f["step_p50_us"])
            sync.append(f["fdatasync_us"])
            if "step_late_p50_us" in f:
                late.setdefault(f["steps"], []).append(f["step_late_p50_us"])
    if not all:
        return
    middle = lambda by: sorted((n, sorted(v)[len(v) // 2]) for n, v in by.items())
    bare = sorted(sync)[len(sync) // 2]
    lines = [("all steps", middle(all), OURS[0]), ("a bare fdatasync", [(min(all), bare), (max(all), bare)], OTHERS[5])]
    if late:
        lines.insert(1, ("its last tenth", middle(late), OTHERS[0]))
    ys = [y for _, p, _ in lines for _, y in p]
    chart = Chart("What a step costs, by the length of its history", "median µs from the commit that scheduled it to the one that recorded it, one in flight",
                  "steps in the instance", [x for _, p, _ in lines for x, _ in p], even_ticks(max(ys)))
    for name, points, colour in lines:
        chart.line(points, colour, name == "all steps")
    chart.names(lines)
    chart.write("history.svg")


if __name__ == "__main__":
    throughput()
    history()
