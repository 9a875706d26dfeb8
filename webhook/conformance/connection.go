package conformance

import (
	"bufio"
	"bytes"
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
	"time"

	"github.com/kubeinterpret/interpret/webhook"
)

const (
	// How long before its end a certificate should have been renewed: a week, or a tenth of its life if that is less,
	// since short-lived ones are renewed late by design.
	expiryWarning  = 7 * 24 * time.Hour
	expiryFraction = 10
)

// foundations are the checks without which nothing can be asked. They are run even if they are not selected.
var foundations = []string{"reachable", "tls-version", "tls-client-certificate", "tls-chain", "tls-name", "tls-validity", "http1"}

func foundation(id string) bool { return slices.Contains(foundations, id) }

// connected is a check that looks at what came of connecting.
func connected(id string) func(context.Context, *session) outcome {
	return func(ctx context.Context, s *session) outcome {
		if s.connected == nil {
			s.connected = map[string]outcome{}
			s.connect(ctx)
		}
		return s.connected[id]
	}
}

// fault notes a problem with connecting. What is a foundation ends the run.
func (s *session) fault(id, expected, format string, args ...any) {
	got := fmt.Sprintf(format, args...)
	s.connected[id] = outcome{problems: append(s.connected[id].problems, Problem{Expected: expected, Got: got})}
	if foundation(id) && s.broken == "" {
		s.broken = fmt.Sprintf("%s failed", id)
	}
}

// leave skips those checks of connections that have no outcome yet.
func (s *session) leave(reason string, ids ...string) {
	for _, id := range ids {
		if len(s.connected[id].problems) == 0 {
			s.connected[id] = outcome{skipped: reason}
		}
	}
}

// connect makes the connections that the checks of connections judge, from the address up to the first answer. Each step
// needs the one before it, so the first fault ends it, except that all that is wrong with a certificate is told.
func (s *session) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.hook.Timeout)
	defer cancel()
	ofTLS := []string{"tls-version", "tls-old-versions", "tls-client-certificate", "tls-chain", "tls-name", "tls-validity", "tls-expiry"}
	conn, err := s.dial(ctx, "tcp", "")
	if err != nil {
		s.fault("reachable", "a connection to "+s.hook.Address, "%v", cause(ctx, err))
		s.leave(s.broken, append(ofTLS, "http1")...)
		return
	}
	defer conn.Close()
	if s.kit.url.Scheme == "http" {
		s.leave("there is no TLS; Karmada calls hooks by https only", ofTLS...)
		s.speakHTTP1(ctx, conn, false)
		return
	}
	// The first handshake takes what it gets, to find out what that is.
	asked := false
	loose := s.tls("h2", "http/1.1")
	loose.MinVersion, loose.InsecureSkipVerify = tls.VersionTLS10, true
	loose.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = true
		return &tls.Certificate{}, nil
	}
	secure := tls.Client(conn, loose)
	switch err := secure.HandshakeContext(ctx); {
	case err != nil && asked:
		s.fault("tls-client-certificate", "a handshake without a client certificate", "%v", cause(ctx, err))
		s.leave(s.broken, append(ofTLS, "http1")...)
		return
	case err != nil:
		s.fault("reachable", "TLS at "+s.hook.Address, "%v", cause(ctx, err))
		s.leave(s.broken, append(ofTLS, "http1")...)
		return
	}
	// No question goes over this connection: it took whatever came.
	state := secure.ConnectionState()
	if state.Version < tls.VersionTLS12 {
		s.fault("tls-version", "TLS 1.2 or later", "%s", tls.VersionName(state.Version))
	} else if old := s.oldVersion(ctx); old != 0 {
		s.fault("tls-old-versions", "TLS 1.2 or later only", "%s is spoken as well", tls.VersionName(old))
	}
	s.trust(state.PeerCertificates)
	if s.broken != "" {
		s.leave(s.broken, "http1")
		return
	}
	second, err := s.dial(ctx, "tcp", "")
	if err != nil {
		s.fault("reachable", "a second connection to "+s.hook.Address, "%v", cause(ctx, err))
		s.leave(s.broken, "http1")
		return
	}
	defer second.Close()
	secure = tls.Client(second, s.tls("http/1.1"))
	if err := secure.HandshakeContext(ctx); err != nil {
		s.fault("http1", "a handshake that agrees on HTTP/1.1", "%v", cause(ctx, err))
		return
	}
	s.speakHTTP1(ctx, secure, asked)
}

// oldVersion finds a version of TLS that nobody should speak any more and the hook does, 0 if there is none.
func (s *session) oldVersion(ctx context.Context) uint16 {
	conn, err := s.dial(ctx, "tcp", "")
	if err != nil {
		return 0
	}
	defer conn.Close()
	old := s.tls("http/1.1")
	old.MinVersion, old.MaxVersion, old.InsecureSkipVerify = tls.VersionTLS10, tls.VersionTLS11, true
	secure := tls.Client(conn, old)
	if secure.HandshakeContext(ctx) != nil {
		return 0
	}
	return secure.ConnectionState().Version
}

// trust looks at the hook's certificates as a client would, but tells the reasons for mistrust apart.
func (s *session) trust(chain []*x509.Certificate) {
	leaf, now := chain[0], time.Now()
	switch left := leaf.NotAfter.Sub(now); {
	case s.hook.InsecureSkipVerify:
		s.leave("certificates are not verified, as was asked for", "tls-chain", "tls-name", "tls-validity", "tls-expiry")
		return
	case now.Before(leaf.NotBefore):
		s.fault("tls-validity", "a certificate that is valid now", "it is valid from %s", leaf.NotBefore.Format(time.RFC3339))
		now = leaf.NotBefore
	case left < 0:
		s.fault("tls-validity", "a certificate that is valid now", "it was valid until %s", leaf.NotAfter.Format(time.RFC3339))
		now = leaf.NotAfter
	case left < min(expiryWarning, leaf.NotAfter.Sub(leaf.NotBefore)/expiryFraction):
		s.fault("tls-expiry", "a certificate that is renewed in time", "it is valid until %s, %s from now", leaf.NotAfter.Format(time.RFC3339), left.Round(time.Second))
	}
	if len(s.connected["tls-validity"].problems) > 0 {
		s.leave("tls-validity failed", "tls-expiry")
	}
	if err := leaf.VerifyHostname(s.hook.ServerName); err != nil {
		s.fault("tls-name", fmt.Sprintf("%q among the certificate's subject alternative names", s.hook.ServerName), "%s", namesOf(leaf))
	}
	// A certificate that has expired may still lead to the right authority, which is verified for a time when it had
	// not, so that only its date is told.
	options := x509.VerifyOptions{Intermediates: x509.NewCertPool(), CurrentTime: now}
	by := "the system's roots, as there is no CA bundle"
	if len(s.hook.CABundle) > 0 {
		by = "an authority of the CA bundle"
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(s.hook.CABundle) {
			what := "it is no PEM"
			if block, _ := pem.Decode(s.hook.CABundle); block != nil {
				what = "it has no certificate that can be read"
			}
			s.fault("tls-chain", "certificates in the CA bundle", "%s", what)
			return
		}
	}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(options); err != nil {
		s.fault("tls-chain", "a certificate that leads to "+by, "one of %q, signed by %q, with %d more in the chain: %v", leaf.Subject, leaf.Issuer, len(chain)-1, err)
	}
}

// namesOf lists what a certificate is for. Clients stopped looking at common names years ago, and people still write
// certificates that have nothing else.
func namesOf(c *x509.Certificate) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return fmt.Sprintf("none; its common name, %q, does not count", c.Subject.CommonName)
	}
	return strings.Join(names, ", ")
}

// speakHTTP1 asks the first question. Whatever is answered will do, as long as it is HTTP/1, of which Karmada's client
// takes 1.0 as well; what is wrong with the answer is for other checks.
func (s *session) speakHTTP1(ctx context.Context, conn net.Conn, certificateAsked bool) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	envelope, err := s.body(&probe{question: &s.kit.questions[0]}, &answer{uid: "00000000-0000-4000-8000-000000000000"})
	if err != nil {
		s.fault("http1", "a question that can be sent", "%v", err)
		return
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.kit.url.String(), bytes.NewReader(envelope))
	if err == nil {
		r.Header = usualHeader()
		err = r.Write(conn)
	}
	var response *http.Response
	first := bufio.NewReader(conn)
	if err == nil {
		var start []byte
		if start, err = first.Peek(len("HTTP/1.")); err == nil && string(start) != "HTTP/1." {
			err = fmt.Errorf("%w: it begins with %q", errNoHTTP, start)
		} else if err == nil {
			response, err = http.ReadResponse(first, r)
		}
	}
	switch {
	case err == nil:
		response.Body.Close()
	// With TLS 1.3, a server says only now that it wanted a certificate.
	case certificateAsked && strings.Contains(err.Error(), "tls: "):
		s.fault("tls-client-certificate", "an answer without a client certificate", "%v", err)
		s.leave(s.broken, "http1")
	case errors.Is(err, errNoHTTP):
		s.fault("http1", "an answer in HTTP/1.1", "%v", err)
	}
}

var errNoHTTP = errors.New("not HTTP/1")

// checkConfiguration asks what admission would say. A configuration may be stored all the same, if it was there before
// the admission was, so the other checks go on.
func checkConfiguration(_ context.Context, s *session) outcome {
	if s.hook.Configuration == nil {
		return outcome{skipped: "no configuration was given"}
	}
	var o outcome
	for _, e := range webhook.Validate(s.hook.Configuration) {
		o.problems = append(o.problems, Problem{Expected: "a configuration that Karmada's admission lets pass", Got: e.Error()})
	}
	return o
}
