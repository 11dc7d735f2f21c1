// SPDX-License-Identifier: BSD-2-Clause
// hold URL COMMAND...: runs COMMAND while it holds the lock URL (http://HOST:PORT/v1/locks/NAME) of redlockd.
// The status is that of COMMAND; 75: not acquired; 76: lost, and COMMAND was killed. TOKEN is the bearer token.
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

var header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + os.Getenv("TOKEN")}}

func now() (seconds float64) { // ms of a clock that counts suspend, which time.Now() does not; cuts off up to 10
	text, _ := os.ReadFile("/proc/uptime")
	fmt.Sscan(string(text), &seconds)
	return seconds * 1000
}

func ask(limit float64, method, body string) map[string]any {
	told := map[string]any{"sent": now()} // and no more, if nothing was answered, or not by redlockd
	request, _ := http.NewRequest(method, os.Args[1], strings.NewReader(body))
	request.Header = header
	if response, err := (&http.Client{Timeout: time.Duration(limit * 1e6)}).Do(request); err == nil {
		json.NewDecoder(response.Body).Decode(&told)
	}
	return told
}

func main() {
	ttl, id := 30000.0, make([]byte, 16)
	fmt.Sscan(os.Getenv("TTL_MS"), &ttl)
	rand.Read(id)
	header.Set("Lease-Id", fmt.Sprintf("%x", id))
	told := ask(60000, "PUT", fmt.Sprintf(`{"ttl_ms":%.0f,"wait_ms":20000,"fenced":true,"label":"hold.go"}`, ttl))
	if told["grant"] == nil {
		ask(10000, "DELETE", "") // refused, or granted in an answer that was lost: this id is not used again
		fmt.Fprintln(os.Stderr, "hold:", told["detail"])
		os.Exit(75)
	}
	header.Set("Grant", told["grant"].(string))
	work, ended := exec.Command(os.Args[2], os.Args[3:]...), make(chan error, 1)
	work.Stdout, work.Stderr, work.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setpgid: true}
	work.Env = append(os.Environ(), fmt.Sprintf("FENCE=%.0f", told["fence"])) // its resource refuses a smaller one
	work.Start()
	go func() { ended <- work.Wait() }()
	for until, renewAt := 0.0, 0.0; len(ended) == 0; time.Sleep(50 * time.Millisecond) {
		if told["grant"] != nil { // 503, another's answer or none: the old deadline stands, and we ask again
			until = told["sent"].(float64) + told["after_ms"].(float64) + told["remaining_ms"].(float64) - 10
			renewAt = until - ttl*2/3
		}
		if code := told["code"]; now() >= until-100 || code == "LOST" || code == "EXPIRED" || code == "ENDED" {
			syscall.Kill(-work.Process.Pid, syscall.SIGKILL) // no SIGTERM: the deadline is near
			fmt.Fprintln(os.Stderr, "hold: lost:", told["detail"])
			os.Exit(76)
		} else if now() >= renewAt {
			renewAt = now() + ttl/20
			told = ask(until-100-now(), "POST", fmt.Sprintf(`{"ttl_ms":%.0f}`, ttl))
		}
	}
	ask(10000, "DELETE", "")
	os.Exit(work.ProcessState.ExitCode())
}
