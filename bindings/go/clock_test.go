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

// The wall clock goes on by what is sent, once it is read.
func stepWall(t *testing.T) chan<- time.Duration {
	ahead, stepped := make(chan time.Duration, 1), time.Duration(0)
	setSystem := func(read func() (mono, wall time.Duration)) {
		processClock.mu.Lock()
		defer processClock.mu.Unlock()
		processClock.read = read
	}
	t.Cleanup(func() { setSystem(readSystem) })
	setSystem(func() (mono, wall time.Duration) {
		select {
		case step := <-ahead:
			stepped += step
		default:
		}
		mono, wall = readSystem()
		return mono, wall + stepped
	})
	return ahead
}

// A wall clock that jumps beyond the deadline, as it does in a suspend, ends the lock, though no timer
// of Go has come to its end; one that is set back does not prolong it.
func TestSuspendEndsALock(t *testing.T) {
	ahead := stepWall(t)
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
	ahead <- 2 * time.Hour
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

// A candidate that looks right after a suspend does not lead any more, though no timer of Go has ended its context.
func TestSuspendEndsATerm(t *testing.T) {
	ahead := stepWall(t)
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		if r.Method == "DELETE" {
			w.WriteHeader(204)
		} else if count == 1 {
			say(w, 201, held(0, 3600000))
		} else {
			<-r.Context().Done() // another leads
		}
	})
	e := f.client(t).Elector(background, "n", TTL(time.Hour))
	eventually(t, "it leads", func() bool { return e.Term() == 7 })
	ahead <- 2 * time.Hour
	if err := e.IsLeader(background); !errors.Is(err, ErrNotLeader) {
		t.Errorf("behind its deadline it leads: %v", err)
	}
	e.Close()
}
