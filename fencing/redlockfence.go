// SPDX-License-Identifier: BSD-2-Clause

// Package redlockfence is fencing for an HTTP service in Go: redlockfence.Handler("orders", handler).
//
// What the service changes is protected by a lock, and its holders send their fencing token with
// every request, also with one that only reads what they will decide by:
//
//	Redlock-Fence: 1763500000000042
//
// A request of an earlier holder is answered 412, one that may change something and has no token 428.
// Requests with a token run one after another, in all processes that name the same file; the
// largest token is kept in orders.fence, on the disk before the request runs. `redlock fence` and the
// middlewares for Python and Node keep the same file.
//
// Where the counter of a lock is lost, it starts again from the clock of the nodes in microseconds, above
// all tokens before: nothing is to be done. If these clocks were set back, every holder is refused:
// when none is at work, remove orders.fence.
package redlockfence

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	record = 42   // the token twice: half of a record is none
	place  = 4096 // of the second; a crash spoils the record that is being written, at most
)

// The token of a record; 0 for a part of one.
func parse(text []byte) int64 {
	if len(text) == record && text[20] == ' ' && text[41] == '\n' && bytes.Equal(text[:20], text[21:41]) {
		if token, err := strconv.ParseInt(string(text[:20]), 10, 64); err == nil {
			return token
		}
	}
	return 0
}

func syncDirectory(of string) error {
	directory, err := os.Open(filepath.Dir(of))
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}

// admit returns the larger token that was admitted before, or 0: this one is admitted.
func admit(file *os.File, token int64) (int64, error) {
	var tokens [2]int64
	var size [2]int
	for i := range tokens {
		text := make([]byte, record)
		n, err := file.ReadAt(text, int64(i)*place)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if len(bytes.Trim(text[:n], "0123456789 \n\x00")) > 0 {
			return 0, fmt.Errorf("%s is no token file", file.Name())
		}
		tokens[i], size[i] = parse(text[:n]), n
	}
	older := 0
	if tokens[1] < tokens[0] {
		older = 1
	}
	largest := tokens[1-older]
	if largest == 0 && size[0] > 0 && size[1] > 0 {
		return 0, fmt.Errorf("%s is damaged", file.Name())
	}
	if token < largest {
		return largest, nil
	}
	if token > largest {
		text := fmt.Sprintf("%020d %020d\n", token, token)
		if _, err := file.WriteAt([]byte(text), int64(older)*place); err != nil {
			return 0, err
		}
	}
	if err := file.Sync(); err != nil || size[0] > 0 {
		return 0, err
	}
	return 0, syncDirectory(file.Name())
}

// Handler lets requests with a token through to next one after another, unless a later holder has come.
func Handler(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Redlock-Fence")
		if header == "" {
			switch r.Method {
			case "GET", "HEAD", "OPTIONS", "TRACE":
				next.ServeHTTP(w, r)
			default:
				http.Error(w, "the header Redlock-Fence is missing", http.StatusPreconditionRequired)
			}
			return
		}
		token, err := strconv.ParseUint(header, 10, 53)
		if err != nil || token == 0 {
			http.Error(w, "Redlock-Fence is no fencing token", http.StatusBadRequest)
			return
		}
		file, err := os.OpenFile(name+".fence", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o666)
		if err != nil {
			http.Error(w, "the token file cannot be opened", http.StatusInternalServerError)
			return
		}
		defer file.Close() // the turn ends with it
		var largest int64
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err == nil {
			largest, err = admit(file, int64(token))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		} else if largest > 0 {
			http.Error(w, fmt.Sprintf("a later holder has come, with token %d", largest), http.StatusPreconditionFailed)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}
