// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A redlockd of its own on the servers of the environment (redlock dev -c 3 -- go test).
type daemon struct {
	t      *testing.T
	socket string
	args   []string
	*exec.Cmd
}

func startDaemon(t *testing.T, args ...string) *daemon {
	if os.Getenv("REDLOCKD") == "" {
		t.Skip("REDLOCKD is not set: make test runs this with real servers")
	}
	d := &daemon{t: t, socket: filepath.Join(t.TempDir(), "s"), args: args}
	d.start()
	t.Cleanup(d.kill)
	return d
}

func (d *daemon) start() {
	d.Cmd = exec.Command(os.Getenv("REDLOCKD"), append(d.args, "--listen", "unix:"+d.socket)...)
	d.Cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := d.Cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	eventually(d.t, "redlockd is ready", func() bool { return d.says("/readyz", `"ready"`) })
}

// Is this in the answer to a GET?
func (d *daemon) says(path, what string) bool {
	web := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", d.socket)
		}}}
	answer, err := web.Get("http://localhost" + path)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return bytes.Contains(text, []byte(what))
}

func (d *daemon) kill() {
	d.Process.Kill()
	d.Wait()
}

func (d *daemon) client(options ...Option) *Client {
	c, err := New("unix:"+d.socket, options...)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c
}

func (d *daemon) acquire(c *Client, name string, options ...LockOption) *Lock {
	d.t.Helper()
	lock, err := c.Acquire(background, name, append([]LockOption{Wait(patience)}, options...)...)
	if err != nil {
		d.t.Fatal(err)
	}
	return lock
}

// One holds, another is refused with the label, a waiter is served at the release, and fences grow.
func TestLocksExclude(t *testing.T) {
	for _, streams := range []bool{true, false} {
		d := startDaemon(t, "--drain", "0")
		c := d.client(WithStreams(streams))
		first := d.acquire(c, "excludes", Label("web1"))
		var e *Error
		if _, err := c.Acquire(background, "excludes"); !errors.Is(err, ErrTaken) || !errors.As(err, &e) ||
			e.Holder == nil || e.Holder.Label != "web1" {
			t.Errorf("it is %v", err)
		}
		if _, err := c.Acquire(background, "excludes", Wait(time.Second)); !errors.Is(err, ErrTimeout) {
			t.Errorf("it is %v", err)
		}
		time.AfterFunc(50*time.Millisecond, func() { first.Release(background) })
		second := d.acquire(c, "excludes")
		if second.Fence() <= first.Fence() || first.Fence() == 0 {
			t.Errorf("fences %d and %d", first.Fence(), second.Fence())
		}
		if err := second.Release(background); err != nil {
			t.Error(err)
		}
		// Release was confirmed: the next is not refused.
		for i := 0; i < 100; i++ {
			lock, err := c.Acquire(background, "again")
			if err != nil {
				t.Fatal(err)
			}
			if err := lock.Release(background); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A stream that is sent `reconnect` by a replica that ends comes back to the next, with its fence.
func TestStreamComesBack(t *testing.T) {
	d := startDaemon(t, "--drain", "20")
	c := d.client()
	lock := d.acquire(c, "back", TTL(6*time.Second))
	for i := 0; i < 2; i++ {
		d.Process.Signal(syscall.SIGTERM)
		d.Wait()
		d.start()
		eventually(t, "the stream has come back", func() bool { return d.says("/v1/status", `"streams":1`) })
	}
	if lock.Context().Err() != nil {
		t.Fatalf("it was lost: %v", lock.Err())
	}
	if _, err := c.Acquire(background, "back"); !errors.Is(err, ErrTaken) {
		t.Errorf("another has it, too: %v", err)
	}
	if err := lock.Release(background); err != nil {
		t.Error(err)
	}
	if next := d.acquire(c, "back"); next.Fence() <= lock.Fence() {
		t.Errorf("fences %d and %d", lock.Fence(), next.Fence())
	}
}

// The death of the daemon ends a stream and its lock at once; a lease outlives it.
func TestDaemonIsKilled(t *testing.T) {
	d := startDaemon(t)
	stream := d.acquire(d.client(), "stream")
	lease := d.acquire(d.client(WithStreams(false)), "lease", TTL(6*time.Second))
	d.kill()
	<-stream.Context().Done()
	if !errors.Is(stream.Err(), ErrLost) {
		t.Errorf("lost by %v", stream.Err())
	}
	d.start()
	before := lease.Remaining()
	eventually(t, "the lease was renewed", func() bool { return lease.Remaining() > before })
	if err := lease.Release(background); err != nil {
		t.Error(err)
	}
	if err := stream.Release(background); !errors.Is(err, ErrLost) {
		t.Errorf("released with %v", err)
	}
	d.acquire(d.client(), "stream") // its Release has deleted what the dead daemon left
}

// A candidate leads when the leader has resigned, was deposed or was killed, with a larger term.
func TestLeaders(t *testing.T) {
	d := startDaemon(t, "--drain", "0")
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	terms := make(chan int64)
	resign := errors.New("enough")
	ended := make(chan error)
	go func() {
		ended <- d.client().Lead(ctx, "leader", func(ctx context.Context, term int64) error {
			terms <- term
			return resign
		})
	}()
	first := <-terms
	if err := <-ended; err != resign {
		t.Errorf("it is %v", err)
	}
	one, two := d.client().Elector(ctx, "leader"), (*Elector)(nil)
	eventually(t, "the only candidate leads", func() bool { return one.IsLeader(ctx) == nil })
	two = d.client().Elector(ctx, "leader")
	if err := two.IsLeader(ctx); !errors.Is(err, ErrNotLeader) || two.Term() != 0 {
		t.Errorf("both lead: %v", err)
	}
	term := one.Term()
	one.Close()
	eventually(t, "the other leads", func() bool { return two.IsLeader(ctx) == nil })
	if term <= first || two.Term() <= term {
		t.Errorf("terms %d, %d and %d", first, term, two.Term())
	}
	cancel()
	two.Close()
}

// As gocron has them: named types of another package.
type (
	gocronLock   interface{ Unlock(context.Context) error }
	gocronLocker interface {
		Lock(context.Context, string) (gocronLock, error)
	}
	gocronElector interface{ IsLeader(context.Context) error }
)

var _ gocronElector = (*Elector)(nil)

// The locker of a scheduler: one of them runs the job, and one that comes late does not run it again.
func TestLocker(t *testing.T) {
	d := startDaemon(t, "--drain", "0")
	var locker gocronLocker = NewLocker[gocronLock](d.client(), time.Second)
	lock, err := locker.Lock(background, "job")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locker.Lock(background, "job"); !errors.Is(err, ErrTaken) {
		t.Errorf("both run it: %v", err)
	}
	if err := lock.Unlock(background); err != nil {
		t.Error(err)
	}
	if _, err := locker.Lock(background, "job"); !errors.Is(err, ErrTaken) {
		t.Errorf("one that comes late runs it again: %v", err)
	}
	d.acquire(d.client(), "job")
}

func freeAddress(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TLS: the client is known by its certificate, or by a token of a file that is read again.
func TestTLS(t *testing.T) {
	certs := os.Getenv("CERTS")
	if certs == "" {
		t.Skip("CERTS is not set: make test makes certificates")
	}
	file := func(name string) string { return filepath.Join(certs, name) }
	address := freeAddress(t)
	var said bytes.Buffer
	token := exec.Command(os.Getenv("REDLOCKD"), "token", "worker")
	token.Stdout = &said
	if err := token.Run(); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(said.Bytes(), []byte("\n")) // each behind one for people
	dir := t.TempDir()
	os.WriteFile(dir+"/tokens", lines[3], 0600)
	os.WriteFile(dir+"/token", []byte("not-this-one\n"), 0600)
	startDaemon(t, "--drain", "0", "--listen", "tls:"+address+" cert=optional", "--tls-cert", file("good.crt"),
		"--tls-key", file("good.key"), "--tls-client-ca", file("ca.crt"), "--tokens", dir+"/tokens",
		"--allow", "cert:client.example * acquire", "--allow", "token:worker * acquire",
		"--allow", fmt.Sprintf("uid:%d * acquire", os.Getuid()))
	service := "https://" + address
	c := Must(New(service, WithCertificate(file("ca.crt"), "", ""), WithTokenFile(dir+"/token")))
	if _, err := c.Acquire(background, "tls"); !errors.Is(err, ErrDenied) {
		t.Errorf("with a wrong token it is %v", err)
	}
	os.WriteFile(dir+"/token", lines[1], 0600)
	for what, options := range map[string][]Option{
		"lease":       nil,
		"stream":      {WithStreams(true)},
		"certificate": {WithCertificate(file("ca.crt"), file("client.crt"), file("client.key"))},
	} {
		base := []Option{WithCertificate(file("ca.crt"), "", ""), WithTokenFile(dir + "/token")}
		if what == "certificate" {
			base = nil
		}
		c := Must(New(service, append(base, options...)...))
		if err := c.Do(background, "tls", func(context.Context, int64) error { return nil }); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		c.Close()
	}
	if _, err := Must(New(service)).Acquire(background, "tls"); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without the authority it is %v", err)
	}
}
