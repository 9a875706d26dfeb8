package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// How many lanes there are at least. A Service's cluster IP, or a load balancer behind a URL, spreads
	// connections; only a client with several gets the use of it.
	minLanes = 4
	// Idle connections are closed at this age, so that endpoints that came later get their share.
	connectionAge = 5 * time.Minute
	// For how long an endpoint that could not be reached is passed over, if there are others.
	endpointPause = 5 * time.Second
	// Reaching a host that is there takes milliseconds. Of a shorter timeout it is half, so that there is time
	// to reach another.
	dialTimeout = 3 * time.Second
	// The time after which net/http's own client gives up an unused connection.
	idleTimeout = 90 * time.Second
	// How many names of authorities an error lists.
	maxAuthorities = 3
)

// lane is a pool of connections to one address.
type lane struct {
	// address is what is dialled, empty for the host of the URL.
	address   string
	transport *http.Transport
	// calls is what calls go through: the transport, and what is around it.
	calls http.RoundTripper
	// renewal and pause are times in Unix nanoseconds: when idle connections are closed next, and until when
	// the lane is passed over.
	renewal, pause atomic.Int64
}

// lanes spread the calls of a hook, in turn, over its endpoints.
type lanes struct {
	caller *Caller
	tls    *tls.Config
	// broken is why there can be no connection.
	broken error
	// resolve gives the addresses to dial; nil, like no address, means the host of the URL.
	resolve func(context.Context) ([]string, error)
	turn    atomic.Uint32

	mu        sync.Mutex
	addresses []string
	list      []*lane
}

// newLanes prepares the connections of a caller, and opens none. It fills in what the caller says about TLS.
func newLanes(c *Caller, resolve func(context.Context) ([]string, error)) *lanes {
	l := &lanes{caller: c, resolve: resolve}
	bundle := c.client.CABundle
	l.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if resolve != nil {
		l.tls.ServerName = c.serverName
	}
	c.authority = "the system's roots, as there is no caBundle"
	if len(bundle) > 0 {
		l.tls.RootCAs = x509.NewCertPool()
		if !l.tls.RootCAs.AppendCertsFromPEM(bundle) {
			// Admission lets it pass, so it is the call that fails.
			l.broken = &handshakeError{errors.New("there is no certificate in the caBundle")}
		}
		c.authority = "the caBundle, " + authorities(bundle)
	}
	if c.certificate != nil {
		l.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.certificate() }
	}
	if c.adaptTLS != nil {
		c.adaptTLS(l.tls)
	}
	return l
}

// authorities names the certificates of a bundle.
func authorities(bundle []byte) string {
	var names []string
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			names = append(names, c.Subject.String())
		}
	}
	if more := len(names) - maxAuthorities; more > 0 {
		names = append(names[:maxAuthorities], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, "; ")
}

// pick gives the lane for the next call: the next in turn that is not passed over, and just the next if all
// are, since a hook that may be dead is still better asked than not.
func (l *lanes) pick(ctx context.Context) (*lane, error) {
	if l.broken != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, l.broken)
	}
	list, err := l.current(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	turn := int(l.turn.Add(1) % uint32(len(list)))
	chosen := list[turn]
	for i := range list {
		if other := list[(turn+i)%len(list)]; other.pause.Load() <= now.UnixNano() {
			chosen = other
			break
		}
	}
	if due := chosen.renewal.Load(); due <= now.UnixNano() && chosen.renewal.CompareAndSwap(due, now.Add(connectionAge).UnixNano()) {
		chosen.transport.CloseIdleConnections()
	}
	return chosen, nil
}

// failed passes over all lanes to an address for a while, so that a second try goes somewhere else.
func (l *lanes) failed(at *lane) {
	until := time.Now().Add(endpointPause).UnixNano()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range l.list {
		if lane.address == at.address {
			lane.pause.Store(until)
		}
	}
}

// current gives the lanes of the addresses there are now.
func (l *lanes) current(ctx context.Context) ([]*lane, error) {
	var addresses []string
	if l.resolve != nil {
		found, err := l.resolve(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		addresses = slices.Compact(slices.Sorted(slices.Values(found)))
	}
	if len(addresses) == 0 {
		addresses = []string{""}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(addresses, l.addresses) {
		return l.list, nil
	}
	old := slices.Clone(l.list) // Somebody may be picking from the list.
	l.addresses, l.list = addresses, nil
	// Every address gets the same number, so that the turns are fair.
	each := (minLanes + len(addresses) - 1) / len(addresses)
	for range each {
		for _, address := range addresses {
			i := slices.IndexFunc(old, func(o *lane) bool { return o.address == address })
			if i >= 0 {
				l.list = append(l.list, old[i])
				old = slices.Delete(old, i, i+1)
				continue
			}
			l.list = append(l.list, l.lane(address))
		}
	}
	for _, o := range old {
		o.transport.CloseIdleConnections()
	}
	return l.list, nil
}

// lane makes a pool of connections. An address that is not the URL's own is dialled without a proxy, which
// could not know it.
func (l *lanes) lane(address string) *lane {
	dialer := &net.Dialer{Timeout: min(dialTimeout, l.caller.timeout/2), KeepAlive: 30 * time.Second}
	t := &http.Transport{
		// With a TLS configuration of its own, and without asking for more, a transport speaks HTTP/1.1.
		TLSClientConfig:     l.tls,
		DialContext:         dialer.DialContext,
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: l.caller.concurrency,
		IdleConnTimeout:     idleTimeout,
	}
	if address != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		}
	}
	fresh := &lane{address: address, transport: t, calls: t}
	if l.caller.wrapTransport != nil {
		fresh.calls = l.caller.wrapTransport(t)
	}
	fresh.renewal.Store(time.Now().Add(connectionAge).UnixNano())
	return fresh
}

// close closes the connections that are not in use; calls in flight close theirs when they are done.
func (l *lanes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range l.list {
		lane.transport.CloseIdleConnections()
	}
}
