// SPDX-License-Identifier: BSD-2-Clause

// Command chaosholder is `redlock hold -v --json` by the client for Go: the worker of `make chaos-service`
// runs it for each lock. It prints its deadline in CLOCK_BOOTTIME whenever that has changed, and releases at
// the end of its standard input.
//
//	chaosholder SERVICE STREAMS NAME TTL-MS WAIT-MS FAIR KIND SLOTS OWNER
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"redlock"
)

// Exit statuses of redlock(1).
const usage, noQuorum, busy, lost = 64, 69, 75, 76

const lookEvery, bootTime = 20 * time.Millisecond, 7

// What the rig compares: one clock of all processes.
func now() int64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, bootTime, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// The clock is read first: it never prints more than the client believes in. 0: it is lost.
func deadline(lock *redlock.Lock) int64 {
	at := now()
	if left := lock.Remaining(); left > 0 {
		return at + left.Nanoseconds()
	}
	return 0
}

func hold(lock *redlock.Lock) int {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	last := deadline(lock)
	fmt.Printf("{\"event\":\"held\",\"deadline_ns\":%d,\"fence\":%d}\n", last, lock.Fence())
	for {
		select {
		case <-lock.Context().Done():
			fmt.Println(`{"event":"lost"}`)
			<-ended
			lock.Release(context.Background())
			return lost
		case <-ended:
			if lock.Release(context.Background()) != nil {
				return lost
			}
			return 0
		case <-time.After(lookEvery):
			if until := deadline(lock); until > last+lookEvery.Nanoseconds() {
				last = until
				fmt.Printf("{\"event\":\"renewed\",\"deadline_ns\":%d}\n", last)
			}
		}
	}
}

func run(word []string) int {
	if len(word) != 9 {
		return usage
	}
	number := func(text string) time.Duration {
		value, _ := strconv.Atoi(text)
		return time.Duration(value)
	}
	client, err := redlock.New(word[0], redlock.WithStreams(word[1] == "1"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return usage
	}
	defer client.Close()
	options := []redlock.LockOption{redlock.TTL(number(word[3]) * time.Millisecond),
		redlock.Wait(number(word[4]) * time.Millisecond)}
	if word[5] == "1" {
		options = append(options, redlock.Fair())
	}
	switch word[6] {
	case "shared":
		options = append(options, redlock.Shared())
	case "semaphore":
		options = append(options, redlock.Slots(int(number(word[7]))))
	case "reentrant":
		options = append(options, redlock.Owner(word[8]))
	}
	lock, err := client.Acquire(context.Background(), word[2], options...)
	switch {
	case err == nil:
		return hold(lock)
	case errors.Is(err, redlock.ErrTaken) || errors.Is(err, redlock.ErrTimeout):
		return busy
	case errors.Is(err, redlock.ErrInvalid) || errors.Is(err, redlock.ErrDenied):
		fmt.Fprintln(os.Stderr, err)
		return usage
	}
	return noQuorum
}

func main() { os.Exit(run(os.Args[1:])) }
