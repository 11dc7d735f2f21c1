// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Forever is a wait without an end but that of the context.
const Forever = never / 2

const (
	ttlDefault  = 30 * time.Second
	waitMax     = 50 * time.Second // of one PUT of a lease: as long as the service allows
	streamMax   = 24 * time.Hour   // of one PUT of a stream
	waitLeast   = 5 * time.Millisecond
	answerExtra = 10 * time.Second // how long an answer may take beyond the wait

	retryFirst, retryMax, retryAfterMax = 50 * time.Millisecond, time.Second, 30 * time.Second
	unknownTries, endTries              = 3, 3            // of a PUT that does not wait; of a DELETE
	endLimit                            = 2 * time.Second // of one DELETE
)

type terms struct {
	wait   time.Duration
	TTLMs  int64  `json:"ttl_ms"`
	WaitMs int64  `json:"wait_ms"`
	Kind   string `json:"kind,omitempty"`
	Fenced *bool  `json:"fenced,omitempty"`
	Fair   bool   `json:"fair,omitempty"`
	Label  string `json:"label,omitempty"`
	Slots  int    `json:"slots,omitempty"`
	Owner  string `json:"owner,omitempty"`
}

// LockOption sets one property of a lock. Without any it is exclusive, expires 30 s after its last
// renewal, has a fencing token, and is not waited for.
type LockOption func(*terms)

// TTL is how long it is held at most without a renewal; 30 s by default.
func TTL(ttl time.Duration) LockOption { return func(t *terms) { t.TTLMs = ttl.Milliseconds() } }

// Wait is how long to wait while another holds it; [Forever]: until the context is done.
func Wait(wait time.Duration) LockOption { return func(t *terms) { t.wait = wait } }

// Label shows others who holds it.
func Label(label string) LockOption { return func(t *terms) { t.Label = label } }

// Fair never goes before a waiter that came earlier.
func Fair() LockOption { return func(t *terms) { t.Fair = true } }

// Shared is held together with other readers. It has no fencing token.
func Shared() LockOption { return func(t *terms) { t.Kind = "shared" } }

// Slots lets so many hold it at the same time. It has no fencing token.
func Slots(count int) LockOption { return func(t *terms) { t.Kind, t.Slots = "semaphore", count } }

// Owner lets the same owner take it again.
func Owner(owner string) LockOption { return func(t *terms) { t.Kind, t.Owner = "reentrant", owner } }

// Fenced requests a fencing token, or that there be none, which is cheaper for the nodes.
func Fenced(wanted bool) LockOption { return func(t *terms) { t.Fenced = &wanted } }

// Acquire acquires a lock, which is renewed until it is released. The context ends the wait, and
// the context of the lock is derived from it: to bound the wait alone, use [Wait].
func (c *Client) Acquire(ctx context.Context, name string, options ...LockOption) (*Lock, error) {
	return c.acquire(ctx, name, processClock.now(), options)
}

// The wait has begun at start.
func (c *Client) acquire(ctx context.Context, name string, start time.Duration, options []LockOption) (*Lock, error) {
	t := &terms{TTLMs: ttlDefault.Milliseconds()}
	for _, option := range options {
		option(t)
	}
	if name == "" || t.TTLMs <= 0 || t.wait < 0 {
		return nil, &Error{Name: name, kind: ErrInvalid,
			Detail: "a lock needs a name, a TTL of milliseconds, and a wait that is not negative"}
	}
	end := start + t.wait
	for pause, tries := retryFirst, 1; ; tries++ {
		lock, e := c.try(ctx, name, t, -least(processClock.now()-end, 0))
		if e == nil {
			return lock, nil
		}
		if e.Code == "PROXIED" && c.streams.CompareAndSwap(true, false) {
			continue
		}
		left := end - processClock.now()
		late := left < waitLeast && (e.isRefusal() || e.Code != "" && e.Status >= 500 || tries >= unknownTries)
		if ctx.Err() != nil || !e.mayPass() || late {
			if e.kind == ErrTaken && t.wait != 0 {
				e.kind = ErrTimeout
			}
			return nil, e
		}
		if e.Code == "" || e.Status >= 429 { // else its wait has ended, or its id is spent: at once
			sleep(ctx, least(-least(-pause, -e.retry), least(left, retryAfterMax)))
			pause = least(2*pause, retryMax)
		}
	}
}

func least(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func sleep(ctx context.Context, span time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	<-ctx.Done()
}

// One PUT with a lease id of its own. Whatever is not seen granted or refused is ended: first by a
// DELETE, since a wait that is to end is known to the service, then by closing the connection.
func (c *Client) try(ctx context.Context, name string, t *terms, wait time.Duration) (*Lock, *Error) {
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, &Error{Name: name, kind: ErrInvalid, cause: err}
	}
	l := &Lock{client: c, name: name, id: hex.EncodeToString(random[:]), ttl: time.Duration(t.TTLMs) * time.Millisecond}
	limit := waitMax
	if c.streams.Load() {
		limit, l.accept = streamMax, aStream
	}
	wait = least(wait, limit)
	t.WaitMs = wait.Milliseconds()
	body, _ := json.Marshal(t)
	r := l.request("PUT", string(body))
	k, e := l.send(ctx, r, wait+answerExtra)
	if e == nil {
		l.ctx, l.cancel = context.WithCancel(ctx)
		l.held, l.unhold = context.WithCancel(context.Background())
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hold(k)
		l.timer = time.AfterFunc(l.next(processClock.now()), l.look)
		return l, nil
	}
	if k == nil || e.isRefusal() {
		c.done(k)
	} else {
		c.endLater(l.request("DELETE", ""), k)
	}
	return nil, e
}

// So many at a time. The connection, if any, is closed afterwards.
func (c *Client) endLater(r *request, k *conn) {
	c.ends.Add(1)
	go func() {
		defer c.ends.Done()
		c.endSlots <- struct{}{}
		c.end(context.Background(), r)
		<-c.endSlots
		c.done(k)
	}()
}

// DELETE until it is known to be gone, but not for long: what is left then expires.
func (c *Client) end(ctx context.Context, r *request) (err error) {
	r.method, r.accept, r.body = "DELETE", "", ""
	for i, pause := 0, retryFirst; i < endTries; i, pause = i+1, 4*pause {
		k, _, e := c.send(ctx, r, endLimit)
		c.done(k)
		// An earlier try, whose answer was lost, may have deleted it; a record need not be there.
		if e == nil || e.Status == 410 && (i > 0 || r.path == once) {
			return nil
		} else if e.Code != "" && e.Status < 429 {
			return e
		}
		if err = e; i+1 < endTries {
			sleep(ctx, pause)
		}
	}
	return err
}
