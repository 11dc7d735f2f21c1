// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"fmt"
	"time"
)

// The last: locks under which act could not begin in time, or with a record of which nothing is known.
const everyMin, everyMax, startTries = time.Second, 24 * time.Hour, 5

// Once runs act if it is this program's turn: of all that try, one begins, and none again before
// every, one second to a day, is over. The others get an [ErrSkipped] at once, or when their [Wait]
// has ended. Any other error that is not of act: it was not run, or it is an [ErrLost], as of [Client.Do].
//
// The service records under the lock that act begins, as `redlock run --every` does, and the record
// counts for all languages. It stays, whatever becomes of act: one that fails counts as run, and so does
// one whose machine dies. Servers that forget the record let another begin. bindings/README.md of the
// project has all that this cannot promise.
func (c *Client) Once(ctx context.Context, name string, every time.Duration, act Act, options ...LockOption) error {
	if every < everyMin || every > everyMax {
		return &Error{Name: name, kind: ErrInvalid, Detail: "a period is one second to one day"}
	}
	for start, tries := processClock.now(), 1; ; tries++ {
		lock, err := c.acquire(ctx, name, start, options)
		if e, ok := err.(*Error); ok && (e.kind == ErrTaken || e.kind == ErrTimeout) {
			e.kind = ErrSkipped
		}
		if err != nil {
			return err
		}
		e, mayPass := lock.record(every)
		if e == nil {
			return lock.run(ctx, act)
		} else if err := lock.Release(ctx); err != nil || !mayPass || tries == startTries {
			return e
		}
	}
}

// Nil: recorded, and act begins now. Whatever is not known to be refused is taken back, before the lock is
// released: the next holder must not meet it. A copy of the PUT that comes later still finds no lock, and one
// of the DELETE no record: another try acquires the lock anew, with an id of its own.
func (l *Lock) record(every time.Duration) (e *Error, mayPass bool) {
	r := &request{method: "PUT", path: once, name: l.name, id: l.id,
		body: fmt.Sprintf(`{"every_ms":%d}`, every.Milliseconds())}
	sent := processClock.now()
	k, a, e := l.client.send(l.ctx, r, answerExtra)
	l.client.done(k)
	if e == nil && processClock.now() < sent+a.span() && l.ctx.Err() == nil {
		return nil, false
	} else if e == nil {
		e = &Error{Name: l.name, kind: ErrUnavailable, cause: l.ctx.Err(), Detail: "it was recorded too late to begin"}
	}
	if e.isRefusal() {
		e.Holder = &Holder{Label: a.Label, RemainingMs: a.Next}
		return e, false
	}
	return e, l.client.end(context.Background(), r) == nil && l.ctx.Err() == nil && e.kind == ErrUnavailable
}
