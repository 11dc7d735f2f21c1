# SPDX-License-Identifier: BSD-2-Clause
"""metrics.py [EXPRESSION...] <EXPOSITION: the text format of Prometheus, checked by a parser of our own.

Every sample belongs to a family with HELP and TYPE, which stand before it and once; counters end in
_total, no series stands twice, buckets of histograms grow and end with the count. Prints `fine`, or what
is wrong. An EXPRESSION is evaluated with value(NAME, label=...), and must be true.
"""
import re
import sys

SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (NaN|[+-]?[0-9.e+-]+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
problems, helps, types, series = [], set(), {}, {}


def family_of(name):
    for suffix in ('_bucket', '_sum', '_count'):
        if name.endswith(suffix) and types.get(name[:-len(suffix)]) == 'histogram':
            return name[:-len(suffix)]
    return name


last = None
text = sys.stdin.read()
if not text.endswith('\n'):
    problems.append('the last line does not end')
for line in text.splitlines():
    if line.startswith('# HELP '):
        name = line.split(' ', 3)[2]
        if name in helps:
            problems.append(f'{name}: HELP twice')
        helps.add(name)
        last = name
    elif line.startswith('# TYPE '):
        _, _, name, kind = line.split(' ')
        if name in types or name != last or kind not in ('counter', 'gauge', 'histogram'):
            problems.append(f'{line}: twice, not behind its HELP, or of no type')
        if (kind == 'counter') != name.endswith('_total'):
            problems.append(f'{line}: counters end in _total, and nothing else does')
        types[name] = kind
    else:
        match = SAMPLE.match(line)
        if not match:
            problems.append(f'no sample: {line}')
            continue
        name, labels = match[1], tuple(sorted(LABEL.findall(match[2] or '')))
        if family_of(name) != last:
            problems.append(f'{line}: not behind its TYPE')
        if (name, labels) in series:
            problems.append(f'{line}: twice')
        series[name, labels] = float(match[3])
        if not name.startswith('redlockd_'):
            problems.append(f'{line}: not ours')
for name, kind in types.items():
    if kind != 'histogram':
        continue
    groups = {}
    for (sample, labels), number in series.items():
        if sample == name + '_bucket':
            rest = tuple(label for label in labels if label[0] != 'le')
            groups.setdefault(rest, []).append((float(dict(labels)['le']), number))
    for rest, found in groups.items():
        found.sort()
        numbers = [number for _, number in found]
        if numbers != sorted(numbers) or found[-1][0] != float('inf') or \
                found[-1][1] != series.get((name + '_count', rest)) or (name + '_sum', rest) not in series:
            problems.append(f'{name}{rest}: not a histogram: {found}')


def value(name, **labels):
    """The sum of all series of this name that have these labels; None: there is none."""
    found = [number for (sample, has), number in series.items()
             if sample == 'redlockd_' + name and all((key, word) in has for key, word in labels.items())]
    return sum(found) if found else None


def is_declared(name):
    return 'redlockd_' + name in types


for expression in sys.argv[1:]:
    if not eval(expression):  # of the test that calls this
        problems.append(f'{expression}: false')
print('\n'.join(problems) if problems else 'fine')
