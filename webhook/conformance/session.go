package conformance

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

const (
	// As many questions are asked at the same time, and as many connections kept.
	parallel = 32
	// How often a question is sent again to a hook that asks for it with Retry-After, as Karmada's client does.
	maxRetryAfter = 10
	// After as many questions without any answer at all, the rest are not asked.
	maxSilence = 3
	// What Karmada's client calls itself.
	userAgent = "kube-apiserver-admission"
)

// session is one run of a kit.
type session struct {
	hook      Hook
	kit       *Kit
	transport *http.Transport
	// severities are those of the checks, by ID.
	severities map[string]Severity
	// broken is why nothing can be asked, empty if it can.
	broken string
	// connected are the outcomes of the checks of connections, nil before they were made.
	connected map[string]outcome
	// withoutQuery says that the hook answers only what has no timeout in its query.
	withoutQuery bool
	// first are the answers to the questions, each asked as Karmada asks it; nil before they were asked.
	first []*answer
	// heard are all answers that can be read, of questions in any form.
	heard []*answer
	// provoked are the answers to questions that no hook can answer, by what is wrong with them.
	provoked map[string]*answer
	// unknown is what is wrong with the answers about a kind that does not exist; nil before it was asked about.
	unknown *[]Problem
}

func newSession(k *Kit) *session {
	s := &session{hook: k.hook, kit: k, provoked: map[string]*answer{}, severities: map[string]Severity{}}
	for i := range checks {
		s.severities[checks[i].ID] = checks[i].Severity
	}
	s.transport = &http.Transport{
		// Karmada's client speaks HTTP/1.1, and so does a transport with a TLS configuration of its own.
		TLSClientConfig:     s.tls("http/1.1"),
		DialContext:         s.dial,
		MaxIdleConnsPerHost: parallel,
	}
	return s
}

func (s *session) close() { s.transport.CloseIdleConnections() }

// dial connects to the hook, whatever the address asked for.
func (s *session) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{Timeout: s.hook.Timeout}).DialContext(ctx, network, s.hook.Address)
}

// tls is a client's configuration, with the protocols that it offers.
func (s *session) tls(protocols ...string) *tls.Config {
	c := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         s.hook.ServerName,
		NextProtos:         protocols,
		InsecureSkipVerify: s.hook.InsecureSkipVerify,
	}
	if len(s.hook.CABundle) > 0 {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(s.hook.CABundle)
	}
	return c
}

// probe is something to send to a hook. What is not set is as Karmada has it: the method, the headers, the query, and a
// UID that no question had before.
type probe struct {
	question *Question
	// request is asked in the place of the question's own.
	request *interpreter.Request
	uid     types.UID
	// wrap changes the envelope, or puts another around it.
	wrap func(*v1alpha1.ResourceInterpreterContext) any
	// body is sent in the place of a question.
	body   func(question []byte) []byte
	method string
	// header stands in the place of the usual one.
	header http.Header
	// timeout is the value of the query's parameter.
	timeout string
	// early says that the hook may refuse before it knows what is asked.
	early bool
	// raw reads the answer while the question is still being sent, on a connection of its own.
	raw bool
}

// answer is what came back, read as far as it can be.
type answer struct {
	Exchange
	question *Question
	// asked is what the question means, nil if it means nothing.
	asked  *interpreter.Request
	uid    types.UID
	early  bool
	reused bool
	// unstable says that the same question has got another answer, too.
	unstable bool

	// response is nil if none could be read. Fields that could not are in unreadable, and empty.
	response   *v1alpha1.ResourceInterpreterResponse
	unreadable map[string]bool
	flaws      []flaw
	level      level
}

// ask sends a probe, and reads the answer. Who is asked to come back later does.
func (s *session) ask(ctx context.Context, p probe) *answer {
	a := &answer{question: p.question, uid: p.uid, early: p.early}
	if a.uid == "" {
		a.uid = uuid.NewUUID()
	}
	body, err := s.body(&p, a)
	if err != nil {
		a.Err = err
		a.judge(s.severities)
		return a
	}
	a.Method = p.method
	if a.Method == "" {
		a.Method = http.MethodPost
	}
	a.RequestHeader = p.header
	if a.RequestHeader == nil {
		a.RequestHeader = usualHeader()
	}
	a.RequestBody = string(body)
	u := *s.kit.url
	switch {
	case p.timeout != "":
		u.RawQuery = "timeout=" + p.timeout
	case !s.withoutQuery:
		left := (s.hook.Timeout + time.Second - 1).Truncate(time.Second)
		u.RawQuery = "timeout=" + strconv.Itoa(int(left/time.Second)) + "s"
	}
	a.URL = u.String()
	ctx, cancel := context.WithTimeout(ctx, s.hook.Timeout)
	defer cancel()
	start := time.Now()
	for sent := 1; ; sent++ {
		pause, again := s.send(ctx, a, body, p.raw)
		if !again || sent > maxRetryAfter || a.Err != nil {
			break
		}
		select {
		case <-time.After(pause):
			continue
		case <-ctx.Done():
		}
		break
	}
	a.Took = time.Since(start)
	a.judge(s.severities)
	return a
}

// usualHeader are the headers that Karmada sends.
func usualHeader() http.Header {
	return http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, */*"},
		"User-Agent":   {userAgent},
	}
}

// body is what a probe sends; a learns what that means.
func (s *session) body(p *probe, a *answer) ([]byte, error) {
	request := p.request
	if request == nil {
		request = p.question.Request
	}
	envelope, err := webhook.ContextOf(a.uid, request)
	if err != nil {
		return nil, err
	}
	var sent any = envelope
	if p.wrap != nil {
		sent = p.wrap(envelope)
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return nil, err
	}
	if p.body != nil {
		return p.body(body), nil
	}
	// What is no sound question has no answer whose content could be judged.
	if _, asked, err := webhook.DecodeRequest(body); err == nil {
		a.asked = asked
	}
	return body, nil
}

// send sends a request once. Again says that the hook wants it once more, after a pause: with the same body, and so with
// the same UID. Redirections are not followed, or an object would go where nobody meant it to.
func (s *session) send(ctx context.Context, a *answer, body []byte, raw bool) (pause time.Duration, again bool) {
	a.Status, a.ResponseHeader, a.ResponseBody, a.Err = 0, nil, "", nil
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { a.reused = c.Reused }}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), a.Method, a.URL, bytes.NewReader(body))
	if err != nil {
		a.Err = err
		return 0, false
	}
	r.Header = a.RequestHeader.Clone()
	roundTrip := s.transport.RoundTrip
	if raw {
		roundTrip = s.roundTripRaw
	}
	response, err := roundTrip(r)
	if err != nil {
		a.Err = cause(ctx, err)
		return 0, false
	}
	defer response.Body.Close()
	a.Status, a.ResponseHeader = response.StatusCode, response.Header
	text, err := io.ReadAll(io.LimitReader(response.Body, webhook.DefaultAnswerLimit+1))
	a.ResponseBody = string(text)
	if err != nil {
		a.Err = fmt.Errorf("in the middle of the answer: %w", cause(ctx, err))
		return 0, false
	}
	busy := response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= http.StatusInternalServerError
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, busy && err == nil && seconds >= 0
}

// cause is the deadline behind an error of the transport, if that is what it comes from.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	return err
}

// connection is a connection that ends with the answer that is read from it.
type connection struct {
	io.Reader
	closers []func() error
}

func (c *connection) Close() error {
	for _, closes := range c.closers {
		_ = closes() // The answer is read, or of no use.
	}
	return nil
}

// roundTripRaw is a round trip in which the end of the request does not matter to the answer. A transport of net/http
// may take the failure to send a long body, of which the hook has seen enough, for the failure of the call.
func (s *session) roundTripRaw(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	conn, err := s.dial(ctx, "tcp", "")
	if err != nil {
		return nil, err
	}
	if s.kit.url.Scheme == "https" {
		secure := tls.Client(conn, s.tls("http/1.1"))
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		conn = secure
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	whole := &connection{closers: []func() error{func() error { stop(); return nil }, conn.Close}}
	sent := make(chan error, 1)
	go func() { sent <- r.Write(conn) }()
	response, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		whole.Close()
		<-sent
		return nil, err
	}
	whole.Reader = response.Body
	whole.closers = append(whole.closers, func() error { <-sent; return nil })
	response.Body = whole
	return response, nil
}

// problem is a problem with an answer.
func (a *answer) problem(expected, got string) Problem {
	p := Problem{Expected: expected, Got: got, Exchange: &a.Exchange}
	if a.question != nil {
		p.Operation = a.question.Operation
		p.Object = (&interpreter.Error{
			Kind: a.question.Kind(), Namespace: a.question.Object.GetNamespace(), Name: a.question.Object.GetName(),
		}).Object()
	}
	return p
}

// hear notes an answer for the checks that look at all of them.
func (s *session) hear(a *answer) *answer {
	if a.response != nil {
		s.heard = append(s.heard, a)
	}
	return a
}

// firsts asks the questions as Karmada does, once. A hook that stumbles over the query is asked without it from then on:
// that is one mistake, and not one in every answer.
func (s *session) firsts(ctx context.Context) []*answer {
	if s.first != nil {
		return s.first
	}
	silence := 0
	for i := range s.kit.questions {
		p := probe{question: &s.kit.questions[i]}
		a := s.ask(ctx, p)
		if i == 0 && a.level == unusable && a.Err == nil {
			s.withoutQuery = true
			other := s.ask(ctx, p)
			if s.withoutQuery = other.level > unusable; s.withoutQuery {
				a = other
			}
		}
		s.first = append(s.first, s.hear(a))
		silence++
		if a.Err == nil {
			silence = 0
		}
		if silence == maxSilence || ctx.Err() != nil {
			break
		}
	}
	return s.first
}

// sound are the first answers that are usable, the best one for each operation. Other forms are tried with these only:
// what goes wrong in the usual form proves nothing in another, and one kind is as good as forty.
func (s *session) sound(ctx context.Context) []*answer {
	var list []*answer
	byOperation := map[interpreter.Operation]int{}
	for _, a := range s.firsts(ctx) {
		i, seen := byOperation[a.question.Operation]
		switch {
		case a.level == unusable:
		case !seen:
			byOperation[a.question.Operation] = len(list)
			list = append(list, a)
		case a.level > list[i].level:
			list[i] = a
		}
	}
	return list
}

// soundOf is the sound answer of one operation, nil if there is none.
func (s *session) soundOf(ctx context.Context, op interpreter.Operation) *answer {
	for _, a := range s.sound(ctx) {
		if a.question.Operation == op {
			return a
		}
	}
	return nil
}
