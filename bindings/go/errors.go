// SPDX-License-Identifier: BSD-2-Clause

package redlock

import (
	"errors"
	"fmt"
	"time"
)

// Why something failed, for errors.Is. The error itself is an *[Error], with the particulars.
var (
	// ErrTaken: another holds it, and the request did not wait.
	ErrTaken = errors.New("held by another")
	// ErrTimeout: another still held it when the wait ended.
	ErrTimeout = errors.New("still held by another when the wait ended")
	// ErrLost: the lock is not ours any more. Stop what it protects.
	ErrLost = errors.New("the lock is no longer ours")
	// ErrExpired: the deadline came before a renewal was answered. It is an ErrLost, too.
	ErrExpired = errors.New("the lock had already expired")
	// ErrNoQuorum: too few nodes could vote.
	ErrNoQuorum = errors.New("too few nodes could vote")
	// ErrGuarded: nodes that may have forgotten locks are in quarantine and prevent a quorum.
	ErrGuarded = errors.New("young or suspect nodes prevent a quorum")
	// ErrDenied: no rule of the service allows it, or the nodes refuse the service.
	ErrDenied = errors.New("not allowed")
	// ErrQuota: the rule that allows it has no room for more at present.
	ErrQuota = errors.New("a quota is used up")
	// ErrInvalid: the request makes no sense.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnavailable: the service did not answer, is about to end, or is not redlockd.
	ErrUnavailable = errors.New("no answer from the service")
	// ErrSkipped: returned by [Client.Once]: it was run in this period, or is being run.
	ErrSkipped = errors.New("run by another in this period")
	// ErrNotLeader: returned by [Elector.IsLeader].
	ErrNotLeader = errors.New("not the leader")
)

// Holder is what the service reports of the holder that is in the way. The fingerprint names it to a break.
type Holder struct {
	Label, Fingerprint string
	RemainingMs        int64 `json:"remaining_ms"` // until it expires, unless it renews
}

// Node is what one server did: GRANTED, TAKEN, SILENT, ..., and why it did not vote.
type Node struct{ Address, Vote, Reason, Text string }

// Error is what every failure of this package is. Its reason is for errors.Is.
type Error struct {
	Name    string  `json:"-"`       // of the lock
	Status  int     `json:"status"`  // of HTTP; 0: no answer came
	Code    string  `json:"code"`    // BUSY, YOURS, ...; empty: not from redlockd
	Detail  string  `json:"detail"`  // for people
	Holder  *Holder `json:"holder"`  // that is in the way, if reported
	Waiters int     `json:"waiters"` // in the queue
	Nodes   []Node  `json:"nodes"`   // what each replied, where the caller may see that

	kind, cause error
	retry       time.Duration // after which another try makes sense, if reported
}

// Error is the detail, or the reason.
func (e *Error) Error() string {
	text := e.Detail
	if text == "" {
		text = e.kind.Error()
	}
	return fmt.Sprintf("redlock: %q: %s", e.Name, text)
}

// Is finds the reason: one of the variables of this package.
func (e *Error) Is(target error) bool {
	return target == e.kind || target == ErrLost && e.kind == ErrExpired
}

// Unwrap is the error below, if any: of the network, or of a context.
func (e *Error) Unwrap() error { return e.cause }

var kindOfCode = map[string]error{"": ErrUnavailable, "BUSY": ErrTaken, "TIMEOUT": ErrTimeout,
	"LOST": ErrLost, "EXPIRED": ErrExpired, "ENDED": ErrLost, "NOQUORUM": ErrNoQuorum,
	"DONE": ErrSkipped, "GUARDED": ErrGuarded, "AUTH": ErrDenied, "INVAL": ErrInvalid}

var kindOfStatus = map[int]error{401: ErrDenied, 403: ErrDenied, 408: ErrUnavailable, 409: ErrUnavailable,
	410: ErrLost, 429: ErrQuota, 5: ErrUnavailable}

func kindOf(status int, code string) error {
	for _, kind := range []error{kindOfCode[code], kindOfStatus[status], kindOfStatus[status/100]} {
		if kind != nil {
			return kind
		}
	}
	return ErrInvalid
}

// redlockd answers that this request has no grant, and needs no DELETE.
func (e *Error) isRefusal() bool {
	return e.Code != "" && e.Status >= 400 && e.Status < 500 && e.Status != 409 && e.Status != 410
}

// Another try, with a new lease id, may have another outcome.
func (e *Error) mayPass() bool {
	return e.kind == ErrUnavailable || e.Status == 410 || e.Status == 423 || e.Status == 429 ||
		e.Status == 503
}
