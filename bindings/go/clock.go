// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"sync"
	"time"
)

// A clock counts the time that has passed, and never less than has: from one reading to the
// next it goes on by the larger of what the monotonic clock and what the wall clock has gone on.
// The monotonic clock of Go stands still while the machine is suspended, and the wall clock does
// not; the wall clock can be set back, and the monotonic one cannot. docs/service.md says what
// that assumes.
type clock struct {
	read           func() (mono, wall time.Duration)
	mu             sync.Mutex
	mono, wall, at time.Duration
}

var started = time.Now()

// One reading has both: no time passes between them.
func readSystem() (mono, wall time.Duration) {
	t := time.Now()
	return t.Sub(started), time.Duration(t.UnixNano())
}

func newClock(read func() (mono, wall time.Duration)) *clock {
	c := &clock{read: read}
	c.mono, c.wall = read()
	return c
}

// All locks of the process share it: while any is held, it is read ten times a second and more.
var processClock = newClock(readSystem)

func (c *clock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono, wall := c.read()
	passed := mono - c.mono
	if byWall := wall - c.wall; byWall > passed {
		passed = byWall
	}
	c.mono, c.wall = mono, wall
	c.at += passed
	return c.at
}
