// SPDX-License-Identifier: BSD-2-Clause

// Package redlock is a client of redlockd: distributed locks that a majority of independent Redis
// or Valkey servers agree on, over a unix socket, TCP or TLS.
//
// A [Lock] is renewed until it is released. Its context is done as soon as it is lost, and in any
// case before its deadline: give it to all that the lock protects, and it stops in time, whatever
// the network does. What must not happen twice even if a program stops for minutes needs the check
// of [Lock.Fence] at the resource as well.
//
//	lock, err := client.Acquire(ctx, "report", redlock.Wait(time.Minute))
//	if err != nil {
//		return err
//	}
//	defer lock.Release(ctx)
//	return write(lock.Context(), lock.Fence())
//
// On a unix socket a lock is held by a stream: the service renews it as long as this process
// lives, and frees it within milliseconds when the process dies. Elsewhere, and where a proxy
// stands before the service, the client renews a lease, and the TTL runs out when it dies.
// docs/service.md of the project has the protocol, and what it promises.
package redlock

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Connections that are kept, for less time than the service allows; leases that are ended at once.
const idleMax, endsAtOnce, idleFor, dialLimit = 256, 32, 60 * time.Second, 5 * time.Second

// Client asks one service. Any number of goroutines can share it.
type Client struct {
	base      *url.URL // of all requests
	transport *http.Transport
	tokenFile string
	streams   atomic.Bool    // use them: until a proxy refuses one
	ends      sync.WaitGroup // leases that are ended in the background
	endSlots  chan struct{}  // so many at a time
}

// Option is a setting of [New].
type Option func(*Client) error

// WithTokenFile sends the first line of a file as bearer token. It is read for every request: a
// new token is used at once.
func WithTokenFile(path string) Option {
	return func(c *Client) error {
		c.tokenFile = path
		_, err := readToken(path)
		return err
	}
}

// WithCertificate trusts the authorities in the PEM file ca (empty: those of the system) and
// proves itself with a certificate and its key (empty: with none), which are read again for every
// connection.
func WithCertificate(ca, certificate, key string) Option {
	return func(c *Client) error {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if ca != "" {
			pem, err := os.ReadFile(ca)
			config.RootCAs = x509.NewCertPool()
			if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
				return fmt.Errorf("%s has no certificate", ca)
			}
		}
		read := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			return &pair, err
		}
		if certificate != "" {
			if _, err := read(nil); err != nil {
				return err
			}
			config.GetClientCertificate = read
		}
		c.transport.TLSClientConfig = config
		return nil
	}
}

// WithStreams says whether locks are held by streams: by default on unix sockets only. Over TCP
// that is for direct connections, since a proxy can hide that a client has died. One that refuses
// streams is noticed; then the client renews its locks by itself.
func WithStreams(wanted bool) Option {
	return func(c *Client) error {
		c.streams.Store(wanted)
		return nil
	}
}

// New is a client of the service at unix:/path, http://HOST[:PORT] or https://HOST[:PORT];
// empty: that of the environment variable REDLOCK_SERVICE. It does not connect yet.
func New(service string, options ...Option) (*Client, error) {
	if service == "" {
		service = os.Getenv("REDLOCK_SERVICE")
	}
	c := &Client{endSlots: make(chan struct{}, endsAtOnce),
		transport: &http.Transport{MaxIdleConnsPerHost: idleMax, IdleConnTimeout: idleFor,
			TLSHandshakeTimeout: dialLimit, DisableCompression: true}}
	socket := strings.TrimPrefix(strings.TrimPrefix(service, "unix:"), "//")
	at, err := url.Parse(strings.TrimSuffix(service, "/"))
	dialer := net.Dialer{Timeout: dialLimit}
	c.transport.DialContext = dialer.DialContext
	if strings.HasPrefix(service, "unix:") && strings.HasPrefix(socket, "/") {
		at = &url.URL{Scheme: "http", Host: "localhost"}
		c.streams.Store(true)
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
	} else if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "" ||
		at.Path != "" || at.User != nil || at.RawQuery != "" {
		return nil, fmt.Errorf("redlock: %w: the service %q is none of unix:/path, "+
			"http://HOST:PORT and https://HOST:PORT", ErrInvalid, service)
	}
	c.base = at
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, fmt.Errorf("redlock: %w: %s", ErrInvalid, err)
		}
	}
	return c, nil
}

// Must is the client, or a panic: for settings that cannot be wrong.
func Must(c *Client, err error) *Client {
	if err != nil {
		panic(err)
	}
	return c
}

// Close waits until leases whose outcome is not known are ended, for seconds at most, and closes
// idle connections. Locks that are held stay held: release them before.
func (c *Client) Close() error {
	c.ends.Wait()
	c.transport.CloseIdleConnections()
	return nil
}
