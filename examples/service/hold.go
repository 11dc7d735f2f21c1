// SPDX-License-Identifier: BSD-2-Clause
// hold URL COMMAND...: runs COMMAND while it holds the lock URL (http://HOST:PORT/v1/locks/NAME, or the same
// behind unix:/path) of redlockd. The status is that of COMMAND; 75: not acquired; 76: lost, and COMMAND was
// killed. TOKEN_FILE has the bearer token.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"redlock"
	"strings"
	"syscall"
	"time"
)

func main() {
	at := strings.SplitN(os.Args[1], "/v1/locks/", 2)
	ttl, options := 30000, []redlock.Option{}
	fmt.Sscan(os.Getenv("TTL_MS"), &ttl)
	if file := os.Getenv("TOKEN_FILE"); file != "" {
		options = append(options, redlock.WithTokenFile(file))
	}
	ctx, client := context.Background(), redlock.Must(redlock.New(at[0], options...))
	lock, err := client.Acquire(ctx, at[1], redlock.TTL(time.Duration(ttl)*time.Millisecond),
		redlock.Wait(20*time.Second), redlock.Label("hold.go"))
	if err != nil {
		client.Close() // what is not known to be refused is given back before the program ends
		fmt.Fprintln(os.Stderr, "hold.go:", err)
		os.Exit(75)
	}
	work := exec.Command(os.Args[2], os.Args[3:]...)
	work.Stdin, work.Stdout, work.Stderr = os.Stdin, os.Stdout, os.Stderr
	work.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	work.Env = append(os.Environ(), fmt.Sprintf("FENCE=%d", lock.Fence())) // its resource refuses a smaller one
	if err := work.Start(); err != nil {
		lock.Release(ctx)
		fmt.Fprintln(os.Stderr, "hold.go:", err)
		os.Exit(127)
	}
	ended := make(chan struct{})
	go func() { work.Wait(); close(ended) }()
	select {
	case <-ended:
		lock.Release(ctx)
		os.Exit(work.ProcessState.ExitCode())
	case <-lock.Context().Done():
		syscall.Kill(-work.Process.Pid, syscall.SIGKILL) // no SIGTERM: the deadline is near
		fmt.Fprintln(os.Stderr, "hold.go: lost:", lock.Err())
		os.Exit(76)
	}
}
