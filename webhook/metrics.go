package webhook

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
)

// buckets are seconds: from what a hook on the same node takes to the longest timeout there is.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// register registers a collector, or finds the same one that is registered already.
func register[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	err := r.Register(c)
	var twice prometheus.AlreadyRegisteredError
	if errors.As(err, &twice) {
		if same, ok := twice.ExistingCollector.(C); ok {
			return same, nil
		}
	}
	return c, err
}

// clientMetrics count the calls of hooks; nil counts nothing.
type clientMetrics struct {
	calls    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	breakers *prometheus.GaugeVec
}

func newClientMetrics(r prometheus.Registerer) (*clientMetrics, error) {
	if r == nil {
		return nil, nil
	}
	m := &clientMetrics{}
	var errs [4]error
	m.calls, errs[0] = register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interpret_webhook_calls_total",
		Help: "Calls of hooks by outcome: answered, refused (the hook says no), invalid, unreachable, timeout, unavailable (not asked), canceled (by the caller).",
	}, []string{"hook", "operation", "outcome"}))
	m.seconds, errs[1] = register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "interpret_webhook_call_duration_seconds",
		Help:    "How long calls of hooks take, with waiting and repeating.",
		Buckets: buckets,
	}, []string{"hook", "operation"}))
	m.inFlight, errs[2] = register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interpret_webhook_calls_in_flight",
		Help: "Calls of hooks that have no outcome yet.",
	}, []string{"hook", "operation"}))
	m.breakers, errs[3] = register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interpret_webhook_breaker_state",
		Help: "Whether a hook is asked: 0 yes, 1 one call to see whether it works again, 2 no.",
	}, []string{"hook"}))
	return m, errors.Join(errs[:]...)
}

// flight is a call that is being counted.
type flight struct {
	metrics         *clientMetrics
	hook, operation string
	inFlight        prometheus.Gauge
}

// start begins to count a call. The gauge is looked up once, so that the end is counted where the start was,
// also if the hook's metrics are forgotten in between.
func (m *clientMetrics) start(hook, operation string) flight {
	f := flight{metrics: m, hook: hook, operation: operation}
	if m != nil {
		f.inFlight = m.inFlight.WithLabelValues(f.hook, f.operation)
		f.inFlight.Inc()
	}
	return f
}

// end counts a call that has an outcome, unless its hook is gone, and its counts with it.
func (f flight) end(took time.Duration, err error, gone bool) {
	if f.metrics == nil {
		return
	}
	f.inFlight.Dec()
	if gone {
		return
	}
	f.metrics.seconds.WithLabelValues(f.hook, f.operation).Observe(took.Seconds())
	f.metrics.calls.WithLabelValues(f.hook, f.operation, outcome(err)).Inc()
}

// outcome is the label of a call's end. The order matters: a call that is out of time is unreachable too.
func outcome(err error) string {
	var gone *callerError
	switch {
	case err == nil:
		return "answered"
	case answered(err):
		return "refused"
	case errors.As(err, &gone):
		return "canceled"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, ErrUnreachable):
		return "unreachable"
	}
	return "invalid"
}

// breaker shows the state of a hook's breaker; gobreaker's numbers are those of the metric.
func (m *clientMetrics) breaker(hook string, s gobreaker.State) {
	if m != nil {
		m.breakers.WithLabelValues(hook).Set(float64(s))
	}
}

// forget drops what is said about a hook that is gone.
func (m *clientMetrics) forget(hook string) {
	if m == nil {
		return
	}
	labels := prometheus.Labels{"hook": hook}
	m.calls.DeletePartialMatch(labels)
	m.seconds.DeletePartialMatch(labels)
	m.inFlight.DeletePartialMatch(labels)
	m.breakers.DeletePartialMatch(labels)
}

// serverMetrics count the questions that a handler is asked; nil counts nothing.
type serverMetrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// newServerMetrics makes the metrics of a protocol, whose label tells questions apart.
func newServerMetrics(r prometheus.Registerer, prefix, label string) (*serverMetrics, error) {
	if r == nil {
		return nil, nil
	}
	m := &serverMetrics{}
	var errs [3]error
	m.requests, errs[0] = register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "_requests_total",
		Help: "Questions that were asked, by the code of the answer; the " + label + " is empty where it could not be read.",
	}, []string{label, "code"}))
	m.seconds, errs[1] = register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    prefix + "_request_duration_seconds",
		Help:    "How long answers take, with reading the question.",
		Buckets: buckets,
	}, []string{label}))
	m.inFlight, errs[2] = register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: prefix + "_requests_in_flight",
		Help: "Questions that are being read, worked on or answered.",
	}))
	return m, errors.Join(errs[:]...)
}

func (m *serverMetrics) begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// end counts a question that was answered or turned away.
func (m *serverMetrics) end(x *Exchange) {
	if m == nil {
		return
	}
	code := "other"
	if http.StatusText(int(x.Code)) != "" {
		// A rule may choose any number; not every one gets a counter.
		code = strconv.Itoa(int(x.Code))
	}
	m.inFlight.Dec()
	m.requests.WithLabelValues(x.Subject, code).Inc()
	m.seconds.WithLabelValues(x.Subject).Observe(time.Since(x.start).Seconds())
}
