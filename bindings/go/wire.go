// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	answerMax, eventMax = 1 << 20, 1 << 16 // bytes of an answer, and of a line of a stream
	idleMax, idleFor    = 256, 60 * time.Second

	// Of a stream that waits: a comment comes every 10 s. And from when on a goroutine looks for the end of the context.
	streamSilence, watchAfter = 30 * time.Second, 5 * time.Millisecond

	locks, once, aStream = "/v1/locks/", "/v1/once/", "text/event-stream"
)

// One request about a lease. Its zero values are left out.
type request struct {
	method, path, name, id, grant, accept, body string
}

// What an answer or an event has. An event has its name in `event`.
type answer struct {
	Error             // status, code, detail, holder, waiters, nodes
	event, retryAfter string
	Grant             string `json:"grant"`
	Fence             int64  `json:"fence"`
	After             int64  `json:"after_ms"`
	Remain            int64  `json:"remaining_ms"`
	Label             string `json:"label"`
	Next              int64  `json:"next_ms"` // until a run may begin again
}

func (a *answer) failure(name string) *Error {
	e := &a.Error
	e.Name, e.kind = name, kindOf(e.Status, e.Code)
	e.retry, _ = time.ParseDuration(a.retryAfter + "s")
	if e.Code == "" {
		e.Detail = fmt.Sprintf("an answer that is not of redlockd, with the status %d", e.Status)
	}
	return e
}

// Held as long as that from the sending of the request, if it has a time.
func (a *answer) span() time.Duration { return time.Duration(a.After+a.Remain) * time.Millisecond }

// Writes it in the place of what the buffer had.
func (c *Client) write(text *bytes.Buffer, r *request) (err error) {
	fields := [...][2]string{{"Host", c.host}, {"Lease-Id", r.id}, {"Grant", r.grant}, {"Accept", r.accept},
		{"Authorization", ""}}
	if c.tokenFile != "" {
		fields[4][1], err = readToken(c.tokenFile)
	}
	text.Reset()
	text.WriteString(r.method + " " + (&url.URL{Path: r.path + r.name}).EscapedPath() + " HTTP/1.1\r\n")
	for _, field := range fields {
		if strings.ContainsAny(field[1], "\r\n\x00") {
			return fmt.Errorf("the header %s cannot be sent", field[0])
		} else if field[1] != "" {
			text.WriteString(field[0] + ": " + field[1] + "\r\n")
		}
	}
	text.WriteString("Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(r.body)) + "\r\n\r\n" + r.body)
	return err
}

// Read again for every request: a new token is used at once.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	token, _, _ := strings.Cut(string(text), "\n")
	if token = strings.TrimSpace(token); err == nil && token == "" {
		err = fmt.Errorf("%s: its first line is no token", path)
	}
	return "Bearer " + token, err
}

// ---- connections ----

// A connection to the service. The goroutine that sends also reads the answer: net/http has two more
// for each connection, and what they cost is as much as all else that a request does.
type conn struct {
	net.Conn
	room   *io.LimitedReader // that an answer has
	in     *bufio.Reader     // through room
	text   bytes.Buffer      // of a request, and then of its answer
	lines  *bufio.Reader     // of the stream that it has become
	sent   time.Duration     // the request of that, as the clock counts
	isOpen bool              // after the last answer
	since  time.Time         // when it became idle
}

// An idle connection, or a new one.
func (c *Client) connect(ctx context.Context, end time.Time) (*conn, error) {
	c.sweep(idleFor)
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 && ctx.Err() == nil {
		defer c.mu.Unlock()
		k := c.idle[last]
		c.idle = c.idle[:last]
		return k, nil
	}
	c.mu.Unlock()
	socket, err := c.dial(ctx, end)
	room := &io.LimitedReader{R: socket}
	return &conn{Conn: socket, room: room, in: bufio.NewReader(room)}, err
}

// Keeps a connection for the next request, or closes it; nil: there is none.
func (c *Client) done(k *conn) {
	if k == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.since = time.Now(); k.isOpen && len(c.idle) < idleMax {
		c.idle = append(c.idle, k)
	} else {
		k.Close()
	}
}

// Closes connections that have been idle for so long: the first is the oldest.
func (c *Client) sweep(span time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.idle) > 0 && time.Since(c.idle[0].since) >= span {
		c.idle[0].Close()
		c.idle = c.idle[1:]
	}
}

var wanted = map[string]int{"PUT": http.StatusCreated, "POST": http.StatusOK, "DELETE": http.StatusNoContent}

// The connection is the caller's, also if there is no answer. Nil: nothing was sent.
func (c *Client) send(ctx context.Context, r *request, limit time.Duration) (*conn, *answer, *Error) {
	end := time.Now().Add(limit)
	k, err := c.connect(ctx, end)
	if err != nil {
		return nil, nil, &Error{Name: r.name, kind: ErrUnavailable, Detail: err.Error(), cause: err}
	}
	if err := c.write(&k.text, r); err != nil {
		k.Close()
		return nil, nil, &Error{Name: r.name, kind: ErrInvalid, Detail: err.Error(), cause: err}
	}
	a, err := k.exchange(ctx, end)
	if err == nil && a.event != "granted" && a.Status != wanted[r.method] {
		return k, a, a.failure(r.name)
	} else if err == nil {
		return k, a, nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	} else {
		c.sweep(0) // a service that has ended has closed them all
	}
	return k, nil, &Error{Name: r.name, kind: ErrUnavailable, Detail: err.Error(), cause: err}
}

// Sends the request in text, and reads the answer: of a stream, until it is granted. It ends when ctx is done: most answers
// come before it is worth a goroutine to look for that.
func (k *conn) exchange(ctx context.Context, end time.Time) (*answer, error) {
	k.SetDeadline(end)
	if ctx.Done() != nil {
		over := make(chan struct{})
		watch := time.AfterFunc(watchAfter, func() {
			select {
			case <-ctx.Done():
				k.SetDeadline(started) // over long ago
				<-over
			case <-over:
			}
		})
		defer func() {
			if !watch.Stop() {
				over <- struct{}{}
			}
		}()
	}
	k.room.N, k.isOpen = answerMax, false
	_, err := k.text.WriteTo(k)
	// What redlockd itself writes of a grant or an end, and has come as a whole, is not for net/http: its map of a head costs as much
	// as all else.
	var response *http.Response
	k.in.Peek(1)
	text, _ := k.in.Peek(k.in.Buffered())
	head, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
	_, length, _ := bytes.Cut(head, []byte("\r\nX-Content-Type-Options: nosniff\r\nContent-Length: "))
	isGrant := bytes.HasPrefix(head, []byte("HTTP/1.1 201 ")) && string(length) == strconv.Itoa(len(body))
	isEnd := bytes.HasPrefix(head, []byte("HTTP/1.1 204 ")) && bytes.HasSuffix(text, []byte("\r\nCache-Control: no-store\r\n\r\n"))
	if isGrant || isEnd {
		k.in.Discard(len(text) - len(body))
		response = &http.Response{StatusCode: 200 + int(head[11]-'0'), Body: io.NopCloser(io.LimitReader(k.in, int64(len(body))))}
	}
	for err == nil && (response == nil || response.StatusCode < http.StatusOK) {
		response, err = http.ReadResponse(k.in, nil)
	}
	if err != nil {
		return nil, err
	}
	if response.Header.Get("Content-Type") == aStream {
		k.lines = bufio.NewReader(response.Body)
		return k.granted(ctx, end)
	}
	_, err = k.text.ReadFrom(response.Body)
	k.isOpen = err == nil && !response.Close && k.in.Buffered() == 0
	a := &answer{}
	if k.text.Len() > 0 && json.Unmarshal(k.text.Bytes(), a) != nil {
		*a = answer{} // of a proxy: it has neither grant nor code
	}
	a.Status, a.retryAfter = response.StatusCode, response.Header.Get("Retry-After")
	return a, err
}

// ---- streams ----

func (k *conn) granted(ctx context.Context, end time.Time) (*answer, error) {
	for {
		k.SetDeadline(time.Now().Add(least(time.Until(end), streamSilence)))
		if ctx.Err() != nil { // its watch has set another
			return nil, ctx.Err()
		}
		a, err := k.next()
		if err != nil || a.event == "granted" || a.event == "lost" {
			return a, err
		}
	}
}

// The next event; a comment is one without a name. An error is the end of the stream.
func (k *conn) next() (*answer, error) {
	a := &answer{}
	for k.room.N = eventMax; ; {
		line, err := k.lines.ReadString('\n')
		if err != nil {
			return nil, err
		}
		switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
		case "":
			return a, nil
		case "event":
			a.event = value
		case "data":
			if err := json.Unmarshal([]byte(value), a); err != nil {
				return nil, err
			}
		}
	}
}
