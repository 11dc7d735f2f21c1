# SPDX-License-Identifier: BSD-2-Clause
"""Just enough SVG for plots: a card, axes, lines, bars, a legend.

A card brings its own background, so that it can be read on any page; where the reader prefers
dark pages, it is dark.
"""
import math
from xml.sax.saxutils import escape

WIDTH = 700
SIZE = 13  # of text, in units of which WIDTH make the width
LETTER = 0.56 * SIZE  # about the width of one

LIGHT = ("#6e7781", "#0969da", "#bc4c00", "#1a7f37", "#8250df", "#b08800")  # ink by number
DARK = ("#9198a1", "#4493f8", "#f0883e", "#3fb950", "#ab7df8", "#d29922")


def inks(colours):
    return "".join(f".f{i}{{fill:{c}}}.s{i}{{stroke:{c}}}" for i, c in enumerate(colours))


STYLE = f"""
text{{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}}
.title{{font-size:16px;font-weight:600}}
.faint{{fill:#59636e}}
.card{{fill:#fff;stroke:#d1d9e0}}
.grid{{stroke:#e4e8ec;stroke-width:1}}
.axis{{stroke:#8b949e;stroke-width:1}}
.line{{fill:none;stroke-width:2.5;stroke-linejoin:round;stroke-linecap:round}}
{inks(LIGHT)}
@media (prefers-color-scheme:dark){{
text{{fill:#f0f6fc}}.faint{{fill:#b1bac4}}.card{{fill:#0d1117;stroke:#3d444d}}
.grid{{stroke:#262c34}}.axis{{stroke:#768390}}
{inks(DARK)}}}
"""


def short(value):
    """12000 -> 12k: for axes."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


class Linear:
    """From zero to a round number above what is shown."""

    def __init__(self, highest, ticks=5):
        step = 10 ** math.floor(math.log10(highest / ticks)) if highest > 0 else 1
        for factor in (1, 2, 2.5, 5, 10):
            if highest <= step * factor * ticks:
                step *= factor
                break
        self.high = step * max(1, math.ceil(highest / step - 1e-9))
        self.ticks = [step * i for i in range(round(self.high / step) + 1)]

    def __call__(self, value):
        return min(1, max(0, value / self.high))


class Log:
    """Ticks at the given values, or at powers of ten with two and five between."""

    def __init__(self, lowest, highest, ticks=None):
        self.low, self.high = math.log(lowest), math.log(highest)
        if ticks is None:
            first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
            between = (1, 2, 5) if last - first <= 3 else (1,)
            ticks = [m * 10.0**e for e in range(first, last + 1) for m in between]
        self.ticks = [t for t in ticks if lowest * 0.999 <= t <= highest * 1.001]

    def __call__(self, value):
        if self.high == self.low:
            return 0.5
        return min(1, max(0, (math.log(value) - self.low) / (self.high - self.low)))


class Card:
    def __init__(self, height, title, subtitle=""):
        self.height = height
        self.parts = []
        self.text(20, 32, title, css="title")
        if subtitle:
            self.text(20, 53, subtitle, css="faint")

    def add(self, part):
        self.parts.append(part)

    def text(self, x, y, words, anchor="start", css="", turn=None):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        named = f' class="{css}"' if css else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}{turned}>'
                 f"{escape(words)}</text>")

    def line(self, x1, y1, x2, y2, css):
        self.add(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" class="{css}"/>')

    def bar(self, x, y, width, height, ink, opacity=1.0):
        self.add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" '
                 f'height="{height:.1f}" rx="2" class="f{ink}" opacity="{opacity:g}"/>')

    def legend(self, x, y, entries, bars=False):
        """(words, ink) from left to right."""
        for words, ink in entries:
            if bars:
                self.bar(x, y - 11, 18, 12, ink)
            else:
                self.add(f'<path d="M{x:.1f} {y - 4.5:.1f}h18" class="s{ink} line"/>')
            self.text(x + 24, y, words)
            x += 24 + len(words) * LETTER + 22

    def write(self, path):
        label = escape(self.parts[0].split(">")[1].split("<")[0], {'"': "&quot;"})
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" height="{self.height}" role="img" aria-label="{label}">'
                f"<style>{STYLE}</style>"
                f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{self.height - 1}" rx="8" '
                f'class="card"/>')
        path.write_text("\n".join([head, *self.parts, "</svg>"]) + "\n")


class Axes:
    """A rectangle of a card in which values have places."""

    def __init__(self, card, box, x, y):
        self.card, (self.left, self.top, self.right, self.bottom) = card, box
        self.x, self.y = x, y

    def at(self, x, y):
        return (self.left + self.x(x) * (self.right - self.left),
                self.bottom - self.y(y) * (self.bottom - self.top))

    def draw(self, x_label, y_label, x_text=short, y_text=short):
        card = self.card
        for tick in self.y.ticks:
            _, y = self.at(math.exp(self.x.low) if isinstance(self.x, Log) else 0, tick)
            card.line(self.left, y, self.right, y, "grid")
            card.text(self.left - 8, y + 4.5, y_text(tick), "end", "faint")
        for tick in self.x.ticks:
            x = self.left + self.x(tick) * (self.right - self.left)
            card.line(x, self.bottom, x, self.bottom + 5, "axis")
            card.text(x, self.bottom + 20, x_text(tick), "middle", "faint")
        card.line(self.left, self.bottom, self.right, self.bottom, "axis")
        card.text((self.left + self.right) / 2, self.bottom + 41, x_label, "middle")
        if y_label:
            card.text(self.left, self.top - 12, y_label, "start")

    def curve(self, points, ink, marks=True):
        places = [self.at(x, y) for x, y in points]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        self.card.add(f'<path d="{path}" class="s{ink} line"/>')
        for x, y in places if marks or len(places) == 1 else ():
            self.card.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="f{ink}"/>')
