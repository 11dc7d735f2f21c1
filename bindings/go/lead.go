// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Act is what runs under a lock, until ctx is done. The fence is that of the lock; of a leader it is the term.
type Act = func(ctx context.Context, fence int64) error

// Do runs act while it holds the lock, and waits for it for ever unless [Wait] sets a limit. Its
// error is that of act, or why the lock was not acquired, or an [ErrLost] if act ended well
// but the lock had not lasted.
func (c *Client) Do(ctx context.Context, name string, act Act, options ...LockOption) error {
	lock, err := c.Acquire(ctx, name, append([]LockOption{Wait(Forever)}, options...)...)
	if err != nil {
		return err
	}
	return lock.run(ctx, act)
}

func (l *Lock) run(ctx context.Context, act Act) (err error) {
	defer func() {
		if released := l.Release(ctx); err == nil && errors.Is(released, ErrLost) {
			err = released // what else cannot be released expires
		}
	}()
	return act(l.Context(), l.Fence())
}

// Lead runs act whenever it is the leader: the holder of the lock of that name. The term grows with
// every leader; it is the fencing token, for resources to refuse what an earlier leader still
// sends. The context of act is done when the leader is deposed, and before the lease ends: it must
// return then. Returning is resigning, and lets the next in the queue lead.
//
// Lead goes on, as a candidate again, until ctx is done, an act that was not deposed has returned
// an error, or the service refuses for good; that is its error.
func (c *Client) Lead(ctx context.Context, name string, act Act, options ...LockOption) error {
	return c.lead(ctx, name, func(lock *Lock) error { return lock.run(ctx, act) }, options)
}

func (c *Client) lead(ctx context.Context, name string, act func(*Lock) error, options []LockOption) error {
	options = append([]LockOption{Fair()}, append(options, Wait(Forever), Fenced(true))...)
	for {
		lock, err := c.Acquire(ctx, name, options...)
		if err != nil {
			return err
		}
		err = act(lock)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && lock.Err() == nil && !errors.Is(err, ErrLost) {
			return err
		}
	}
}

// Elector is a candidate in the background, with the one method of gocron's Elector.
type Elector struct {
	stop context.CancelFunc
	done chan struct{}
	why  error // of its end
	last atomic.Pointer[Lock]
}

// Elector is a candidate from now on, until ctx is done or it is closed.
func (c *Client) Elector(ctx context.Context, name string, options ...LockOption) *Elector {
	ctx, stop := context.WithCancel(ctx)
	e := &Elector{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		e.why = c.lead(ctx, name, func(lock *Lock) error {
			e.last.Store(lock)
			<-lock.ctx.Done()
			lock.Release(ctx)
			return nil
		}, options)
	}()
	return e
}

// IsLeader is nil if this candidate leads, and an [ErrNotLeader] otherwise.
func (e *Elector) IsLeader(context.Context) error {
	if e.Term() != 0 {
		return nil
	}
	select {
	case <-e.done:
		return fmt.Errorf("redlock: %w: %s", ErrNotLeader, e.why)
	default:
		return fmt.Errorf("redlock: %w", ErrNotLeader)
	}
}

// Term is that in which this candidate leads; 0: it does not. The clock is looked at: after a suspend the
// timer that ends the context comes too late.
func (e *Elector) Term() int64 {
	if l := e.last.Load(); l != nil && l.ctx.Err() == nil && l.Remaining() > l.margin() {
		return l.fence
	}
	return 0
}

// Close resigns, and returns when that is done.
func (e *Elector) Close() error {
	e.stop()
	<-e.done
	return nil
}

// Locker has the shape of gocron's Locker, whose Lock returns an interface of that package: L is
// that interface.
//
//	gocron.WithDistributedLocker(redlock.NewLocker[gocron.Lock](client, 5*time.Second))
type Locker[L any] func(ctx context.Context, key string) (L, error)

// Lock tries to acquire the lock key.
func (l Locker[L]) Lock(ctx context.Context, key string) (L, error) { return l(ctx, key) }

// NewLocker tries each lock once. The schedulers of a fleet come at times that differ by what their
// clocks differ: a job that was done sooner keeps its lock for splay from its start, so that none
// runs it again, unless its process ends before. It panics if L is another interface.
func NewLocker[L any](c *Client, splay time.Duration, options ...LockOption) Locker[L] {
	_ = any(unlocker(nil)).(L)
	return func(ctx context.Context, key string) (held L, err error) {
		start := processClock.now()
		lock, err := c.Acquire(ctx, key, options...)
		if err != nil {
			return held, err
		}
		return any(unlocker(func(ctx context.Context) error {
			if left := start + splay - processClock.now(); left > 0 && lock.Err() == nil {
				time.AfterFunc(left, func() { lock.Release(context.Background()) })
				return nil
			}
			return lock.Release(ctx)
		})).(L), nil
	}
}

type unlocker func(context.Context) error

// Unlock releases the lock, in the background if its splay is not over yet.
func (u unlocker) Unlock(ctx context.Context) error { return u(ctx) }
