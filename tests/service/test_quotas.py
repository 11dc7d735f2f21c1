# SPDX-License-Identifier: BSD-2-Clause
"""Caps of rules: leases, waiters, TTL and requests. A flood stays inside of them, and renewals and
releases work all the same."""
import threading
import time
from collections import Counter

from client import PATIENCE_S, fresh, new_lease
from daemon import ME, Case, until


class Quotas(Case):
    tokens = ('ci', 'queue', 'flood', 'made-up', 'back')
    audit = True
    options = ('--allow', 'token:ci ci/ acquire leases=2 ttl=20s',
               '--allow', f'{ME} * acquire,read,break,admin',
               '--allow', 'token:flood * acquire,read requests=20',
               '--allow', 'token:made-up made/ acquire requests=2',
               '--allow', 'token:queue queue/ acquire leases=2 waiters=1',
               '--allow', 'token:back back/ acquire requests=2')

    def setUp(self):
        self.owner = self.daemon.client()  # under another rule than the tokens

    def test_settings(self):
        """A cap that is 0, misspelt or beyond reason is refused with the caps that there are."""
        self.refuses('caps are leases=N', '--allow', 'uid:1 a acquire leases=0')
        self.refuses('caps are leases=N', '--allow', 'uid:1 a acquire leasses=1')
        self.refuses('ttl= is a time from 10ms to 1d', '--allow', 'uid:1 a acquire ttl=2d')

    def test_leases(self):
        """A rule has so many leases; a release or an expiry makes room, and other rules are free."""
        ci, name = self.daemon.client('ci', keep=True), 'ci/' + fresh()
        held = [ci.acquire(name + word) for word in 'ab']
        rejected = self.daemon.metric('quota_rejected_total', rule='1')
        self.assertEqual([(h.status, h['ttl_ms']) for h in held], [(201, 20000)] * 2, 'as the rule allows')
        refused = ci.acquire(name + 'c')
        self.assertEqual((*refused.verdict, refused.headers['Retry-After']), (429, 'QUOTA', '1'))
        self.assertEqual(self.daemon.metric('quota_rejected_total', rule='1'), rejected + 1)
        self.assertEqual(self.owner.acquire(name + 'c', ttl_ms=60000).status, 201, 'another rule')
        self.assertEqual(ci.renew(held[0], ttl_ms=20001).verdict, (422, 'INVAL'), 'beyond ttl=')
        self.assertEqual(ci.renew(held[0], ttl_ms=20000).status, 200)
        self.assertEqual(ci.release(held[0]).status, 204)
        self.assertEqual(ci.acquire(name + 'd', ttl_ms=2000).status, 201, 'there is room again')
        self.daemon.until_audited(event='expired', name=name + 'd')
        last = ci.acquire(name + 'e')
        self.assertEqual(last.status, 201, 'what runs out makes room, too')
        for each in held[1], last:
            self.assertEqual(ci.release(each).status, 204)

    def test_taken_over(self):
        """A wait that another principal takes over is granted under the rule of that one."""
        ci, name = self.daemon.client('ci'), 'ci/' + fresh()
        held = self.owner.acquire(name, ttl_ms=60000)
        first = ci.begin_acquire(name, wait_ms=50000, label='taken over', ttl_ms=20000)
        self.daemon.until_metric(1, 'waiters')
        second = self.owner.begin_acquire(name, first.lease, wait_ms=50000, label='taken over', ttl_ms=20000)
        self.assertEqual(first.answer().verdict, (409, 'SUPERSEDED'))
        self.owner.release(held)
        granted = [second.answer()]
        self.assertEqual(granted[0].status, 201)
        record, = self.daemon.audited(event='granted', label='taken over')
        self.assertEqual(record['principal'], ME)
        granted += [ci.acquire(name + word) for word in 'ab']
        self.assertEqual([each.status for each in granted[1:]], [201, 201], 'the rule of the first has room')
        for each in granted:
            self.assertEqual(self.owner.release(each).status, 204)

    def test_broken(self):
        """A break makes room, although its holder does not know yet."""
        ci, name = self.daemon.client('ci'), 'ci/' + fresh()
        held = [ci.acquire(name + word) for word in 'ab']
        self.assertEqual(ci.acquire(name + 'c').status, 429)
        self.assertEqual(self.owner.evict(name + 'a').status, 200)
        held.append(ci.acquire(name + 'c'))
        self.assertEqual(held[2].status, 201)
        self.assertEqual([ci.release(each).status for each in held], [410, 204, 204])

    def test_waiters(self):
        """A rule has so many waiters; an attempt that does not wait, and the end of a wait, count."""
        queue, name = self.daemon.client('queue'), 'queue/' + fresh()
        self.owner.acquire(name, ttl_ms=60000)
        waiting = queue.begin_acquire(name, wait_ms=30000)
        self.daemon.until_metric(1, 'waiters')
        self.assertEqual(queue.acquire(name, wait_ms=1000).verdict, (429, 'QUOTA'))
        self.assertEqual(queue.acquire(name).status, 423, 'it does not wait')
        self.assertEqual(queue.release(waiting).status, 204, 'it ends the wait')
        self.assertEqual(waiting.answer().status, 410)
        self.assertEqual(queue.acquire(name, wait_ms=2000).status, 423)
        # Leases of the rule that were granted while a request waited count when its turn comes.
        other = name + '-2'
        held = self.owner.acquire(other, ttl_ms=60000)
        waiting = queue.begin_acquire(other, wait_ms=30000)
        self.daemon.until_metric(1, 'waiters')
        for word in 'ab':
            self.assertEqual(queue.acquire(name + word).status, 201)
        self.assertEqual(self.owner.release(held).status, 204)
        self.assertEqual(waiting.answer().verdict, (429, 'QUOTA'))
        self.assertEqual(self.owner.acquire(other, wait_ms=10000).status, 201, 'it was given back')

    def count_until_refused(self, ask, refused):
        """The statuses of ASK until 429 came so often, and the seconds that took."""
        began, seen = time.monotonic(), Counter()
        while seen[429] < refused:
            seen[ask().status] += 1
            self.assertLess(time.monotonic(), began + PATIENCE_S, seen)
        return seen, time.monotonic() - began

    def test_made_up(self):
        """Leases that are not there are renewed and released within the rule, and are no loss."""
        made_up, lost = self.daemon.client('made-up', keep=True), self.daemon.metric('lost_total')
        real = made_up.acquire('made/up', ttl_ms=60000)
        grant = real['grant']

        def invent(method, body):
            return made_up.request(method, '/v1/locks/made/up', body,
                                   {'Lease-Id': new_lease(), 'Grant': grant})
        for method, body in ('POST', {}), ('DELETE', None):
            seen, seconds = self.count_until_refused(lambda: invent(method, body), 150)
            self.assertLessEqual(set(seen), {410, 429})
            self.assertLessEqual(seen[410], 2 * (seconds + 2))
        # What this replica knows is outside of that: it has a pace of its own.
        seen, seconds = self.count_until_refused(lambda: made_up.renew(real, ttl_ms=30000), 20)
        self.assertLessEqual(set(seen), {200, 429})
        self.assertTrue(10 <= seen[200] <= 20 + 2 * (seconds + 2), seen)
        self.assertEqual(made_up.release(real).status, 204)
        self.assertEqual(self.daemon.metric('lost_total'), lost)

    def test_made_up_for_held(self):
        """A made-up Grant for a lease that is held ends nothing: it makes no room, and is no loss."""
        ci, name = self.daemon.client('ci', keep=True), 'ci/' + fresh()
        lost = self.daemon.metric('lost_total')
        held = [ci.acquire(name + word) for word in 'ab']
        for word, body in ('POST', {}), ('DELETE', None):
            for lease, other in held, reversed(held):
                answer = ci.request(word, '/v1/locks/' + lease.name, body,
                                    {'Lease-Id': lease.lease, 'Grant': other['grant']})
                self.assertEqual(answer.status, 410)
            self.assertEqual(ci.acquire(name + 'c').verdict, (429, 'QUOTA'), word)
        self.assertEqual(self.daemon.metric('lost_total'), lost)
        for lease in held:
            self.assertEqual(ci.release(lease).status, 204)
        last = ci.acquire(name + 'c')
        self.assertEqual((last.status, ci.release(last).status), (201, 204))

    def test_stream_comes_back(self):
        """A stream that comes back renews: that its rule has no request left does not refuse it."""
        client, name = self.daemon.client('back'), 'back/' + fresh()
        stream = client.hold(name, ttl_ms=60000)
        granted = stream.find('granted')
        self.count_until_refused(lambda: client.acquire(name), 5)
        back = client.hold(name, stream.lease, granted['grant'])
        self.assertEqual(back.find('granted')['fence'], granted['fence'])
        self.assertEqual(client.release(back).status, 204)

    def flood(self, number, stop, seen):
        client = self.daemon.client('flood', keep=True)
        while not stop.is_set():
            answer = client.look('flooded') if number % 2 else client.acquire('other')
            seen[answer.status] += 1

    def test_flood(self):
        """A flood gets its requests a second; renewals, releases and other rules are outside."""
        holder, stop = self.daemon.client('flood', keep=True), threading.Event()
        held = holder.acquire('flooded', ttl_ms=60000)
        self.assertEqual(held.status, 201)
        began, seen = time.monotonic(), [Counter() for _ in range(4)]
        threads = [threading.Thread(target=self.flood, args=(n, stop, seen[n])) for n in range(4)]
        for thread in threads:
            thread.start()
        self.addCleanup(stop.set)
        until(lambda: sum(each[429] for each in seen) > 200, 'the flood')
        for _ in range(9):
            self.assertEqual(holder.renew(held, ttl_ms=60000).status, 200)
        self.assertEqual(self.owner.acquire(fresh()).status, 201, 'others')
        # The tenth renewal is free, the others take part in the quota that the flood has used up.
        renewals = [holder.renew(held, ttl_ms=60000).status for _ in range(50)]
        self.assertEqual(renewals[0], 200)
        self.assertIn(429, renewals[1:])
        self.assertEqual(holder.release(held).status, 204)
        stop.set()
        for thread in threads:
            thread.join()
        total, seconds = sum(seen, Counter()), time.monotonic() - began
        self.assertLessEqual(total.total() - total[429], 20 * (seconds + 2))
        self.assertGreaterEqual(self.daemon.metric('quota_rejected_total', rule='3'), total[429])
        self.assertEqual(self.daemon.metric('quota_rejected_total', rule='2'), 0)
        self.daemon.until_audited(event='denied', principal='token:flood', reason='QUOTA')
