// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"errors"
	"net/http"
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
	client   *Client
	name, id string
	ttl      time.Duration
	sent     time.Duration // the PUT, as the clock counts
	events   *events       // of the first stream; nil: a lease

	ctx    context.Context // of what the lock protects
	cancel context.CancelFunc
	held   context.Context // until it is released or lost, whatever becomes of the caller's
	unhold context.CancelFunc

	fence    int64
	mu       sync.Mutex
	grant    string        // empty: not told, and closing the stream releases
	until    time.Duration // as the clock counts
	err      error         // why it was lost
	released bool
	close    func()        // ends the stream that holds it now; nil: there is none
	renewal  time.Duration // of a lease: when it is due, as the clock counts
	timer    *time.Timer
}

// Context is done when the lock is lost or released, and before its deadline: 100 ms, or a tenth
// of the TTL. It is derived from that of [Client.Acquire].
func (l *Lock) Context() context.Context { return l.ctx }

// Fence is the fencing token: it grows with every holder. A resource that remembers the largest,
// and refuses smaller ones, is safe from a holder that comes too late. 0: the lock has none.
func (l *Lock) Fence() int64 { return l.fence }

// Remaining is how long it is held if no more renewal succeeds; 0: it is not held any more.
func (l *Lock) Remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.until - processClock.now()
	if l.err != nil || l.released || left < 0 {
		return 0
	}
	return left
}

// Err is nil as long as the lock was not lost; afterwards it says why, as an [ErrLost].
func (l *Lock) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Notes what an answer or event says about the deadline. False: it is over already.
func (l *Lock) tell(sent time.Duration, a *answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if span, ok := a.span(); ok && sent+span > l.until {
		l.until = sent + span // each that was told stands; the later one counts
	}
	if a.Grant != "" {
		l.grant = a.Grant
	}
	return processClock.now() < l.until-l.margin()
}

// What is asked for again.
func (l *Lock) term() any { return map[string]int64{"ttl_ms": l.ttl.Milliseconds()} }

func (l *Lock) margin() time.Duration { return least(l.ttl/marginPart, marginMax) }

func (l *Lock) begin(ctx context.Context, end func()) {
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.held, l.unhold = context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	now := processClock.now()
	l.renewal = now + l.ttl/renewPart
	if l.events != nil {
		l.close, l.renewal = end, never
		go l.follow(l.sent, l.events)
	} else {
		end() // of a request that has its answer
	}
	l.timer = time.AfterFunc(l.next(now), l.look)
}

// Until the next look.
func (l *Lock) next(now time.Duration) time.Duration {
	return least(least(l.until-l.margin(), l.renewal)-now, lookEvery)
}

// At times, and when the deadline or a renewal may be due. A lock that was lost without being told so by the
// service keeps its stream until then: closing it would let the next holder in beside what still
// stops.
func (l *Lock) look() {
	l.mu.Lock()
	now := processClock.now()
	left, end, over := l.until-now, l.close, l.released
	if !over && left > l.margin() && l.err == nil {
		if now >= l.renewal {
			l.renewal = never
			go l.renew(left)
		}
		l.timer.Reset(l.next(now))
		over = true
	} else if !over && left > 0 && end != nil {
		l.timer.Reset(left)
	}
	l.mu.Unlock()
	if !over {
		l.lose(&Error{Name: l.name, kind: ErrExpired})
		if left <= 0 && end != nil {
			end()
		}
	}
}

func (l *Lock) lose(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !l.released {
		l.err = err
		l.cancel()
		l.unhold()
	}
}

// ---- a lease ----

func (l *Lock) renew(left time.Duration) {
	limit := -least(-l.ttl/answerPart, -answerLeast)
	ctx, cancel := context.WithTimeout(l.held, least(limit, left))
	sent := processClock.now()
	a, err := l.client.ask(ctx, &request{method: "POST", name: l.name, id: l.id, grant: l.grant,
		body: l.term()})
	cancel()
	// 503, an answer of a proxy or none: the deadline that is known stands.
	next := processClock.now() - least(-l.ttl/againPart, -againLeast)
	if err == nil && a.Status == http.StatusOK && a.Grant != "" && l.tell(sent, a) {
		next = sent + l.ttl/renewPart
	} else if err == nil && a.Status == http.StatusGone && a.Code != "" {
		l.lose(a.failure(l.name))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewal = next; l.err == nil && !l.released {
		l.timer.Reset(l.next(processClock.now()))
	}
}

// ---- a stream ----

func (l *Lock) follow(sent time.Duration, e *events) {
	for e != nil {
		a, err := e.next()
		switch {
		case err != nil || a.event == "reconnect":
			if err == nil {
				l.tell(sent, a)
			}
			e.close()
			sent, e = l.comeBack()
		case a.event == "lost":
			e.close()
			l.lose(a.failure(l.name))
			return
		default:
			l.tell(sent, a)
		}
	}
}

// Where closing releases, the end of the stream is the end of the lock. Elsewhere, and after
// `reconnect`, the grant is known, and the lock can be taken along before its deadline.
func (l *Lock) comeBack() (sent time.Duration, e *events) {
	l.mu.Lock()
	grant := l.grant
	l.close = nil
	l.mu.Unlock()
	if grant == "" {
		l.lose(&Error{Name: l.name, kind: ErrLost, Detail: "the service has closed the stream"})
	}
	for pause := time.Duration(0); l.held.Err() == nil; sleep(l.held, pause) {
		ctx, cancel := context.WithCancel(l.held)
		limit := time.AfterFunc(l.Remaining(), cancel)
		sent = processClock.now()
		e, err := l.client.open(ctx, &request{method: "PUT", name: l.name, id: l.id, grant: grant,
			stream: true, body: l.term()})
		if limit.Stop() && err == nil && l.tell(sent, e.granted) {
			return sent, e // closing it releases nothing: the end of l.held does
		}
		cancel()
		var failure *Error
		if errors.As(err, &failure) && failure.Code != "" && (failure.Status == 410 || failure.Status == 409) {
			failure.kind = ErrLost
			l.lose(failure)
		}
		pause = least(2*pause+againLeast, retryMax)
	}
	return 0, nil
}

// ---- the end ----

// Release gives the lock back; Context is done before. It waits for the service to confirm that,
// a few seconds at most, and goes on in the background when ctx is done meanwhile; a context that
// is done already is none: a program that is being ended still releases. Of a lock that was lost
// the error says so; what is left of it on the nodes is deleted all the same.
func (l *Lock) Release(ctx context.Context) error {
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		return l.err
	}
	l.released = true
	l.timer.Stop()
	lost, grant, end := l.err, l.grant, l.close
	l.mu.Unlock()
	l.cancel()
	l.unhold()
	if end == nil {
		end = func() {}
	} else {
		grant = "" // what closing releases was not told; by the id whatever has its tag goes
	}
	if ctx.Err() != nil {
		ctx = context.Background()
	}
	err := l.client.end(ctx, l.name, l.id, grant)
	if err != nil && ctx.Err() != nil {
		l.client.ends.Add(1)
		go func() {
			defer l.client.ends.Done()
			l.client.end(context.Background(), l.name, l.id, grant)
			end()
		}()
		return &Error{Name: l.name, kind: ErrUnavailable, cause: ctx.Err(),
			Detail: "released, without an answer yet"}
	}
	end()
	if lost != nil {
		return lost
	}
	return err
}
