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
		if r.URL.Path == "/v1/once/report" {
			w.WriteHeader(201)
			fmt.Fprint(w, `{"every_ms":3600000,"after_ms":1,"remaining_ms":985,"sure":true}`)
		} else if r.URL.Path != "/v1/locks/report" {
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

func ExampleClient_Lead() {
	at := service()
	defer at.Close()
	client, _ := redlock.New(at.URL)
	enough := errors.New("the work is done")
	err := client.Lead(context.Background(), "report", func(ctx context.Context, term int64) error {
		fmt.Println("leads in the term", term) // until ctx is done
		return enough                          // nil: resigns, and is a candidate again
	})
	fmt.Println(err)
	// Output:
	// leads in the term 7
	// the work is done
}

func ExampleClient_Once() {
	at := service()
	defer at.Close()
	client, _ := redlock.New(at.URL)
	for _, job := range []string{"report", "invoices"} {
		err := client.Once(context.Background(), job, time.Hour, func(ctx context.Context, fence int64) error {
			fmt.Println("this machine runs", job)
			return nil
		})
		fmt.Println(job, err == nil, errors.Is(err, redlock.ErrSkipped))
	}
	// Output:
	// this machine runs report
	// report true false
	// invoices false true
}
