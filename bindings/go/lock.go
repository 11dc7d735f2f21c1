// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	never     = time.Duration(1<<63 - 1)
	lookEvery = 100 * time.Millisecond // timers stand still while the machine is suspended

	// So long before the deadline the context is done: this, or that part of the TTL.
	marginMax, marginPart = 100 * time.Millisecond, 10
	// Parts of the TTL: after the first a lease is renewed, after the second again if that failed
	// (both leave it below ten requests in a TTL), and the third is how long an answer may take.
	renewPart, againPart, answerPart = 3, 12, 4
	againLeast, answerLeast          = 20 * time.Millisecond, 200 * time.Millisecond
)

// Lock is a lock that was acquired. It is renewed until it is released or lost.
type Lock struct {
	client           *Client
	name, id, accept string // accept: empty for a lease
	ttl              time.Duration

	ctx, held      context.Context // of what the lock protects; until it is released or lost, whatever becomes of ctx
	cancel, unhold context.CancelFunc

	fence    int64
	mu       sync.Mutex
	grant    string        // empty: not sent, and closing the stream releases
	until    time.Duration // as the clock counts
	err      error         // why it was lost
	released bool
	stream   *conn         // that holds it now; nil: there is none
	renewal  time.Duration // when it is due, as the clock counts; a stream is taken up again then
	timer    *time.Timer
}

// Context is done when the lock is lost or released, and before its deadline: 100 ms, or a tenth
// of the TTL. It is derived from that of [Client.Acquire]. After a suspend of the machine it is done
// within 100 ms, and [Lock.Remaining] is right at once.
func (l *Lock) Context() context.Context { return l.ctx }

// Fence is the fencing token: it grows with every holder. A resource that remembers the largest,
// and refuses smaller ones, is safe from a holder that comes too late. 0: the lock has none.
func (l *Lock) Fence() int64 { return l.fence }

// Remaining is how long it is held if no more renewal succeeds; 0: it is not held any more.
func (l *Lock) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held.Err() != nil {
		return 0
	}
	return -least(processClock.now()-l.until, 0)
}

// Err is nil as long as the lock was not lost; afterwards it has the reason, as an [ErrLost].
func (l *Lock) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Takes the deadline from an answer or event. False: it is over already.
func (l *Lock) take(sent time.Duration, a *answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = -least(-l.until, -sent-a.span()) // each that was sent stands; the later one counts
	if a.Grant != "" {
		l.grant = a.Grant
	}
	if a.Fence > l.fence {
		l.fence = a.Fence
	}
	return processClock.now() < l.until-l.margin()
}

func (l *Lock) margin() time.Duration { return least(l.ttl/marginPart, marginMax) }

// Asks for it, or for more time. Nil: it is held, and there is time left.
func (l *Lock) send(ctx context.Context, r *request, limit time.Duration) (*conn, *Error) {
	sent := processClock.now()
	k, a, e := l.client.send(ctx, r, limit)
	if e != nil {
		return k, e
	}
	k.sent = sent
	if k.lines == nil && (a.Grant == "" || r.accept != "") {
		return k, a.failure(l.name)
	} else if !l.take(sent, a) {
		return k, &Error{Name: l.name, kind: ErrUnavailable, Detail: "it was granted too late to be of use"}
	}
	return k, nil
}

// The next request about it.
func (l *Lock) request(method, body string) *request {
	return &request{method: method, path: locks, name: l.name, id: l.id, grant: l.grant, accept: l.accept, body: body}
}

func (l *Lock) hold(k *conn) {
	if k.lines != nil {
		l.stream, l.renewal = k, never
		go l.follow(k)
		return
	}
	l.renewal = k.sent + l.ttl/renewPart
	l.client.done(k)
}

// Until the next look.
func (l *Lock) next(now time.Duration) time.Duration {
	return least(least(l.until-l.margin(), l.renewal)-now, lookEvery)
}

// At times, and when the deadline or a renewal may be due. A lock that was lost without a word of the
// service keeps its stream until then: closing it would let the next holder in beside what still
// stops.
func (l *Lock) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := processClock.now()
	left := l.until - now
	if l.held.Err() == nil && left > l.margin() {
		if now >= l.renewal {
			l.renewal = never
			go l.renew(left)
		}
		l.timer.Reset(l.next(now))
		return
	}
	l.lose(&Error{Name: l.name, kind: ErrExpired})
	if isLeft := l.stream != nil && !l.released; isLeft && left > 0 {
		l.timer.Reset(left)
	} else if isLeft {
		go l.stream.Close()
	}
}

// With mu. Nothing, if it is over already.
func (l *Lock) lose(err error) {
	if l.held.Err() == nil {
		l.err = err
		l.cancel()
		l.unhold()
	}
}

// Renews a lease, or takes a stream that has ended up again, before the deadline: its grant is known.
func (l *Lock) renew(left time.Duration) {
	r := l.request("POST", fmt.Sprintf(`{"ttl_ms":%d}`, l.ttl.Milliseconds()))
	limit, pause := -least(-l.ttl/answerPart, -answerLeast), -least(-l.ttl/againPart, -againLeast)
	if r.accept != "" {
		r.method, pause = "PUT", least(pause, retryMax)
	}
	k, e := l.send(l.held, r, least(limit, left))
	l.mu.Lock()
	defer l.mu.Unlock()
	if e != nil && e.Code != "" && (e.Status == 410 || e.Status == 409) {
		e.kind = ErrLost
		l.lose(e)
	}
	if e == nil && l.held.Err() == nil {
		l.hold(k)
	} else {
		l.client.done(k)
		l.renewal = processClock.now() + pause // 503, an answer of a proxy or none: the known deadline stands
	}
	l.timer.Reset(l.next(processClock.now()))
}

// To the end of the stream. Where closing releases, that is the end of the lock, too. Elsewhere, and after
// `reconnect`, the grant is known.
func (l *Lock) follow(k *conn) {
	a, err := &answer{}, error(nil)
	for err == nil && a.event != "lost" && a.event != "reconnect" {
		k.SetDeadline(time.Time{})
		if a, err = k.next(); err == nil {
			l.take(k.sent, a)
		}
	}
	k.Close()
	l.mu.Lock()
	if l.stream, l.renewal = nil, 0; err == nil && a.event == "lost" {
		l.lose(a.failure(l.name))
	} else if l.grant == "" {
		l.lose(&Error{Name: l.name, kind: ErrLost, Detail: "the service has closed the stream"})
	}
	l.mu.Unlock()
	l.look()
}

// ---- the end ----

// Release gives the lock back; Context is done before. It waits for the service to confirm that,
// a few seconds at most, and goes on in the background when ctx is done meanwhile; a context that
// is done already is none: a program that is being ended still releases. Of a lock that was lost
// the error has it; what is left of it on the nodes is deleted all the same.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	lost, again, k := l.err, l.released, l.stream
	r := l.request("DELETE", "")
	l.released = true
	l.timer.Stop()
	l.cancel()
	l.unhold()
	l.mu.Unlock()
	if again {
		return lost
	}
	if k != nil {
		r.grant = "" // what closing releases was not sent; by the id whatever has its tag goes
	}
	if ctx.Err() != nil {
		ctx = context.Background()
	}
	err := l.client.end(ctx, r)
	if err != nil && ctx.Err() != nil {
		l.client.endLater(r, k)
		return &Error{Name: l.name, kind: ErrUnavailable, cause: ctx.Err(),
			Detail: "released, without an answer yet"}
	}
	l.client.done(k)
	if lost != nil {
		return lost
	}
	return err
}
