// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A service that answers as a test wants, and notes what it was sent.
type fake struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // METHOD LEASE-ID
}

func newFake(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, count int)) *fake {
	f := &fake{}
	counts := map[string]int{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		f.mu.Lock()
		f.seen = append(f.seen, r.Method+" "+r.Header.Get("Lease-Id"))
		counts[r.Method]++
		count := counts[r.Method]
		f.mu.Unlock()
		answer(w, r, count)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) methods() (methods []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.seen {
		methods = append(methods, one[:3])
	}
	return methods
}

func (f *fake) client(t *testing.T, options ...Option) *Client {
	c, err := New(f.URL, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func say(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

func held(afterMs, remainingMs int) string {
	return fmt.Sprintf(`{"name":"n","grant":"g","fence":7,"after_ms":%d,"remaining_ms":%d,"ttl_ms":3000}`,
		afterMs, remainingMs)
}

func busy(w http.ResponseWriter) {
	say(w, 423, `{"code":"BUSY","detail":"held by web1","holder":{"label":"web1"},"waiters":2}`)
}

// No step of a test waits for longer.
const patience = 20 * time.Second

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came that %s", what)
		}
	}
}

var background = context.Background()

// The deadline counts from the sending of the request: the way of the answer is taken off.
func TestDeadlineCountsFromSending(t *testing.T) {
	const way = 300 * time.Millisecond
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		if r.Method == "PUT" {
			time.Sleep(way)
			say(w, 201, held(0, 60000))
		}
	})
	lock, err := f.client(t).Acquire(background, "n", TTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if left := lock.Remaining(); left > time.Minute-way {
		t.Errorf("%v remain, as if the answer had taken no time", left)
	}
	if lock.Fence() != 7 {
		t.Errorf("the fence is %d", lock.Fence())
	}
}

// A grant whose time was over when it came is none, and is given back.
func TestGrantThatCameTooLate(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		if r.Method == "PUT" {
			time.Sleep(50 * time.Millisecond)
			say(w, 201, held(0, 20))
		} else {
			w.WriteHeader(204)
		}
	})
	c := f.client(t)
	if _, err := c.Acquire(background, "n", TTL(20*time.Millisecond)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("it is %v", err)
	}
	c.Close()
	counts := map[string]int{}
	for _, method := range f.methods() {
		counts[method]++
	}
	if counts["PUT"] != unknownTries || counts["DEL"] != unknownTries {
		t.Errorf("sent %v", f.methods())
	}
}

// A PUT whose answer was lost, or is of a proxy, or with the code of a spent id, is followed by a
// DELETE of its id and by a PUT with another; one that redlockd refused is not.
func TestDeleteAfterEveryPutNotSeenGranted(t *testing.T) {
	for what, answer := range map[string]func(w http.ResponseWriter){
		"lost": func(w http.ResponseWriter) {
			socket, _, _ := w.(http.Hijacker).Hijack()
			socket.Close()
		},
		"of a proxy":       func(w http.ResponseWriter) { say(w, 502, "<html>Bad Gateway</html>") },
		"of a proxy, good": func(w http.ResponseWriter) { say(w, 200, "{}") },
		"YOURS":            func(w http.ResponseWriter) { say(w, 409, `{"code":"YOURS","detail":"d"}`) },
		"SUPERSEDED":       func(w http.ResponseWriter) { say(w, 409, `{"code":"SUPERSEDED","detail":"d"}`) },
		"DRAINING":         func(w http.ResponseWriter) { say(w, 503, `{"code":"DRAINING","detail":"d"}`) },
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
			switch {
			case r.Method == "DELETE":
				w.WriteHeader(204)
			case count == 1:
				answer(w)
			default:
				say(w, 201, held(0, 60000))
			}
		})
		c := f.client(t)
		lock, err := c.Acquire(background, "n", TTL(time.Minute), Wait(patience))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		c.ends.Wait()
		f.mu.Lock()
		first, deleted := f.seen[0], ""
		for _, one := range f.seen {
			if one[:3] == "DEL" {
				deleted = one
			}
		}
		f.mu.Unlock()
		if deleted != "DELETE"+first[3:] || lock.id == first[4:] {
			t.Errorf("%s: sent %v", what, f.seen)
		}
	}
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) { busy(w) })
	c := f.client(t)
	_, err := c.Acquire(background, "n")
	c.Close()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrTaken) || e.Holder.Label != "web1" || e.Waiters != 2 {
		t.Errorf("it is %#v", err)
	}
	if seen := fmt.Sprint(f.methods()); seen != "[PUT]" {
		t.Errorf("a refusal was followed by %s", seen)
	}
}

// 503, an answer of a proxy and none leave the deadline that is known; it is then the end, before it
// comes, though a request is still under way.
func TestOldDeadlineStandsAndNoRequestOutlastsIt(t *testing.T) {
	for what, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"503":     func(w http.ResponseWriter, r *http.Request) { say(w, 503, `{"code":"NOQUORUM","detail":"d"}`) },
		"a proxy": func(w http.ResponseWriter, r *http.Request) { say(w, 200, "<html>") },
		"none":    func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
			switch r.Method {
			case "PUT":
				say(w, 201, held(0, 2000))
			case "POST":
				answer(w, r)
			default:
				say(w, 410, `{"code":"EXPIRED","detail":"it was gone already"}`)
			}
		})
		c := f.client(t)
		before := time.Now()
		lock, err := c.Acquire(background, "n", TTL(2*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		<-lock.Context().Done()
		if took := time.Since(before); took < time.Second {
			t.Errorf("%s: lost after %v, before its deadline", what, took)
		}
		if lock.Remaining() != 0 || !errors.Is(lock.Err(), ErrExpired) || !errors.Is(lock.Err(), ErrLost) {
			t.Errorf("%s: %v remain, lost by %v", what, lock.Remaining(), lock.Err())
		}
		if err := lock.Release(background); !errors.Is(err, ErrLost) {
			t.Errorf("%s: released with %v", what, err)
		}
	}
}

// A renewal that is answered 410 is the end at once.
func TestLostAtARenewal(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		switch r.Method {
		case "PUT":
			say(w, 201, held(0, 60000))
		case "POST":
			say(w, 410, `{"code":"LOST","detail":"gone from 2 of 3 nodes"}`)
		}
	})
	lock, err := f.client(t).Acquire(background, "n", TTL(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	<-lock.Context().Done()
	if err := lock.Err(); !errors.Is(err, ErrLost) || errors.Is(err, ErrExpired) {
		t.Errorf("lost by %v", err)
	}
}

// Release with a context that is done already deletes the lease all the same, and returns that it did.
func TestReleaseWithACanceledContext(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		if r.Method == "PUT" {
			say(w, 201, held(0, 60000))
		} else {
			w.WriteHeader(204)
		}
	})
	ctx, cancel := context.WithCancel(background)
	lock, err := f.client(t).Acquire(ctx, "n", TTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-lock.Context().Done()
	if lock.Err() != nil {
		t.Errorf("the end of the caller's context is no loss: %v", lock.Err())
	}
	if err := lock.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := lock.Release(ctx); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if seen := fmt.Sprint(f.methods()); seen != "[PUT DEL]" {
		t.Errorf("sent %s", seen)
	}
}

// A context that is done already sends nothing, whether a connection is idle or not, and is returned as such.
func TestDoneContextAsksNothing(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) { busy(w) })
	canceled, cancel := context.WithCancel(background)
	cancel()
	expired, cancel := context.WithTimeout(background, -time.Second)
	defer cancel()
	for _, idle := range []int{0, 1} {
		c := f.client(t)
		for i := 0; i < idle; i++ {
			c.Acquire(background, "n")
		}
		before := len(f.methods())
		for ctx, why := range map[context.Context]error{canceled: context.Canceled, expired: context.DeadlineExceeded} {
			if _, err := c.Acquire(ctx, "n", Wait(Forever)); !errors.Is(err, why) || len(f.methods()) != before {
				t.Errorf("%d idle: %v; sent %v", idle, err, f.methods()[before:])
			}
		}
	}
}

// A refused stream is a lease from then on; an error of the daemon is in the words of the service.
func TestProxyThatRefusesStreams(t *testing.T) {
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		if r.Method != "PUT" {
			w.WriteHeader(204)
		} else if r.Header.Get("Accept") == "text/event-stream" {
			say(w, 400, `{"code":"PROXIED","detail":"no stream through a proxy"}`)
		} else {
			say(w, 201, held(0, 60000))
		}
	})
	c := f.client(t, WithStreams(true))
	for i := 0; i < 2; i++ {
		lock, err := c.Acquire(background, "n", TTL(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Release(background); err != nil {
			t.Error(err)
		}
	}
	if seen := fmt.Sprint(f.methods()); seen != "[PUT PUT DEL PUT DEL]" {
		t.Errorf("sent %s", seen)
	}
}

// 10,000 waits that are canceled, of leases and of streams, leave no goroutine and no connection, which has one in
// the fake, and each was ended by a DELETE.
func TestCanceledWaitsLeaveNothing(t *testing.T) {
	const waits, atOnce = 10000, 100
	arrived := make(chan struct{}, atOnce)
	f := newFake(t, func(w http.ResponseWriter, r *http.Request, count int) {
		if r.Method == "DELETE" {
			w.WriteHeader(204)
			return
		}
		if r.Header.Get("Accept") == aStream {
			w.Header().Set("Content-Type", aStream)
			io.WriteString(w, "event: queued\ndata: {\"place\":1}\n\n")
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	before := runtime.NumGoroutine()
	for _, streams := range []bool{false, true} {
		c := f.client(t, WithStreams(streams))
		for round := 0; round < waits/atOnce; round++ {
			ctx, cancel := context.WithCancel(background)
			var all sync.WaitGroup
			for i := 0; i < atOnce; i++ {
				all.Add(1)
				go func() {
					defer all.Done()
					if _, err := c.Acquire(ctx, "n", Wait(Forever)); !errors.Is(err, context.Canceled) {
						t.Errorf("it is %v", err)
					}
				}()
			}
			for i := 0; i < atOnce; i++ {
				<-arrived
			}
			cancel()
			all.Wait()
		}
		c.Close()
		eventually(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
		ended := map[string]bool{} // a slow machine may need it twice
		f.mu.Lock()
		for _, one := range f.seen {
			if one[:3] == "DEL" {
				ended[one] = true
			}
		}
		if len(ended) != waits {
			t.Errorf("%d of %d waits were ended", len(ended), waits)
		}
		f.seen = nil
		f.mu.Unlock()
	}
}

// What cannot be a service, a wait or a lock is refused with a sentence.
func TestBadInput(t *testing.T) {
	for _, service := range []string{"nowhere", "unix:relative", "http://", "http://h/path", "ftp://h",
		"http://user@h"} {
		if _, err := New(service); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", service, err)
		}
	}
	t.Setenv("REDLOCK_SERVICE", "")
	if _, err := New(""); !errors.Is(err, ErrInvalid) {
		t.Errorf("no service: %v", err)
	}
	if _, err := New("http://h", WithTokenFile("/nowhere")); !errors.Is(err, ErrInvalid) {
		t.Errorf("no token: %v", err)
	}
	if _, err := New("https://h", WithCertificate("/nowhere", "", "")); !errors.Is(err, ErrInvalid) {
		t.Errorf("no authority: %v", err)
	}
	c := Must(New("http://127.0.0.1:1"))
	for _, options := range [][]LockOption{{Wait(-5)}, {TTL(-5)}} {
		if _, err := c.Acquire(background, "n", options...); !errors.Is(err, ErrInvalid) {
			t.Errorf("it is %v", err)
		}
	}
	if _, err := c.Acquire(background, ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("it is %v", err)
	}
	if _, err := c.Acquire(background, "n"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("where nothing listens it is %v", err)
	}
}
