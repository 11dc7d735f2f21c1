// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Locks are granted; requests for records are answered by the test. Sent is each method, `o` for a record.
func newOnce(t *testing.T, put func(w http.ResponseWriter, r *http.Request, count int)) (*fake, func() string) {
	asked, puts, ended := "", 0, map[string]bool{} // by lease ids
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {})
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		f.mu.Lock()
		isRecord := strings.HasPrefix(r.URL.Path, "/v1/once/")
		id := r.Header.Get("Lease-Id")
		if isRecord && r.Method == "PUT" && ended[id] {
			t.Error("a lease that took its record back records again")
		}
		ended[id] = ended[id] || r.Method == "DELETE"
		asked += " " + map[bool]string{true: "o"}[isRecord] + r.Method
		if isRecord && r.Method == "PUT" {
			puts++
		}
		count := puts
		f.mu.Unlock()
		switch {
		case r.Method == "DELETE":
			w.WriteHeader(204)
		case isRecord:
			put(w, r, count)
		default:
			say(w, 201, held(0, 60000))
		}
	})
	return f, func() string {
		f.mu.Lock()
		defer f.mu.Unlock()
		return strings.TrimSpace(asked)
	}
}

// The second time with another lease: a late copy of the DELETE would delete what the same one records then.
const twice = "PUT oPUT oDELETE DELETE PUT oPUT DELETE"

const begin = `{"every_ms":60000,"after_ms":0,"remaining_ms":900,"sure":true}`

// It runs only where the record is known to be written, and in time; else whatever may be written is taken back, before
// the lock is released.
func TestOnceBeginsOrTakesBack(t *testing.T) {
	for _, c := range []struct {
		what  string
		put   func(w http.ResponseWriter, r *http.Request, count int)
		is    error
		asked string
	}{
		{"recorded", func(w http.ResponseWriter, r *http.Request, count int) { say(w, 201, begin) }, nil, "PUT oPUT DELETE"},
		{"done", func(w http.ResponseWriter, r *http.Request, count int) {
			say(w, 423, `{"code":"DONE","detail":"it has run","label":"web1","next_ms":5000}`)
		}, ErrSkipped, "PUT oPUT DELETE"},
		{"not allowed", func(w http.ResponseWriter, r *http.Request, count int) { say(w, 403, `{"code":"DENIED"}`) }, ErrDenied,
			"PUT oPUT DELETE"},
		{"without the lock", func(w http.ResponseWriter, r *http.Request, count int) { say(w, 410, `{"code":"ENDED"}`) },
			ErrLost, "PUT oPUT oDELETE DELETE"},
		{"no quorum", func(w http.ResponseWriter, r *http.Request, count int) { say(w, 503, `{"code":"NOQUORUM"}`) },
			ErrNoQuorum, "PUT oPUT oDELETE DELETE"},
		{"late once", func(w http.ResponseWriter, r *http.Request, count int) {
			if count == 1 {
				say(w, 503, `{"code":"LATE"}`)
			} else {
				say(w, 201, begin)
			}
		}, nil, twice},
		{"an answer that is lost", func(w http.ResponseWriter, r *http.Request, count int) {
			if count == 1 {
				socket, _, _ := w.(http.Hijacker).Hijack()
				socket.Close()
				return
			}
			say(w, 201, begin)
		}, nil, twice},
		{"an answer of a proxy", func(w http.ResponseWriter, r *http.Request, count int) {
			say(w, map[bool]int{true: 200, false: 201}[count == 1], begin)
		}, nil, twice},
		{"a record of ours that came first", func(w http.ResponseWriter, r *http.Request, count int) {
			if count == 1 {
				say(w, 409, `{"code":"YOURS"}`)
			} else {
				say(w, 201, begin)
			}
		}, nil, twice},
		{"too late, always", func(w http.ResponseWriter, r *http.Request, count int) {
			say(w, 201, `{"every_ms":60000,"after_ms":0,"remaining_ms":0}`)
		}, ErrUnavailable, strings.Repeat(" PUT oPUT oDELETE DELETE", startTries)[1:]},
		{"no time is given", func(w http.ResponseWriter, r *http.Request, count int) { say(w, 201, `{}`) }, ErrUnavailable,
			strings.Repeat(" PUT oPUT oDELETE DELETE", startTries)[1:]},
	} {
		f, asked := newOnce(t, c.put)
		ran := 0
		err := f.client(t).Once(background, "n", time.Minute, func(ctx context.Context, fence int64) error {
			if ran++; fence != 7 || ctx.Err() != nil {
				t.Errorf("%s: the fence is %d", c.what, fence)
			}
			return nil
		})
		if !errors.Is(err, c.is) || (ran == 1) != (c.is == nil) || asked() != c.asked {
			t.Errorf("%s: ran %d times, %v; sent %s", c.what, ran, err, asked())
		}
		var e *Error
		if c.is == ErrSkipped && (!errors.As(err, &e) || e.Holder == nil || e.Holder.Label != "web1" || e.Holder.RemainingMs != 5000) {
			t.Errorf("%s: it is %#v", c.what, err)
		}
	}
}

// The end of the context while it is recorded: it does not begin, and the record is taken back before the lock is released.
func TestOnceIsCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	f, asked := newOnce(t, func(w http.ResponseWriter, r *http.Request, count int) {
		cancel()
		<-r.Context().Done()
	})
	c := f.client(t)
	err := c.Once(ctx, "n", time.Minute, func(context.Context, int64) error {
		t.Error("it ran")
		return nil
	})
	if c.Close(); !errors.Is(err, context.Canceled) || asked() != "PUT oPUT oDELETE DELETE" {
		t.Errorf("%v; sent %s", err, asked())
	}
}

// What act returns is the error, and the record stays; periods that are none are refused; a panic releases.
func TestOnceKeepsItsRecord(t *testing.T) {
	f, asked := newOnce(t, func(w http.ResponseWriter, r *http.Request, count int) { say(w, 201, begin) })
	c, failed := f.client(t), errors.New("the work has failed")
	if err := c.Once(background, "n", time.Minute, func(context.Context, int64) error { return failed }); err != failed {
		t.Errorf("it is %v", err)
	}
	for _, every := range []time.Duration{0, -1, time.Second - 1, 24*time.Hour + 1} {
		if err := c.Once(background, "n", every, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", every, err)
		}
	}
	func() {
		defer func() { recover() }()
		c.Once(background, "n", time.Minute, func(context.Context, int64) error { panic("a bug") })
	}()
	if asked() != "PUT oPUT DELETE PUT oPUT DELETE" {
		t.Errorf("sent %s", asked())
	}
}

// Of all that try, through two replicas, one begins in a period. Its record outlives its lock and the daemon that wrote
// it, and is that of `redlock run --every`; after the period the next begins.
func TestOnceInAPeriod(t *testing.T) {
	first, second := startDaemon(t, "--drain", "0"), startDaemon(t, "--drain", "0")
	for _, streams := range []bool{true, false} {
		clients := []*Client{first.client(WithStreams(streams)), second.client(WithStreams(streams))}
		name := fmt.Sprintf("once/%v", streams)
		var ran, skipped atomic.Int32
		try := func(c *Client, every time.Duration, options ...LockOption) {
			err := c.Once(background, name, every, func(context.Context, int64) error {
				ran.Add(1)
				return nil
			}, options...)
			if errors.Is(err, ErrSkipped) {
				skipped.Add(1)
			} else if err != nil && (every > time.Second || !errors.Is(err, ErrNoQuorum)) { // it expires on each node by itself
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		for i := 0; i < 20; i++ {
			all.Add(1)
			go func(i int) {
				defer all.Done()
				try(clients[i%2], time.Hour, Wait(time.Duration(i%4)*time.Second), Label("web1"))
			}(i)
		}
		all.Wait()
		if ran.Load() != 1 || skipped.Load() != 19 {
			t.Errorf("%d ran, %d were skipped", ran.Load(), skipped.Load())
		}
		redlock := filepath.Join(filepath.Dir(os.Getenv("REDLOCKD")), "redlock")
		if exec.Command(redlock, "run", "-n", "--every", "1h", name, "--", "true").Run().(*exec.ExitError).ExitCode() != 75 {
			t.Error("the command runs it again")
		}
		var e *Error
		err := clients[1].Once(background, name, time.Hour, nil)
		if !errors.As(err, &e) || e.Holder == nil || e.Holder.Label != "web1" || e.Holder.RemainingMs < 3500000 {
			t.Errorf("it is %#v", err)
		}
		name += "/again"
		before := time.Now()
		for ran.Store(0); ran.Load() < 2; {
			try(clients[ran.Load()], time.Second)
		}
		if apart := time.Since(before); apart < time.Second {
			t.Errorf("the starts are %v apart", apart)
		}
	}
	first.kill()
	if err := second.client().Once(background, "once/true", time.Hour, nil); !errors.Is(err, ErrSkipped) {
		t.Errorf("after the death of a replica it is %v", err)
	}
}
