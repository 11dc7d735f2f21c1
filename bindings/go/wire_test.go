// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A service that writes bytes as a test wants: answers to a DELETE, and what answer returns for a PUT. An empty text
// closes the connection, and so does one that ends in closing.
type rawService struct {
	address string
	opened  atomic.Int32
	deleted chan string // lease ids
}

const closing = "<close>"

func newRaw(t *testing.T, answer func(connection, request int) string) *rawService {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	s := &rawService{address: "http://" + listener.Addr().String(), deleted: make(chan string, 100)}
	serve := func(connection int, socket net.Conn) {
		defer socket.Close()
		in := bufio.NewReader(socket)
		for request := 0; ; request++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			text := "HTTP/1.1 204 No Content\r\n\r\n"
			if r.Method == "PUT" {
				text = answer(connection, request)
			} else {
				s.deleted <- r.Header.Get("Lease-Id")
			}
			io.WriteString(socket, strings.TrimSuffix(text, closing))
			if text == "" || strings.HasSuffix(text, closing) {
				return
			}
		}
	}
	go func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(int(s.opened.Add(1)), socket)
		}
	}()
	return s
}

func whole(head string) string {
	body := held(0, 60000)
	return fmt.Sprintf("HTTP/1.1 201 Created\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// Answers as proxies rewrite them: what is HTTP is understood, and all else has an unknown outcome, which is ended.
func TestAnswersThroughProxies(t *testing.T) {
	body := held(0, 60000)
	for what, c := range map[string]struct {
		answer string
		isHeld bool
	}{
		"whole":               {whole(""), true},
		"in chunks":           {fmt.Sprintf("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 9, body[:9], len(body)-9, body[9:]), true},
		"up to the end":       {"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n" + body + closing, true},
		"of HTTP/1.0":         {"HTTP/1.0 201 Created\r\n\r\n" + body + closing, true},
		"behind hints":        {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + whole(""), true},
		"with other cases":    {"HTTP/1.1 201 OK\r\ncontent-type: application/json\r\ncontent-length:" + fmt.Sprint(len(body)) + "\r\n\r\n" + body, true},
		"cut in the body":     {whole("")[:len(whole(""))-9] + closing, false},
		"cut in the head":     {whole("")[:30] + closing, false},
		"a chunk too short":   {"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n" + body[:5] + closing, false},
		"a head without end":  {"HTTP/1.1 201 Created\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 1100), false},
		"a body without end":  {"HTTP/1.1 201 Created\r\nContent-Length: 99999999\r\n\r\n" + strings.Repeat("x", answerMax), false},
		"no HTTP":             {"SSH-2.0-OpenSSH_9.2\r\n", false},
		"a stream not wanted": {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + closing, false},
	} {
		s := newRaw(t, func(int, int) string { return c.answer })
		client := Must(New(s.address))
		lock, err := client.Acquire(background, "n", TTL(time.Minute))
		if c.isHeld {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			} else if err = lock.Release(background); err != nil || <-s.deleted != lock.id {
				t.Errorf("%s: released with %v", what, err)
			}
		} else {
			client.Close()
			if !errors.Is(err, ErrUnavailable) || len(s.deleted) != unknownTries {
				t.Errorf("%s: it is %v, and %d were ended", what, err, len(s.deleted))
			}
		}
		client.Close()
	}
}

// One connection serves one request after another; one that is to be closed, or has bytes behind its answer, serves
// no more.
func TestConnectionsAreKept(t *testing.T) {
	for head, opened := range map[string]int32{"": 1, "Connection: close\r\n": 10} {
		s := newRaw(t, func(int, int) string {
			if head == "" {
				return whole(head)
			}
			return whole(head) + closing
		})
		client := Must(New(s.address))
		for i := 0; i < 10; i++ {
			lock, err := client.Acquire(background, "n", TTL(time.Minute))
			if err == nil {
				err = lock.Release(background)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if head != "" {
			opened++ // of the DELETEs, which is kept
		}
		if s.opened.Load() != opened {
			t.Errorf("%q: %d connections were opened", head, s.opened.Load())
		}
		client.Close()
	}
	s := newRaw(t, func(connection, _ int) string { return whole("") + "HTTP/1.1 201 Created\r\n\r\n" })
	client := Must(New(s.address))
	lock, err := client.Acquire(background, "n", TTL(time.Minute))
	if err != nil || lock.Release(background) != nil || s.opened.Load() != 2 {
		t.Errorf("%v; %d connections were opened", err, s.opened.Load())
	}
}

// Connections that the service has closed while they were idle: their requests have an unknown outcome, and no
// second one is used.
func TestIdleConnectionsThatWereClosed(t *testing.T) {
	s := newRaw(t, func(connection, request int) string {
		if connection <= 3 && request == 0 {
			time.Sleep(20 * time.Millisecond) // so that there are three
			return whole("") + closing
		}
		return whole("")
	})
	client := Must(New(s.address))
	locks := make(chan *Lock)
	for i := 0; i < 3; i++ {
		go func() {
			lock, err := client.Acquire(background, "n", TTL(time.Minute))
			if err != nil {
				t.Error(err)
			}
			locks <- lock
		}()
	}
	for i := 0; i < 3; i++ {
		<-locks
	}
	lock, err := client.Acquire(background, "n", TTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	client.ends.Wait()
	if len(s.deleted) > 1 || len(s.deleted) == 1 && <-s.deleted == lock.id {
		t.Errorf("%d were ended", len(s.deleted))
	}
	if err := lock.Release(background); err != nil {
		t.Error(err)
	}
}

// What the service or a file says gets into no header that it was not meant for.
func TestHeadersCannotBeInjected(t *testing.T) {
	s := newRaw(t, func(int, int) string {
		body := `{"grant":"g\r\nHost: evil","fence":7,"after_ms":0,"remaining_ms":60000}`
		return fmt.Sprintf("HTTP/1.1 201 Created\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	})
	lock, err := Must(New(s.address)).Acquire(background, "a b\r\nX: y/?#%", TTL(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Release(background); !errors.Is(err, ErrInvalid) || len(s.deleted) != 0 {
		t.Errorf("it is %v", err)
	}
}
