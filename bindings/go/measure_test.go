// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// What is measured, and how often: make bench-go. Else these tests are skipped.
func measured(t *testing.T) int {
	count, err := strconv.Atoi(os.Getenv("REDLOCK_MEASURE"))
	if err != nil {
		t.Skip("REDLOCK_MEASURE is not set: make bench-go measures")
	}
	return count
}

// A candidate in a process of its own, which says when it leads.
func TestCandidate(t *testing.T) {
	service := os.Getenv("REDLOCK_CANDIDATE")
	if service == "" {
		t.Skip("it is started by TestFailover")
	}
	Must(New(service)).Lead(background, "measured", func(ctx context.Context, term int64) error {
		fmt.Printf("\nleads %d\n", term)
		<-ctx.Done()
		return nil
	})
}

type candidate struct {
	*exec.Cmd
	leads chan time.Time
}

func startCandidate(t *testing.T, d *daemon) *candidate {
	c := &candidate{exec.Command(os.Args[0], "-test.run", "^TestCandidate$"), make(chan time.Time, 1)}
	c.Env = append(os.Environ(), "REDLOCK_CANDIDATE=unix:"+d.socket)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if len(lines.Text()) > 5 && lines.Text()[:5] == "leads" {
				c.leads <- time.Now()
			}
		}
	}()
	return c
}

// kill -9 of a leader: how long until the next one acts.
func TestFailover(t *testing.T) {
	count := measured(t)
	d := startDaemon(t, "--drain", "0")
	leader := startCandidate(t, d)
	<-leader.leads
	var took []time.Duration
	for i := 0; i < count; i++ {
		next := startCandidate(t, d)
		eventually(t, "it waits", func() bool { return d.says("/v1/locks/measured", `"waiters":1`) })
		killed := time.Now()
		leader.Process.Kill()
		took = append(took, (<-next.leads).Sub(killed))
		leader.Wait()
		leader = next
	}
	leader.Process.Kill()
	leader.Wait()
	sort.Slice(took, func(a, b int) bool { return took[a] < took[b] })
	fmt.Printf("kill -9 of a leader, the next acts: p50 %v, p99 %v, worst %v of %d\n", took[count/2],
		took[count*99/100], took[count-1], count)
}

// Acquire and Release by 64 callers of one unix socket, in turns with the same requests of a C program.
func TestCycles(t *testing.T) {
	measured(t)
	const callers, rounds, span = 64, 3, 3 * time.Second
	d := startDaemon(t, "--drain", "0")
	run(d.client(WithStreams(false)), callers, time.Second) // connections, scripts, and the first of each key
	for round := 0; round < rounds; round++ {
		asked := exec.Command(os.Getenv("REDLOCK_ASKED"), d.socket, "3")
		asked.Stderr = os.Stderr
		said, err := asked.Output()
		if err != nil {
			t.Fatal(err)
		}
		inC, _ := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
		for _, streams := range []bool{false, true} {
			cycles, failed := run(d.client(WithStreams(streams)), callers, span)
			rate := float64(cycles) / span.Seconds()
			fmt.Printf("%d callers, streams %v: %.0f cycles/s, %.2f of the %.0f in C; %d failed\n", callers,
				streams, rate, rate/inC, inC, failed)
		}
	}
}

func run(c *Client, callers int, span time.Duration) (cycles, failed int64) {
	var all sync.WaitGroup
	end := time.Now().Add(span)
	for i := 0; i < callers; i++ {
		all.Add(1)
		go func(name string) {
			defer all.Done()
			for time.Now().Before(end) {
				lock, err := c.Acquire(background, name)
				if err == nil {
					err = lock.Release(background)
				}
				if err != nil {
					atomic.AddInt64(&failed, 1)
				}
				atomic.AddInt64(&cycles, 1)
			}
		}(fmt.Sprintf("cycles/%d", i))
	}
	all.Wait()
	return cycles, failed
}
