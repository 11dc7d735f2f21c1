// SPDX-License-Identifier: BSD-2-Clause

package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"redlock"
)

// Stands for redlockd in the examples: "report" is free, and everything else is held.
func service() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/v1/locks/report" {
			w.WriteHeader(423)
			fmt.Fprint(w, `{"code":"BUSY","detail":"held by web1","holder":{"label":"web1"}}`)
		} else if r.Method == "PUT" {
			w.WriteHeader(201)
			fmt.Fprint(w, `{"grant":"g","fence":7,"after_ms":0,"remaining_ms":29690}`)
		} else {
			w.WriteHeader(204)
		}
	}))
}

func ExampleClient_Do() {
	at := service()
	defer at.Close()
	client, _ := redlock.New(at.URL)
	err := client.Do(context.Background(), "report", func(ctx context.Context, fence int64) error {
		fmt.Println("held with the fence", fence) // and stop when ctx is done
		return nil
	})
	fmt.Println(err)
	// Output:
	// held with the fence 7
	// <nil>
}

func ExampleClient_Acquire() {
	at := service()
	defer at.Close()
	client, _ := redlock.New(at.URL)
	ctx := context.Background()
	lock, err := client.Acquire(ctx, "report", redlock.TTL(30*time.Second), redlock.Wait(time.Minute))
	if err == nil {
		fmt.Println(lock.Remaining() > 0, lock.Context().Err(), lock.Release(ctx))
	}
	_, err = client.Acquire(ctx, "invoices")
	var refusal *redlock.Error
	if errors.Is(err, redlock.ErrTaken) && errors.As(err, &refusal) {
		fmt.Println(refusal.Holder.Label, "is at it")
	}
	// Output:
	// true <nil> <nil>
	// web1 is at it
}
