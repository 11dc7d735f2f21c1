// SPDX-License-Identifier: BSD-2-Clause

// serve FILE: what serve.py does, in Go.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"serve/redlockfence"
)

func main() {
	number, mutex := []byte("0"), sync.Mutex{}
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mutex.Lock()
		defer mutex.Unlock()
		if r.Method == "PUT" && err == nil {
			number = body
		}
		w.Write(number)
	})
	http.Handle("/plain", plain)
	http.Handle("/fenced", redlockfence.Handler(os.Args[1], plain))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, nil)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	io.ReadAll(os.Stdin)
}
