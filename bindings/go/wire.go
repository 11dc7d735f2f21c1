// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const answerMax, eventMax = 1 << 20, 1 << 16 // bytes of a body, and of a line

// One request about a lease. Its zero values are left out.
type request struct {
	method, name, id, grant string
	stream                  bool
	body                    any
}

// What an answer or an event has. An event has its name in `event`.
type answer struct {
	Error  // status, code, detail, holder, waiters, nodes
	event  string
	Grant  string `json:"grant"`
	Fence  int64  `json:"fence"`
	After  *int64 `json:"after_ms"`
	Remain *int64 `json:"remaining_ms"`
}

func (a *answer) failure(name string) *Error {
	e := &a.Error
	e.Name, e.kind = name, kindOf(e.Status, e.Code)
	if e.Code == "" {
		e.Detail = fmt.Sprintf("an answer that is not of redlockd, with the status %d", e.Status)
	}
	return e
}

// Held as long as that from the sending of the request; false: it does not say so.
func (a *answer) span() (time.Duration, bool) {
	if a.After == nil || a.Remain == nil || *a.After < 0 || *a.Remain < 0 {
		return 0, false
	}
	return time.Duration(*a.After+*a.Remain) * time.Millisecond, true
}

func (c *Client) newRequest(ctx context.Context, r *request) (*http.Request, error) {
	target := *c.base
	target.Path = "/v1/locks/" + r.name
	q := (&http.Request{Method: r.method, URL: &target}).WithContext(ctx)
	if r.body != nil {
		text, _ := json.Marshal(r.body)
		q.ContentLength = int64(len(text))
		q.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		q.Body, _ = q.GetBody()
	}
	q.Header = http.Header{"Lease-Id": {r.id}, "Content-Type": {"application/json"},
		"User-Agent": nil,
		// Never sent: where the service has closed an idle connection, net/http tries again. A PUT that
		// had arrived all the same is answered with 409 then.
		"Idempotency-Key": nil}
	if r.grant != "" {
		q.Header["Grant"] = []string{r.grant}
	}
	if r.stream {
		q.Header["Accept"] = []string{"text/event-stream"}
	}
	if c.tokenFile != "" {
		token, err := readToken(c.tokenFile)
		if err != nil {
			return nil, err
		}
		q.Header["Authorization"] = []string{"Bearer " + token}
	}
	return q, nil
}

// Read again for every request: a new token is used at once.
func readToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	token, _, _ := strings.Cut(string(text), "\n")
	if token = strings.TrimSpace(token); err == nil && token == "" {
		err = fmt.Errorf("%s: its first line is no token", path)
	}
	return token, err
}

// The head of the answer. An error is an *Error.
func (c *Client) send(ctx context.Context, r *request) (*http.Response, error) {
	q, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, &Error{Name: r.name, kind: ErrInvalid, cause: err}
	}
	response, err := c.transport.RoundTrip(q)
	if err != nil {
		err = &Error{Name: r.name, kind: ErrUnavailable, cause: err}
	}
	return response, err
}

// The whole answer.
func (c *Client) ask(ctx context.Context, r *request) (*answer, error) {
	response, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return readAnswer(r.name, response)
}

func readAnswer(name string, response *http.Response) (*answer, error) {
	defer response.Body.Close()
	a := &answer{}
	body, err := io.ReadAll(io.LimitReader(response.Body, answerMax))
	if err != nil {
		return nil, &Error{Name: name, kind: ErrUnavailable, cause: err}
	}
	if len(body) > 0 && json.Unmarshal(body, a) != nil {
		*a = answer{} // of a proxy: it has neither grant nor code
	}
	a.Status = response.StatusCode
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		a.retry = time.Duration(seconds) * time.Second
	}
	return a, nil
}

// ---- streams ----

// The events of a stream, whose head has come.
type events struct {
	close   func()
	lines   *bufio.Scanner
	granted *answer
}

// The next event; a comment is one without a name. An error is the end of the stream.
func (e *events) next() (*answer, error) {
	a := &answer{}
	for e.lines.Scan() {
		line := e.lines.Text()
		switch {
		case line == "" && a.event != "" || strings.HasPrefix(line, ":"):
			return a, nil
		case strings.HasPrefix(line, "event: "):
			a.event = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(line[len("data: "):]), a); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("the stream has ended: %v", e.lines.Err())
}

// Sends a PUT for a stream and waits until it is granted.
func (c *Client) open(ctx context.Context, r *request) (*events, error) {
	ctx, cancel := context.WithCancel(ctx)
	silence := time.AfterFunc(streamSilence, cancel)
	defer silence.Stop()
	e, err := c.stream(ctx, r, silence)
	if err != nil {
		cancel()
		return nil, err
	}
	e.close = cancel
	return e, nil
}

func (c *Client) stream(ctx context.Context, r *request, silence *time.Timer) (*events, error) {
	response, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if response.Header.Get("Content-Type") != "text/event-stream" {
		a, err := readAnswer(r.name, response)
		if err == nil {
			err = a.failure(r.name)
		}
		return nil, err
	}
	e := &events{lines: bufio.NewScanner(response.Body)}
	e.lines.Buffer(make([]byte, 0, 512), eventMax)
	for {
		a, err := e.next()
		switch {
		case err != nil:
			return nil, &Error{Name: r.name, kind: ErrUnavailable, cause: err}
		case a.event == "lost":
			return nil, a.failure(r.name)
		case a.event == "granted":
			e.granted = a
			return e, nil
		}
		silence.Reset(streamSilence)
	}
}
