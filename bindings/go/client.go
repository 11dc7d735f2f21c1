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
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const endsAtOnce, dialLimit = 32, 5 * time.Second

// Client uses one service. Any number of goroutines can share it.
type Client struct {
	dial      func(ctx context.Context, end time.Time) (net.Conn, error)
	host      string // as requests name it
	security  *tls.Config
	tokenFile string
	mu        sync.Mutex
	idle      []*conn        // the last one was used last
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
		if ca != "" {
			pem, err := os.ReadFile(ca)
			c.security.RootCAs = x509.NewCertPool()
			if err != nil || !c.security.RootCAs.AppendCertsFromPEM(pem) {
				return fmt.Errorf("%s has no certificate", ca)
			}
		}
		if certificate == "" {
			return nil
		}
		c.security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			return &pair, err
		}
		_, err := c.security.GetClientCertificate(nil)
		return err
	}
}

// WithStreams sets whether locks are held by streams: by default on unix sockets only. Over TCP
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
	c := &Client{endSlots: make(chan struct{}, endsAtOnce), security: &tls.Config{}}
	network, address := "tcp", ""
	socket := strings.TrimPrefix(strings.TrimPrefix(service, "unix:"), "//")
	at, err := url.Parse(strings.TrimSuffix(service, "/"))
	if strings.HasPrefix(service, "unix:") && strings.HasPrefix(socket, "/") {
		network, address, c.host = "unix", socket, "localhost"
		c.streams.Store(true)
	} else if err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Hostname() != "" && at.String() == at.Scheme+"://"+at.Host {
		c.host, address = at.Host, at.Host
		if at.Port() == "" {
			address = net.JoinHostPort(at.Hostname(), at.Scheme)
		}
	} else {
		return nil, fmt.Errorf("redlock: %w: the service %q is none of unix:/path, "+
			"http://HOST:PORT and https://HOST:PORT", ErrInvalid, service)
	}
	for _, option := range options {
		if err := option(c); err != nil {
			return nil, fmt.Errorf("redlock: %w: %s", ErrInvalid, err)
		}
	}
	c.dial = func(ctx context.Context, end time.Time) (net.Conn, error) {
		dialer := net.Dialer{Timeout: dialLimit, Deadline: end}
		if network == "unix" || at.Scheme == "http" {
			return dialer.DialContext(ctx, network, address)
		}
		return (&tls.Dialer{NetDialer: &dialer, Config: c.security}).DialContext(ctx, network, address)
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
	c.sweep(0)
	return nil
}
