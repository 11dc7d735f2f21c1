# SPDX-License-Identifier: BSD-2-Clause
"""The text format of Prometheus, by a parser of our own.

Every sample belongs to a family with HELP and TYPE, which stand before it and once; counters end in
_total, no series stands twice, buckets of histograms grow and end with the count.
"""
import re

SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (NaN|[+-]?[0-9.e+-]+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


class Metrics:
    def __init__(self, text):
        self.problems, self.helps, self.types, self.series = [], set(), {}, {}
        self.last = None  # the family whose lines these are
        if not text.endswith('\n'):
            self.problems.append('the last line does not end')
        for line in text.splitlines():
            if line.startswith('# HELP '):
                self._help(line.split(' ', 3)[2])
            elif line.startswith('# TYPE '):
                self._type(*line.split(' ')[2:])
            else:
                self._sample(line)
        for name, kind in self.types.items():
            if kind == 'histogram':
                self._histogram(name)

    def value(self, name, **labels):
        """The sum of all series of this name that have these labels; None: there is none."""
        found = [number for (sample, has), number in self.series.items()
                 if sample == 'redlockd_' + name and labels.items() <= set(has)]
        return sum(found) if found else None

    def _help(self, name):
        if name in self.helps:
            self.problems.append(f'{name}: HELP twice')
        self.helps.add(name)
        self.last = name

    def _type(self, name, kind):
        if name in self.types or name != self.last or kind not in ('counter', 'gauge', 'histogram'):
            self.problems.append(f'{name}: twice, not behind its HELP, or of no type')
        if (kind == 'counter') != name.endswith('_total'):
            self.problems.append(f'{name}: counters end in _total, and nothing else does')
        self.types[name] = kind

    def _family(self, name):
        family = re.sub('_(bucket|sum|count)$', '', name)
        return family if self.types.get(family) == 'histogram' else name

    def _sample(self, line):
        match = SAMPLE.match(line)
        if not match:
            self.problems.append(f'no sample: {line}')
            return
        name, labels = match[1], tuple(sorted(LABEL.findall(match[2] or '')))
        if self._family(name) != self.last:
            self.problems.append(f'{line}: not behind its TYPE')
        if (name, labels) in self.series:
            self.problems.append(f'{line}: twice')
        if not name.startswith('redlockd_'):
            self.problems.append(f'{line}: not ours')
        self.series[name, labels] = float(match[3])

    def _histogram(self, name):
        groups = {}
        for (sample, labels), number in self.series.items():
            if sample == name + '_bucket':
                rest = tuple(label for label in labels if label[0] != 'le')
                groups.setdefault(rest, []).append((float(dict(labels)['le']), number))
        for rest, found in groups.items():
            found.sort()
            numbers = [number for _, number in found]
            if numbers != sorted(numbers) or found[-1][0] != float('inf') or \
                    found[-1][1] != self.series.get((name + '_count', rest)) or \
                    (name + '_sum', rest) not in self.series:
                self.problems.append(f'{name}{rest}: not a histogram: {found}')
