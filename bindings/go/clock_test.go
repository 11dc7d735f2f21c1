// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// Two clocks that a test moves as it likes.
type moved struct{ mono, wall time.Duration }

func (m *moved) read() (mono, wall time.Duration) { return m.mono, m.wall }

// Elapsed is the larger of monotonic and wall: in suspend, at steps, and when both come.
func TestClock(t *testing.T) {
	m := &moved{wall: 1000 * time.Hour}
	c := newClock(m.read)
	at := time.Duration(0)
	for _, step := range []struct {
		what              string
		mono, wall, since time.Duration
	}{
		{"both go on alike", time.Second, time.Second, time.Second},
		{"the machine is suspended", 0, time.Hour, time.Hour},
		{"the wall clock is set back", time.Second, -time.Hour, time.Second},
		{"the machine is suspended after that", 0, time.Minute, time.Minute},
		{"the wall clock is set forward", time.Second, time.Hour, time.Hour},
		{"nothing", 0, 0, 0},
	} {
		m.mono += step.mono
		m.wall += step.wall
		at += step.since
		if now := c.now(); now != at {
			t.Errorf("%s: %v instead of %v", step.what, now, at)
		}
	}
}

// A wall clock that jumps beyond the deadline, as it does in a suspend, ends the lock, though no timer
// of Go has come to its end; one that is set back does not prolong it.
func TestSuspendEndsALock(t *testing.T) {
	m := &moved{}
	ahead := make(chan time.Duration, 1)
	setSystem := func(read func() (mono, wall time.Duration)) {
		processClock.mu.Lock()
		defer processClock.mu.Unlock()
		processClock.read = read
	}
	defer setSystem(readSystem)
	setSystem(func() (mono, wall time.Duration) {
		select {
		case m.wall = <-ahead:
		default:
		}
		mono, wall = readSystem()
		return mono, wall + m.wall
	})
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		say(w, 201, held(0, 3600000))
	})
	lock, err := f.client(t).Acquire(background, "n", TTL(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	ahead <- -time.Hour // back
	eventually(t, "the clock was read", func() bool { return len(ahead) == 0 })
	if left := lock.Remaining(); left < 50*time.Minute || left > time.Hour {
		t.Errorf("after a step back %v remain", left)
	}
	ahead <- time.Hour // two hours forth
	select {
	case <-lock.Context().Done():
	case <-time.After(patience):
		t.Fatal("the lock outlived its deadline")
	}
	if !errors.Is(lock.Err(), ErrExpired) {
		t.Errorf("lost by %v", lock.Err())
	}
	lock.Release(background)
}
