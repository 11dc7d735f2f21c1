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

// A candidate in a process of its own, which prints when it leads.
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

// Acquire and Release by 64 callers over a unix socket, in turns with the same requests of other programs over it: wrk, if
// it is there, and one in C.
func TestCycles(t *testing.T) {
	measured(t)
	const callers, turns, span = 64, 9, 2 * time.Second
	d := startDaemon(t, "--drain", "0")
	inC := exec.Command(os.Getenv("REDLOCK_ASKED"), d.socket, "2")
	inC.Stderr = os.Stderr // why it fails
	// A machine that stands still for seconds has a few refusals.
	wrk := exec.Command("bash", "-c", `wrk -t1 -c64 -d2 -s cycles.lua http://127.0.0.1 |
		awk '/Non-2xx/ { refused = $NF } / requests in / { all = $1 } /^Requests/ && refused * 100 < all { print $2 }'`)
	wrk.Env = append(os.Environ(), "LD_PRELOAD="+os.Getenv("REDLOCK_WRK_SOCKET"), "WRK_SOCKET="+d.socket)
	for _, pair := range []struct {
		what   string
		client *Client
		other  *exec.Cmd
		each   float64 // what the other counts, for a cycle
	}{
		{"leases, of wrk", d.client(WithStreams(false)), wrk, 2},
		{"leases, of C", d.client(WithStreams(false)), inC, 1},
		{"streams, of leases in C", d.client(), inC, 1},
	} {
		if _, err := exec.LookPath("wrk"); pair.other == wrk && err != nil {
			fmt.Println("wrk is not installed: left out")
			continue
		}
		run(pair.client, callers, time.Second)    // connections, scripts, and the first of each key
		var shares, rates, ours, theirs []float64 // the last: microseconds of processor time, for a cycle
		for turn := 0; turn < turns; turn++ {
			other := *pair.other
			said, err := other.Output()
			reached, _ := strconv.ParseFloat(strings.TrimSpace(string(said)), 64)
			before := used(t)
			cycles, failed := run(pair.client, callers, span)
			ours = append(ours, float64((used(t)-before).Microseconds())/float64(cycles))
			if err != nil || reached == 0 || failed > 0 {
				t.Fatalf("%s: %v, %q; %d failed", pair.what, err, said, failed)
			}
			rates = append(rates, float64(cycles)/span.Seconds())
			shares = append(shares, rates[turn]/reached*pair.each)
			time := other.ProcessState.UserTime() + other.ProcessState.SystemTime()
			theirs = append(theirs, float64(time.Microseconds())/(reached/pair.each*span.Seconds()))
		}
		for _, figures := range [][]float64{shares, rates, ours, theirs} {
			sort.Float64s(figures)
		}
		fmt.Printf("%d callers, %s: %.2f (%.2f to %.2f of %d turns), %.0f cycles/s; %.0f us of processor time for a cycle, "+
			"of the other %.0f us\n", callers, pair.what, shares[turns/2], shares[0], shares[turns-1], turns, rates[turns/2],
			ours[turns/2], theirs[turns/2])
	}
}

// Processor time of this process.
func used(t *testing.T) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func run(c *Client, callers int, span time.Duration) (cycles, failed int64) {
	var all sync.WaitGroup
	end := time.Now().Add(span)
	ctx, cancel := context.WithCancel(background) // as programs have
	defer cancel()
	for i := 0; i < callers; i++ {
		all.Add(1)
		go func(name string) {
			defer all.Done()
			for time.Now().Before(end) {
				lock, err := c.Acquire(ctx, name)
				if err == nil {
					err = lock.Release(ctx)
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
