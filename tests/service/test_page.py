# SPDX-License-Identifier: BSD-2-Clause
"""The status page in a browser, on five nodes: what it shows, how soon, to whom, and what it must never do.
REDLOCK_PICTURES names a folder for the pictures of the documentation, which are taken instead."""
import json
import os
import re
import subprocess
import time
import unittest

import browser
from client import new_lease
from daemon import ENVIRONMENT, ME, Case, free_port, read

PICTURES = os.environ.get('REDLOCK_PICTURES')
UPDATE_MS = 1000  # a change is on the page within this time


def stalled_ms():
    """For how long something on this machine has wanted a processor and waited for one."""
    found = re.search(r'total=(\d+)', read('/proc/pressure/cpu'))
    return int(found[1]) // 1000 if found else 0


def text_of(selector):
    return f'document.querySelector({json.dumps(selector)}).innerText'


def row(table, name):
    """An expression: the texts of a row, by the text of its first shown cell."""
    return ('(() => { for (const row of document.querySelectorAll(%s)) { const cells = [...row.cells].filter(c => !c.hidden)'
            '.map(c => c.textContent); if (cells[0] === %s) return cells; } return null; })()'
            % (json.dumps(f'#{table} tbody tr'), json.dumps(name)))


VERDICT = text_of('#quorums .verdict')


HOSTILE = ['<img src=x onerror="window.hacked=1">', '<script>window.hacked=1</script>', '\x1b[31mred\x1b]0;title\x07',
           'a\u202egnp.exe', '&lt;b&gt; "quoted" \'and\' `more`', '{{7*7}} ${7*7} javascript:alert(1)', '__proto__', 'constructor',
           'l' * 500, '\u202e\u2066\u200f', 'ünïcödé 鎖 🔒']


def safe(text):
    return ''.join('?' if ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in '\u061c\u200e\u200f' or '\u2028' <= c <= '\u202e'
                   or '\u2066' <= c <= '\u2069' else c for c in text)


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


@unittest.skipUnless(browser.find(), 'chromium is not installed')
class Page(Case):
    servers = '-c 5'
    own_servers = True
    options = None
    tokens = ('operator', 'reader', 'worker')

    def setUp(self):
        self.port, self.longest_ms = free_port(), 0
        self.settings = [word for rule in (f'{ME} * acquire,read,break,admin', 'token:operator * read,admin',
                                           'token:reader shop/ read', 'token:worker * acquire')
                         for word in ('--allow', rule)]
        self.begin()
        with open(self.path('browser.log'), 'w') as log:
            self.page = browser.Browser(browser.find(), log)
        self.addCleanup(self.page.close)
        self.rights()

    def begin(self):
        self.daemon = self.start_ready('--names', 'utf8', '--listen', f'127.0.0.1:{self.port}', *self.settings)
        self.client = self.daemon.client()

    @unittest.skipIf(PICTURES, 'pictures are taken')
    def test_page(self):
        """The page shows what is so, soon, to whom it may, and does nothing else."""
        self.locks()
        self.trouble()
        self.restart()
        self.hostile()
        self.access()
        self.many()
        self.origins()
        print(f'# the longest update took {self.longest_ms:.0f} ms')

    @unittest.skipUnless(PICTURES, 'REDLOCK_PICTURES names no folder')
    def test_pictures(self):
        """The pictures of the documents are taken."""
        self.take_pictures()

    def check(self, what, is_so, seen=''):
        with self.subTest(what):
            self.assertTrue(is_so, repr(seen)[:2000])

    def put(self, name, lease=None, **terms):
        self.assertEqual(self.client.acquire(name, lease, **terms).status, 201, name)

    def let_vote(self):
        """All nodes are up: they are made the set that they were, and vote. What is held is not in use any more."""
        self.page.when('[...document.querySelectorAll("#nodes tbody tr")].every(row => row.cells[2].textContent === "up")')
        return any(self.nodes.redlock('init', '--yes', '--force').returncode == 0 and
                   self.page.when(VERDICT + ' === "5 of 5 vote, 3 needed"', 5) for _ in range(5))

    def within(self, what, action, condition, slack_ms=0):
        """The page shows it within UPDATE_MS of the end of the action, and of what the machine was late by."""
        stalled = stalled_ms()
        action()
        began = time.time() * 1000
        at = self.page.when(condition)
        took = at - began if at is not None else None
        if took is not None and not slack_ms:
            self.longest_ms = max(self.longest_ms, took)
        self.check(what, at is not None and took <= UPDATE_MS + slack_ms + stalled_ms() - stalled,
              (took, self.page.evaluate('document.body.innerText')))

    def sign_in(self, secret):
        self.page.type(secret)
        self.page.key('Enter', 13, '\r')

    def rights(self):
        self.page.look(1100, 800)
        self.page.open(f'http://127.0.0.1:{self.port}/')
        self.check('without a token the page requests one', self.page.when('!document.querySelector("#ask").hidden'))
        self.check('   and shows nothing', self.page.evaluate('document.querySelector("#status").hidden'))
        self.check('   the field has a label and the focus', self.page.evaluate(
            'document.activeElement.id === "token" && document.activeElement.labels[0].textContent === "Bearer token"'))
        self.sign_in('nonsense')
        self.check('a token that is wrong is reported', self.page.when('/does not know this token/.test(document.querySelector("#why").textContent)'))
        self.sign_in('secret-of-worker')
        self.check('a token without the right to read is reported', self.page.when('/No rule gives this token the right to read/.test(document.querySelector("#why").textContent)'))
        self.put('shop/basket', label='till 4', ttl_ms=60000)
        self.put('billing/nightly', label='web1 invoice run', ttl_ms=60000)
        self.sign_in('secret-of-reader')
        self.check('a reader sees the names that it may read', self.page.when(row('locks', 'shop/basket') + ' !== null'))
        self.check('   and no other', not self.page.evaluate('document.body.innerText.includes("billing")'))
        self.check('   each quorum', self.page.evaluate(VERDICT) == '5 of 5 vote, 3 needed')
        self.check('   and that nodes need another right', self.page.evaluate('/right admin/.test(document.querySelector("#nodes").innerText)'))
        self.page.evaluate('document.querySelector("#forget").click()')
        self.check('the token can be forgotten', self.page.when('!document.querySelector("#ask").hidden'))
        self.check('   with what it showed', not self.page.evaluate('document.body.textContent.includes("basket")'))
        self.sign_in('secret-of-operator')
        self.check('an operator sees the nodes', self.page.when('document.querySelectorAll("#nodes tbody tr").length === 5'))
        self.check('the token is kept nowhere', self.page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length') == 0
              and 'secret-of-operator' not in self.page.evaluate('document.documentElement.outerHTML + location.href'))

    def locks(self):
        kept = new_lease()
        self.within('a lock that is held', lambda: self.put('deploy/web', kept, label='ci runner 7', ttl_ms=60000, fair=True),
               row('locks', 'deploy/web') + '?.[1] === "ci runner 7"')
        cells = self.page.evaluate(row('locks', 'deploy/web'))
        self.check('   with kind, age, remaining time and waiters', cells[2] == 'exclusive' and cells[3].endswith('s')
              and cells[4].startswith(('1m0s', '5')) and cells[5] == '0', cells)
        waiter = self.client.hold('deploy/web', label='ci runner 8', wait_ms=60000)
        self.within('a lock that is waited for', lambda: None, row('locks', 'deploy/web') + '?.[5] === "1"')
        self.check('   comes first', self.page.evaluate('document.querySelector("#locks tbody th").textContent') == 'deploy/web')
        self.within('the next holder', lambda: self.client.request('DELETE', '/v1/locks/deploy/web', headers={'Lease-Id': kept}),
               row('locks', 'deploy/web') + '?.[1] === "ci runner 8"')
        self.within('a lock that is free is gone', waiter.close, row('locks', 'deploy/web') + ' === null')
        self.within('a lock that other programs took on the nodes', lambda: self.nodes.redlock('lock', '-t', '60s', '--label', 'backup', 'cron/backup'),
               row('locks', 'cron/backup') + ' !== null')

    def words(self):
        """`redlock top` of the same quorum at the same time, with one node down: the same words in the same order."""
        self.nodes.redlock('lock', '-t', '60s', '-s', '--label', 'reader 1', 'words/readers')
        self.nodes.redlock('lock', '-t', '60s', '--slots', '3', '--label', 'slot 1', 'words/slots')
        self.nodes.redlock('run', '--every', '1h', '--label', 'the job', 'words/job', '--', 'true')
        waiter = subprocess.Popen(['redlock', 'lock', '-w', '30s', 'cron/backup'], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={**ENVIRONMENT, **self.nodes.environment})
        self.page.when(VERDICT + ' === "4 of 5 vote, 3 needed" && ' + row('locks', 'words/slots') + ' !== null && '
                  + row('locks', 'words/job.every') + '?.[2] === "ran" && '
                  + row('locks', 'cron/backup') + '?.[5] === "1"')
        shown = self.page.evaluate('''(() => {
            const cells = row => [...row.cells].filter(cell => !cell.hidden).map(cell => cell.textContent);
            const rows = id => [...document.querySelectorAll("#" + id + " tr")].map(cells);
            return {verdict: %s, sum: document.querySelector("#sum").textContent, nodes: rows("nodes"), locks: rows("locks")};
        })()''' % VERDICT)
        top = self.nodes.redlock('top', '-c', '1').stdout.split('\n')
        self.check('top has the verdict of the page', shown['verdict'] + '; ' + shown['sum'] in top[0], (top[0], shown))
        heads = [line.split() for line in top if line.startswith(('NODE', 'NAME'))]
        # Its 80 columns have no room for the clock while a node says why it is down.
        self.check('   the titles of its columns', [title.upper() for title in shown['nodes'][0] if title != 'Clock'] == heads[0]
              and [title.upper() for title in shown['locks'][0]] == heads[1][:-1] and heads[1][-1] == 'CHG/S', (heads, shown))
        top_nodes = [re.split('  +', line.strip()) for line in top if line.startswith('127.0.0.1')]
        self.check('   the states of nodes', [cells[:3] + cells[6:] for cells in shown['nodes'][1:]]
              == [cells[:3] + (cells[5:] or ['']) for cells in top_nodes], (top_nodes, shown))
        top_locks = [re.match(r'(\S+) +(.*?) +(exclusive|shared|slots|ran|free) +(\S+) +(\S+) +([0-9]+) ', line) for line in top[top.index(
            next(line for line in top if line.startswith('NAME'))) + 1:]]
        top_locks = [found.groups() for found in top_locks if found]
        self.check('   and locks in the same order, with the same words', len(top_locks) >= 5
              and [(cells[0], cells[2], cells[5]) for cells in shown['locks'][1:]] == [(cells[0], cells[2], cells[5]) for cells in top_locks],
              (top_locks, shown))
        self.check('   holders, too', [cells[1] for cells in shown['locks'][1:]] == [cells[1] for cells in top_locks], (top_locks, shown))
        waiter.terminate()
        waiter.wait()

    def hostile(self):
        # The command and the daemon refuse some of these: other programs that write to the nodes do not.
        self.put('hostile-label', label='LABEL', ttl_ms=60000)
        value = self.nodes.ask(1, 'GET', 'redlock:hostile-label').split('\r\n')[1]
        for name in HOSTILE:
            label = name[:64] if name.isascii() else name
            self.nodes.ask_all('SET', 'redlock:' + name, value.replace('LABEL', label), 'PX', 60000)
        self.put('hostile-label-2', label=HOSTILE[0], ttl_ms=60000)
        for name in HOSTILE:
            self.check(f'shown as text: {safe(name)[:30]}', self.page.when(row('locks', safe(name)) + ' !== null', 10), self.page.evaluate(text_of('#locks')))
        self.check('a label that is markup is text', self.page.when(row('locks', 'hostile-label-2') + f'?.[1] === {json.dumps(HOSTILE[0])}'))
        self.check('no foreign text became an element or code', self.page.evaluate(
            'document.querySelectorAll("tbody *:not(tr, th, td), img, iframe, object, main script").length === 0 && !window.hacked'))
        self.check('no character that steers is on the page', self.page.evaluate(
            '!/[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent)'))
        self.page.look(390, 800)
        self.check('a long name does not widen the page', self.page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
              self.page.evaluate('[document.documentElement.scrollWidth, innerWidth]'))
        self.page.look(1100, 800)

    def announced(self):
        return self.page.evaluate('document.querySelector("#said").textContent')

    def trouble(self):
        self.within('a node that is lost', lambda: self.nodes.dev('kill', 1), VERDICT + ' === "4 of 5 vote, 3 needed"')
        self.check('   its row says so', self.page.when('[...document.querySelectorAll("#nodes tbody tr")].some(r => /down/.test(r.innerText) && /refused/i.test(r.innerText))'))
        self.check('   a screen reader gets it', '4 of 5 vote' in self.announced(), self.announced())
        self.words()
        stream = self.client.hold('shop/till', label='till 9', ttl_ms=4000)
        self.within('a stream that holds', lambda: None, row('locks', 'shop/till') + ' !== null')
        self.nodes.dev('kill', 2)
        self.within('a quorum that is lost', lambda: self.nodes.dev('kill', 3), VERDICT + ' === "2 of 5 vote, 3 needed"')
        self.check('   and what that means', self.page.evaluate(text_of('#quorums .means')) == 'No lock can be granted or renewed.')
        self.check('a lock in jeopardy', self.page.when(row('trouble', 'shop/till') + '?.[1] === "in jeopardy"'),
              self.page.evaluate('document.body.innerText'))
        self.check('   why', 'too few nodes answer' in self.page.evaluate(row('trouble', 'shop/till'))[4], self.page.evaluate(row('trouble', 'shop/till')))
        self.check('a lock that is lost', self.page.when(row('trouble', 'shop/till') + '?.[1] === "lost"'), self.page.evaluate('document.body.innerText'))
        self.check('   the loss is reported', 'shop/till: lost' in self.announced(), self.announced())
        self.nodes.dev('start', 1, 2, 3)
        quarantined = '[...document.querySelectorAll("#nodes tbody tr")].filter(r => /^in [0-9]/.test(r.cells[3].textContent) && r.cells[7].textContent).length'
        self.check('nodes that came back are in quarantine, with reason and countdown', self.page.when(quarantined + ' >= 3'),
              self.page.evaluate(text_of('#nodes')))
        first = self.page.evaluate('document.querySelector("#nodes tbody").innerText.match(/in [0-9][^\\n\\t]*s/)[0]')
        self.check('   which runs', self.page.when(f'!document.querySelector("#nodes tbody").innerText.includes({json.dumps(first)})'))
        self.check('they vote again', self.let_vote())
        stream.close()

    def restart(self):
        self.within('the daemon ends: the page says so', self.daemon.stop,
               '!document.querySelector("#old").hidden && document.querySelector("#link").textContent === "not connected"')
        self.check('   how old its data is', self.page.when('/is [0-9.]+m?s old/.test(document.querySelector("#old").textContent)'),
              self.page.evaluate(text_of('#old')))
        old = self.page.evaluate('document.querySelector("#old").textContent')
        self.check('   and counts', self.page.when(f'document.querySelector("#old").textContent !== {json.dumps(old)}'))
        self.check('   what it knew stays', self.page.evaluate('document.querySelectorAll("#nodes tbody tr").length') == 5)
        self.begin()
        self.check('the daemon is there again: the page comes back by itself', self.page.when(
            'document.querySelector("#old").hidden && document.querySelector("#link").textContent === "live"', 30))
        self.within('   and is as quick as before', lambda: self.put('after/restart', label='new', ttl_ms=20000),
               row('locks', 'after/restart') + ' !== null', 500)

    def access(self):
        for dark in False, True:
            self.page.look(1100, 800, dark)
            least, where = self.page.evaluate(CONTRAST)
            self.check(f'contrast of every text, {"dark" if dark else "light"}: at least 4.5', least >= 4.5, (least, where))
            self.check('   its own background', (self.page.evaluate('getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0] * 1') < 64) == dark)
        self.page.look(1100, 800)
        self.page.send('Accessibility.enable')
        tree = self.page.send('Accessibility.getFullAXTree')['nodes']
        self.page.send('Accessibility.disable')
        found = [(node.get('role', {}).get('value'), node.get('name', {}).get('value', '')) for node in tree if not node.get('ignored')]
        roles = {role for role, _ in found}
        self.check('landmarks', {'banner', 'main', 'navigation', 'region'} <= roles, sorted(roles, key=str))
        headings = [name for role, name in found if role == 'heading']
        self.check('headings', headings[:4] == ['redlock', 'Quorums', 'Nodes', 'Locks in trouble'] and headings[-1] == 'This replica', headings)
        tables = [name for role, name in found if role == 'table']
        self.check('tables have captions', len(tables) >= 2 and all(tables), tables)
        self.check('   and their rows and columns have heads', {'columnheader', 'rowheader'} <= roles, sorted(roles, key=str))
        self.check('changes are announced politely', self.page.evaluate('document.querySelector("#said").getAttribute("aria-live")') == 'polite'
              and 'status' in roles)
        self.page.evaluate('document.querySelector(".skip").focus()')
        stops = []
        for number in range(6):
            if number > 0:
                self.page.key('Tab', 9)
            stops.append(self.page.evaluate('''(() => { const e = document.activeElement, s = getComputedStyle(e);
                return [e.textContent.slice(0, 40), s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 && e.getBoundingClientRect().top >= 0]; })()'''))
        self.check('every control is reached by the keyboard', [stop[0] for stop in stops] ==
              ['Skip to the status', 'Nodes', 'Locks in trouble', 'Locks', 'This replica', 'Forget the token'], stops)
        self.check('   and the focus is seen', all(stop[1] for stop in stops), stops)

    def many(self):
        client = self.daemon.client(keep=True)
        for i in range(400):
            client.acquire('many/%03d' % i, label='worker %d' % i, ttl_ms=60000)
        self.check('400 locks are shown', self.page.when('document.querySelectorAll("#locks tbody tr").length >= 380'),
              self.page.evaluate('document.querySelectorAll("#locks tbody tr").length'))
        self.page.send('Performance.enable', {'timeDomain': 'threadTicks'})

        def spent():
            return {m['name']: m['value'] for m in self.page.send('Performance.getMetrics')['metrics']}

        before, stalled, began = spent(), stalled_ms(), time.monotonic()
        seen = self.page.evaluate('''new Promise(done => {
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
        self.check('   and kept fresh', seen['updates'] >= 3, seen)
        self.check('   an update costs less than a long task', each_ms < 50, each_ms)
        self.check('   all frames together take little of a core', busy < 0.3, busy)
        self.check('   no task is long', max(seen['tasks'], default=0) <= 50 + late, (seen, late))

    def origins(self):
        origin = f'http://127.0.0.1:{self.port}/'
        asked = [event['request']['url'] for event in self.page.seen('Network.requestWillBeSent')]
        self.check('no request went to another origin', asked and all(url.startswith((origin, 'data:image/svg')) for url in asked),
              [url for url in asked if not url.startswith(origin)][:5])
        self.check('the token is in no address', not any('secret-of' in url for url in asked))
        complaints = [entry['entry']['text'] for entry in self.page.seen('Log.entryAdded') if entry['entry']['source'] != 'network']
        self.check('the browser has nothing to complain of', complaints == [] and self.page.seen('Runtime.exceptionThrown') == [],
              (complaints, self.page.seen('Runtime.exceptionThrown')[:2]))
        self.check('no dialog was opened', self.page.seen('Page.javascriptDialogOpening') == [])
        tried = self.page.evaluate('''(() => {
            const script = document.createElement("script"), failures = [];
            script.append("window.hacked = 1");
            document.body.append(script);
            for (const attempt of [() => document.body.innerHTML += "<p>", () => document.body.setAttribute("onclick", "1")])
                try { attempt(); } catch (error) { failures.push(error.name); }
            return failures.length;
        })()''')
        self.check('the policy lets no other script run', self.page.evaluate('window.hacked === undefined') and tried == 2, tried)

    def take_pictures(self):
        """A quorum in which one node is down and another has just come back, and a few locks."""
        self.client.evict('shop/basket')
        streams = [self.client.hold('deploy/production', label='ci-runner-7 release 4.12', fair=True)]
        self.page.when(row('locks', 'deploy/production') + ' !== null')
        streams += [self.client.hold('deploy/production', label=f'ci-runner-{n}', wait_ms=600000, fair=True) for n in (3, 9, 12)]
        streams += [self.client.hold('search/index', kind='shared', label=f'search-{n}') for n in (1, 2)]
        streams += [self.client.hold('gpu', kind='semaphore', slots=4, label=f'train-{n} (alice)') for n in (17, 18, 21)]
        streams += [self.client.hold('gpu', kind='semaphore', slots=4, label='train-22 (bob)')]
        self.page.when(row('locks', 'gpu') + '?.[1].startsWith("4 of 4")')
        streams += [self.client.hold('gpu', kind='semaphore', slots=4, label='train-30 (carol)', wait_ms=600000)]
        streams += [self.client.hold('leader/scheduler', label='scheduler-eu-2'), self.client.hold('tenants/acme/import', label='worker-5 acme.csv')]
        self.put('mail/digest', label='cron@mail1', ttl_ms=1500)
        self.nodes.dev('kill', 4)
        self.page.when(VERDICT + ' === "4 of 5 vote, 3 needed"')
        self.nodes.dev('start', 4)
        self.nodes.dev('kill', 5)
        ready = ' && '.join([VERDICT + ' === "3 of 5 vote, 3 needed"', row('locks', 'deploy/production') + '?.[5] === "3"',
                             row('locks', 'gpu') + '?.[5] === "1"', row('trouble', 'mail/digest') + ' !== null'])
        self.check('the scene is set', self.page.when(ready), self.page.evaluate('document.body.innerText'))
        self.page.evaluate('scrollTo(0, 0); document.activeElement.blur()')
        for name, width, dark in ('page', 1040, False), ('page-dark', 1040, True), ('page-phone', 390, True):
            self.page.look(width, 400, dark)
            self.page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))', promise=True)
            self.page.picture(os.path.join(PICTURES, name + '.png'))
        for stream in streams:
            stream.close()
