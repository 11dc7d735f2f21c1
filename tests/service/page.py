# SPDX-License-Identifier: BSD-2-Clause
"""page.py REDLOCKD FOLDER: the status page in a browser, on the quorum of a running `redlock dev` of five."""
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import browser

redlockd, folder, port = sys.argv[1:4]
pictures = os.environ.get('REDLOCK_PICTURES')
SECRETS = {'operator': 'secret-of-the-operator', 'reader': 'secret-of-a-reader', 'worker': 'secret-of-a-worker'}
UPDATE_MS = 1000  # a change is on the page within this time
failed = False


def check(what, is_so, seen=''):
    global failed
    print(('ok - ' if is_so else 'not ok - ') + what, flush=True)
    if not is_so:
        failed = True
        print('#   ' + repr(seen)[:2000], flush=True)


def stalled_ms():
    """For how long something on this machine has wanted a processor and waited for one."""
    try:
        with open('/proc/pressure/cpu') as file:
            return int(file.readline().split('total=')[1]) // 1000
    except OSError:
        return 0


# ---- the daemon ----

socket_path = os.path.join(folder, 'socket')
with open(os.path.join(folder, 'tokens'), 'w') as tokens:
    for name, secret in SECRETS.items():
        tokens.write(f'{name} {hashlib.sha256(secret.encode()).hexdigest()}\n')
with open(os.path.join(folder, 'conf'), 'w') as conf:
    conf.write(f'''tokens = {folder}/tokens
names = utf8
allow = uid:{os.geteuid()} * acquire,read,break,admin
allow = token:operator * read,admin
allow = token:reader shop/ read
allow = token:worker * acquire
''')
log = open(os.path.join(folder, 'log'), 'a')


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(socket_path)


def request(method, path, headers=None, body=None):
    client = Unix('localhost')
    client.request(method, path, body, {'Content-Type': 'application/json', **(headers or {})})
    answer = client.getresponse()
    text = answer.read()
    client.close()
    return answer.status, text


def start(port):
    process = subprocess.Popen([redlockd, '--config', folder + '/conf', '--drain', '0', '--listen', 'unix:' + socket_path,
                                '--listen', f'127.0.0.1:{port}'], stderr=log)
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        try:
            if request('GET', '/readyz')[0] == 200:
                return process
        except OSError:
            pass
        time.sleep(0.02)
    return process


count = 0


def lease():
    global count
    count += 1
    return {'Lease-Id': 'lease-of-the-page-test-%06d' % count}


def put(name, headers=None, **terms):
    status, text = request('PUT', '/v1/locks/' + name, headers or lease(), json.dumps(terms))
    if status != 201:
        check(f'{name} is granted', False, text)


class Stream:
    """A lock that is held while this is open; a wait is one, too."""

    def __init__(self, name, **terms):
        self.client = Unix('localhost')
        self.client.request('PUT', '/v1/locks/' + name, json.dumps(terms),
                            {**lease(), 'Content-Type': 'application/json', 'Accept': 'text/event-stream'})

    def close(self):
        self.client.sock.shutdown(socket.SHUT_RDWR)
        self.client.close()


def redlock(*words):
    return subprocess.run(['redlock', *words], capture_output=True, text=True, errors='replace')


def dev(*words):
    redlock('dev', *words)


def let_vote():
    """All nodes are up: they are made the set that they were, and vote. What is held is not in use any more."""
    page.when('[...document.querySelectorAll("#nodes tbody tr")].every(row => row.cells[2].textContent === "up")')
    for _ in range(5):
        if redlock('init', '--yes', '--force').returncode == 0 and page.when(VERDICT + ' === "5 of 5 vote, 3 needed"', 5):
            return True
    return False


def on_nodes(*words):
    """A command to every server; what the last one said."""
    said = b''
    for address in os.environ['REDLOCK_NODES'].split(','):
        host, _, number = address.split('//')[-1].rpartition(':')
        with socket.create_connection((host, int(number)), 10) as node:
            node.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word) for word in words))
            said = node.recv(1 << 16)
    return said


# ---- the page ----

def text_of(selector):
    return f'document.querySelector({json.dumps(selector)}).innerText'


def row(table, name):
    """An expression: the texts of a row, by the text of its first shown cell."""
    return ('(() => { for (const row of document.querySelectorAll(%s)) { const cells = [...row.cells].filter(c => !c.hidden)'
            '.map(c => c.textContent); if (cells[0] === %s) return cells; } return null; })()'
            % (json.dumps(f'#{table} tbody tr'), json.dumps(name)))


VERDICT = text_of('#quorums .verdict')
longest_ms = 0


def within(what, action, condition, slack_ms=0):
    """The page shows it within UPDATE_MS of the end of the action, and of what the machine was late by."""
    global longest_ms
    stalled = stalled_ms()
    action()
    began = time.time() * 1000
    at = page.when(condition)
    took = at - began if at is not None else None
    if took is not None and not slack_ms:
        longest_ms = max(longest_ms, took)
    check(what, at is not None and took <= UPDATE_MS + slack_ms + stalled_ms() - stalled,
          (took, page.evaluate('document.body.innerText')))


def sign_in(secret):
    page.type(secret)
    page.key('Enter', 13, '\r')


daemon = start(port)
page = browser.Browser(browser.find(), log)
origin = f'http://127.0.0.1:{port}'


def rights():
    page.look(1100, 800)
    page.open(origin + '/')
    check('without a token the page asks for one', page.when('!document.querySelector("#ask").hidden'))
    check('   and shows nothing', page.evaluate('document.querySelector("#status").hidden'))
    check('   the field has a label and the focus', page.evaluate(
        'document.activeElement.id === "token" && document.activeElement.labels[0].textContent === "Bearer token"'))
    sign_in('nonsense')
    check('a token that is wrong is told', page.when('/does not know this token/.test(document.querySelector("#why").textContent)'))
    sign_in(SECRETS['worker'])
    check('a token without the right to read is told', page.when('/No rule gives this token the right to read/.test(document.querySelector("#why").textContent)'))
    put('shop/basket', label='till 4', ttl_ms=60000)
    put('billing/nightly', label='web1 invoice run', ttl_ms=60000)
    sign_in(SECRETS['reader'])
    check('a reader sees the names that it may read', page.when(row('locks', 'shop/basket') + ' !== null'))
    check('   and no other', not page.evaluate('document.body.innerText.includes("billing")'))
    check('   each quorum', page.evaluate(VERDICT) == '5 of 5 vote, 3 needed')
    check('   and that nodes need another right', page.evaluate('/right admin/.test(document.querySelector("#nodes").innerText)'))
    page.evaluate('document.querySelector("#forget").click()')
    check('the token can be forgotten', page.when('!document.querySelector("#ask").hidden'))
    check('   with what it showed', not page.evaluate('document.body.textContent.includes("basket")'))
    sign_in(SECRETS['operator'])
    check('an operator sees the nodes', page.when('document.querySelectorAll("#nodes tbody tr").length === 5'))
    check('the token is kept nowhere', page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length') == 0
          and SECRETS['operator'] not in page.evaluate('document.documentElement.outerHTML + location.href'))


def locks():
    kept = lease()
    within('a lock that is held', lambda: put('deploy/web', kept, label='ci runner 7', ttl_ms=60000, fair=True),
           row('locks', 'deploy/web') + '?.[1] === "ci runner 7"')
    cells = page.evaluate(row('locks', 'deploy/web'))
    check('   with kind, age, remaining time and waiters', cells[2] == 'exclusive' and cells[3].endswith('s')
          and cells[4].startswith(('1m0s', '5')) and cells[5] == '0', cells)
    waiter = Stream('deploy/web', label='ci runner 8', wait_ms=60000)
    within('a lock that is waited for', lambda: None, row('locks', 'deploy/web') + '?.[5] === "1"')
    check('   comes first', page.evaluate('document.querySelector("#locks tbody th").textContent') == 'deploy/web')
    within('the next holder', lambda: request('DELETE', '/v1/locks/deploy/web', kept),
           row('locks', 'deploy/web') + '?.[1] === "ci runner 8"')
    within('a lock that is free is gone', waiter.close, row('locks', 'deploy/web') + ' === null')
    within('a lock that other programs took on the nodes', lambda: redlock('lock', '-t', '60s', '--label', 'backup', 'cron/backup'),
           row('locks', 'cron/backup') + ' !== null')


def words():
    """`redlock top` of the same quorum at the same time, with one node down: the same words in the same order."""
    redlock('lock', '-t', '60s', '-s', '--label', 'reader 1', 'words/readers')
    redlock('lock', '-t', '60s', '--slots', '3', '--label', 'slot 1', 'words/slots')
    redlock('run', '--every', '1h', '--label', 'the job', 'words/job', '--', 'true')
    waiter = subprocess.Popen(['redlock', 'lock', '-w', '30s', 'cron/backup'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page.when(VERDICT + ' === "4 of 5 vote, 3 needed" && ' + row('locks', 'words/slots') + ' !== null && '
              + row('locks', 'words/job.every') + '?.[2] === "ran" && '
              + row('locks', 'cron/backup') + '?.[5] === "1"')
    shown = page.evaluate('''(() => {
        const cells = row => [...row.cells].filter(cell => !cell.hidden).map(cell => cell.textContent);
        const rows = id => [...document.querySelectorAll("#" + id + " tr")].map(cells);
        return {verdict: %s, sum: document.querySelector("#sum").textContent, nodes: rows("nodes"), locks: rows("locks")};
    })()''' % VERDICT)
    top = redlock('top', '-c', '1').stdout.split('\n')
    check('top has the verdict of the page', shown['verdict'] + '; ' + shown['sum'] in top[0], (top[0], shown))
    heads = [line.split() for line in top if line.startswith(('NODE', 'NAME'))]
    # Its 80 columns have no room for the clock while a node says why it is down.
    check('   the titles of its columns', [title.upper() for title in shown['nodes'][0] if title != 'Clock'] == heads[0]
          and [title.upper() for title in shown['locks'][0]] == heads[1][:-1] and heads[1][-1] == 'CHG/S', (heads, shown))
    top_nodes = [re.split('  +', line.strip()) for line in top if line.startswith('127.0.0.1')]
    check('   the states of nodes', [cells[:3] + cells[6:] for cells in shown['nodes'][1:]]
          == [cells[:3] + (cells[5:] or ['']) for cells in top_nodes], (top_nodes, shown))
    top_locks = [re.match(r'(\S+) +(.*?) +(exclusive|shared|slots|ran|free) +(\S+) +(\S+) +([0-9]+) ', line) for line in top[top.index(
        next(line for line in top if line.startswith('NAME'))) + 1:]]
    top_locks = [found.groups() for found in top_locks if found]
    check('   and locks in the same order, with the same words', len(top_locks) >= 5
          and [(cells[0], cells[2], cells[5]) for cells in shown['locks'][1:]] == [(cells[0], cells[2], cells[5]) for cells in top_locks],
          (top_locks, shown))
    check('   holders, too', [cells[1] for cells in shown['locks'][1:]] == [cells[1] for cells in top_locks], (top_locks, shown))
    waiter.terminate()
    waiter.wait()


HOSTILE = ['<img src=x onerror="window.hacked=1">', '<script>window.hacked=1</script>', '\x1b[31mred\x1b]0;title\x07',
           'a\u202egnp.exe', '&lt;b&gt; "quoted" \'and\' `more`', '{{7*7}} ${7*7} javascript:alert(1)', '__proto__', 'constructor',
           'l' * 500, '\u202e\u2066\u200f', 'ünïcödé 鎖 🔒']


def safe(text):
    return ''.join('?' if ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in '\u061c\u200e\u200f' or '\u2028' <= c <= '\u202e'
                   or '\u2066' <= c <= '\u2069' else c for c in text)


def hostile():
    # The command and the daemon refuse some of these: other programs that write to the nodes do not.
    put('hostile-label', label='LABEL', ttl_ms=60000)
    value = on_nodes(b'GET', b'redlock:hostile-label').split(b'\r\n')[1]
    for name in HOSTILE:
        word = name.encode()
        on_nodes(b'SET', b'redlock:' + word, value.replace(b'LABEL', word[:64] if word.isascii() else word), b'PX', b'60000')
    put('hostile-label-2', label=HOSTILE[0], ttl_ms=60000)
    for name in HOSTILE:
        check(f'shown as text: {safe(name)[:30]}', page.when(row('locks', safe(name)) + ' !== null', 10), page.evaluate(text_of('#locks')))
    check('a label that is markup is text', page.when(row('locks', 'hostile-label-2') + f'?.[1] === {json.dumps(HOSTILE[0])}'))
    check('no foreign text became an element or code', page.evaluate(
        'document.querySelectorAll("tbody *:not(tr, th, td), img, iframe, object, main script").length === 0 && !window.hacked'))
    check('no character that steers is on the page', page.evaluate(
        '!/[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent)'))
    page.look(390, 800)
    check('a long name does not widen the page', page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
          page.evaluate('[document.documentElement.scrollWidth, innerWidth]'))
    page.look(1100, 800)


def announced():
    return page.evaluate('document.querySelector("#said").textContent')


def trouble():
    within('a node that is lost', lambda: dev('kill', '1'), VERDICT + ' === "4 of 5 vote, 3 needed"')
    check('   its row says so', page.when('[...document.querySelectorAll("#nodes tbody tr")].some(r => /down/.test(r.innerText) && /refused/i.test(r.innerText))'))
    check('   a screen reader is told', '4 of 5 vote' in announced(), announced())
    words()
    stream = Stream('shop/till', label='till 9', ttl_ms=4000)
    within('a stream that holds', lambda: None, row('locks', 'shop/till') + ' !== null')
    dev('kill', '2')
    within('a quorum that is lost', lambda: dev('kill', '3'), VERDICT + ' === "2 of 5 vote, 3 needed"')
    check('   and what that means', page.evaluate(text_of('#quorums .means')) == 'No lock can be granted or renewed.')
    check('a lock in jeopardy', page.when(row('trouble', 'shop/till') + '?.[1] === "in jeopardy"'),
          page.evaluate('document.body.innerText'))
    check('   why', 'too few nodes answer' in page.evaluate(row('trouble', 'shop/till'))[4], page.evaluate(row('trouble', 'shop/till')))
    check('a lock that is lost', page.when(row('trouble', 'shop/till') + '?.[1] === "lost"'), page.evaluate('document.body.innerText'))
    check('   the loss is told', 'shop/till: lost' in announced(), announced())
    for number in '1', '2', '3':
        dev('start', number)
    quarantined = '[...document.querySelectorAll("#nodes tbody tr")].filter(r => /^in [0-9]/.test(r.cells[3].textContent) && r.cells[7].textContent).length'
    check('nodes that came back are in quarantine, with reason and countdown', page.when(quarantined + ' >= 3'),
          page.evaluate(text_of('#nodes')))
    first = page.evaluate('document.querySelector("#nodes tbody").innerText.match(/in [0-9][^\\n\\t]*s/)[0]')
    check('   which runs', page.when(f'!document.querySelector("#nodes tbody").innerText.includes({json.dumps(first)})'))
    check('they vote again', let_vote())
    stream.close()


def restart():
    global daemon
    within('the daemon ends: the page says so', lambda: (daemon.terminate(), daemon.wait()),
           '!document.querySelector("#old").hidden && document.querySelector("#link").textContent === "not connected"')
    check('   how old its data is', page.when('/is [0-9.]+m?s old/.test(document.querySelector("#old").textContent)'),
          page.evaluate(text_of('#old')))
    old = page.evaluate('document.querySelector("#old").textContent')
    check('   and counts', page.when(f'document.querySelector("#old").textContent !== {json.dumps(old)}'))
    check('   what it knew stays', page.evaluate('document.querySelectorAll("#nodes tbody tr").length') == 5)
    daemon = start(port)
    check('the daemon is there again: the page comes back by itself', page.when(
        'document.querySelector("#old").hidden && document.querySelector("#link").textContent === "live"', 30))
    within('   and is as quick as before', lambda: put('after/restart', label='new', ttl_ms=20000),
           row('locks', 'after/restart') + ' !== null', 500)


# Ratio of the contrast of each text with what is behind it: WCAG 2 wants 4.5.
CONTRAST = '''(() => {
    const parts = text => text.match(/[0-9.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = parts(getComputedStyle(element).backgroundColor);
            if (colour.length < 4 || colour[3] > 0) return colour;
        }
        return [255, 255, 255];
    };
    let least = 99, where = "";
    for (const element of document.querySelectorAll("body *")) {
        if (!element.checkVisibility() || ![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
        const pair = [light(parts(getComputedStyle(element).color)), light(behind(element))].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        if (ratio < least) { least = ratio; where = element.outerHTML.slice(0, 80); }
    }
    return [least, where];
})()'''


def access():
    for dark in False, True:
        page.look(1100, 800, dark)
        least, where = page.evaluate(CONTRAST)
        check(f'contrast of every text, {"dark" if dark else "light"}: at least 4.5', least >= 4.5, (least, where))
        check('   its own background', (page.evaluate('getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0] * 1') < 64) == dark)
    page.look(1100, 800)
    page.send('Accessibility.enable')
    tree = page.send('Accessibility.getFullAXTree')['nodes']
    page.send('Accessibility.disable')
    found = [(node.get('role', {}).get('value'), node.get('name', {}).get('value', '')) for node in tree if not node.get('ignored')]
    roles = {role for role, _ in found}
    check('landmarks', {'banner', 'main', 'navigation', 'region'} <= roles, sorted(roles, key=str))
    headings = [name for role, name in found if role == 'heading']
    check('headings', headings[:4] == ['redlock', 'Quorums', 'Nodes', 'Locks in trouble'] and headings[-1] == 'This replica', headings)
    tables = [name for role, name in found if role == 'table']
    check('tables have captions', len(tables) >= 2 and all(tables), tables)
    check('   and their rows and columns have heads', {'columnheader', 'rowheader'} <= roles, sorted(roles, key=str))
    check('changes are told politely', page.evaluate('document.querySelector("#said").getAttribute("aria-live")') == 'polite'
          and 'status' in roles)
    page.evaluate('document.querySelector(".skip").focus()')
    stops = []
    for number in range(6):
        if number > 0:
            page.key('Tab', 9)
        stops.append(page.evaluate('''(() => { const e = document.activeElement, s = getComputedStyle(e);
            return [e.textContent.slice(0, 40), s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && e.getBoundingClientRect().top >= 0]; })()'''))
    check('every control is reached by the keyboard', [stop[0] for stop in stops] ==
          ['Skip to the status', 'Nodes', 'Locks in trouble', 'Locks', 'This replica', 'Forget the token'], stops)
    check('   and the focus is seen', all(stop[1] for stop in stops), stops)


def many():
    client = Unix('localhost')
    for i in range(400):
        client.request('PUT', '/v1/locks/many/%03d' % i, json.dumps({'label': 'worker %d' % i, 'ttl_ms': 60000}),
                       {**lease(), 'Content-Type': 'application/json'})
        client.getresponse().read()
    check('400 locks are shown', page.when('document.querySelectorAll("#locks tbody tr").length >= 380'),
          page.evaluate('document.querySelectorAll("#locks tbody tr").length'))
    page.send('Performance.enable', {'timeDomain': 'threadTicks'})

    def spent():
        return {m['name']: m['value'] for m in page.send('Performance.getMetrics')['metrics']}

    before, stalled, began = spent(), stalled_ms(), time.monotonic()
    seen = page.evaluate('''new Promise(done => {
        const tasks = [], frames = []; let last = performance.now(), updates = 0, going = true;
        new PerformanceObserver(list => list.getEntries().forEach(e => tasks.push(e.duration))).observe({entryTypes: ["longtask"]});
        new MutationObserver(() => updates++).observe(document.querySelector("#locks tbody"), {subtree: true, childList: true});
        const frame = now => { frames.push(now - last); last = now; if (going) requestAnimationFrame(frame); };
        requestAnimationFrame(frame);
        const began = performance.now(), end = () => {
            if (performance.now() - began < 2500 || (updates < 3 && performance.now() - began < 20000)) return;
            going = false; clearInterval(timer);
            done({tasks, updates, worst: Math.max(...frames.slice(1)), frames: frames.length});
        };
        const timer = setInterval(end, 100);
    })''', promise=True)
    after, late = spent(), stalled_ms() - stalled
    busy = (after['TaskDuration'] - before['TaskDuration']) / (time.monotonic() - began)
    each_ms = 1000 * sum(after[part] - before[part] for part in ('ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'))
    each_ms /= max(1, seen['updates'])
    print(f'# 400 locks: {seen["updates"]} updates, {each_ms:.1f} ms of CPU each, {100 * busy:.0f} % of a core with all frames; '
          f'longest task {max(seen["tasks"], default=0):.0f} ms, longest frame {seen["worst"]:.0f} ms; late by {late} ms', flush=True)
    check('   and kept fresh', seen['updates'] >= 3, seen)
    check('   an update costs less than a long task', each_ms < 50, each_ms)
    check('   all frames together take little of a core', busy < 0.3, busy)
    check('   no task is long', max(seen['tasks'], default=0) <= 50 + late, (seen, late))


def origins():
    asked = [event['request']['url'] for event in page.seen('Network.requestWillBeSent')]
    check('no request went to another origin', asked and all(url.startswith((origin + '/', 'data:image/svg')) for url in asked),
          [url for url in asked if not url.startswith(origin + '/')][:5])
    check('the token is in no address', not any(secret in url for url in asked for secret in SECRETS.values()))
    complaints = [entry['entry']['text'] for entry in page.seen('Log.entryAdded') if entry['entry']['source'] != 'network']
    check('the browser has nothing to complain of', complaints == [] and page.seen('Runtime.exceptionThrown') == [],
          (complaints, page.seen('Runtime.exceptionThrown')[:2]))
    check('no dialog was opened', page.seen('Page.javascriptDialogOpening') == [])
    tried = page.evaluate('''(() => {
        const script = document.createElement("script"), failures = [];
        script.append("window.hacked = 1");
        document.body.append(script);
        for (const attempt of [() => document.body.innerHTML += "<p>", () => document.body.setAttribute("onclick", "1")])
            try { attempt(); } catch (error) { failures.push(error.name); }
        return failures.length;
    })()''')
    check('the policy lets no other script run', page.evaluate('window.hacked === undefined') and tried == 2, tried)


# ---- the pictures of the documentation ----

def take_pictures():
    """A quorum in which one node is down and another has just come back, and a few locks."""
    for name in 'shop/basket', 'billing/nightly':
        mark = json.loads(request('GET', '/v1/locks/' + name)[1])['holders'][0]['fingerprint']
        if name == 'shop/basket':
            request('POST', '/v1/breaks/' + name, body=json.dumps({'fingerprint': mark}))
    streams = [Stream('deploy/production', label='ci-runner-7 release 4.12', fair=True)]
    page.when(row('locks', 'deploy/production') + ' !== null')
    streams += [Stream('deploy/production', label=f'ci-runner-{n}', wait_ms=600000, fair=True) for n in (3, 9, 12)]
    streams += [Stream('search/index', kind='shared', label=f'search-{n}') for n in (1, 2)]
    streams += [Stream('gpu', kind='semaphore', slots=4, label=f'train-{n} (alice)') for n in (17, 18, 21)]
    streams += [Stream('gpu', kind='semaphore', slots=4, label='train-22 (bob)')]
    page.when(row('locks', 'gpu') + '?.[1].startsWith("4 of 4")')
    streams += [Stream('gpu', kind='semaphore', slots=4, label='train-30 (carol)', wait_ms=600000)]
    streams += [Stream('leader/scheduler', label='scheduler-eu-2'), Stream('tenants/acme/import', label='worker-5 acme.csv')]
    put('mail/digest', label='cron@mail1', ttl_ms=1500)
    dev('kill', '4')
    page.when(VERDICT + ' === "4 of 5 vote, 3 needed"')
    dev('start', '4')
    dev('kill', '5')
    ready = ' && '.join([VERDICT + ' === "3 of 5 vote, 3 needed"', row('locks', 'deploy/production') + '?.[5] === "3"',
                         row('locks', 'gpu') + '?.[5] === "1"', row('trouble', 'mail/digest') + ' !== null'])
    check('the scene is set', page.when(ready), page.evaluate('document.body.innerText'))
    page.evaluate('scrollTo(0, 0); document.activeElement.blur()')
    for name, width, dark in ('page', 1040, False), ('page-dark', 1040, True), ('page-phone', 390, True):
        page.look(width, 400, dark)
        page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))', promise=True)
        page.picture(os.path.join(pictures, name + '.png'))
    for stream in streams:
        stream.close()


try:
    rights()
    if pictures:
        take_pictures()
    else:
        locks()
        trouble()
        restart()
        hostile()
        access()
        many()
        origins()
        print(f'# the longest update took {longest_ms:.0f} ms')
finally:
    page.close()
    if daemon.poll() is None:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
sys.exit(1 if failed else 0)
