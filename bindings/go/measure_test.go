// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"bufio"
	"context"
	"crypto/sha256"
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

// Acquire and Release by 64 callers, in turns with the same requests of another program: one in C over the same
// unix socket, and wrk, if it is there, over TCP on loopback, since it knows no unix sockets.
func TestCycles(t *testing.T) {
	measured(t)
	const callers, turns, span = 64, 9, 2 * time.Second
	dir := t.TempDir()
	os.WriteFile(dir+"/token", []byte("a-token-to-measure\n"), 0600)
	os.WriteFile(dir+"/tokens", []byte(fmt.Sprintf("go %x\n", sha256.Sum256([]byte("a-token-to-measure")))), 0600)
	address := freeAddress(t)
	d := startDaemon(t, "--drain", "0", "--listen", address, "--tokens", dir+"/tokens", "--allow", "token:go * acquire",
		"--allow", fmt.Sprintf("uid:%d * acquire,read", os.Getuid()))
	overTCP := Must(New("http://"+address, WithTokenFile(dir+"/token")))
	defer overTCP.Close()
	for _, pair := range []struct {
		what   string
		client *Client
		other  *exec.Cmd
		each   float64 // what the other counts, for a cycle
	}{
		{"leases, of C", d.client(WithStreams(false)), exec.Command(os.Getenv("REDLOCK_ASKED"), d.socket, "2"), 1},
		{"streams, of leases in C", d.client(), exec.Command(os.Getenv("REDLOCK_ASKED"), d.socket, "2"), 1},
		{"leases over TCP, of wrk", overTCP, exec.Command("bash", "-c", "TOKEN=a-token-to-measure wrk -t1 -c64 -d2 "+
			"-s cycles.lua http://"+address+" | sed -n 's/Requests.sec: *//p'"), 2},
	} {
		if _, err := exec.LookPath("wrk"); pair.client == overTCP && err != nil {
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
