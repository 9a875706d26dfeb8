package follow

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are about one resource; nil counts nothing.
type metrics struct {
	step     prometheus.Gauge
	valid    prometheus.Gauge
	invalid  prometheus.Gauge
	changes  prometheus.Counter
	failures prometheus.Counter
}

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

func newMetrics(r prometheus.Registerer, resource string) (*metrics, error) {
	if r == nil {
		return nil, nil
	}
	var errs [4]error
	step, err := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interpret_configuration_in_step",
		Help: "Whether what is in force is kept in step with the API server: 1 yes, 0 it cannot be read.",
	}, []string{"resource"}))
	errs[0] = err
	objects, err := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "interpret_configuration_objects",
		Help: "Objects on the API server by state: valid, or invalid, which are not in force as they are.",
	}, []string{"resource", "state"}))
	errs[1] = err
	changes, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interpret_configuration_changes_total",
		Help: "How often other objects came into force.",
	}, []string{"resource"}))
	errs[2] = err
	failures, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interpret_configuration_read_failures_total",
		Help: "How often the API server could not be read.",
	}, []string{"resource"}))
	errs[3] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return &metrics{
		step:     step.WithLabelValues(resource),
		valid:    objects.WithLabelValues(resource, "valid"),
		invalid:  objects.WithLabelValues(resource, "invalid"),
		changes:  changes.WithLabelValues(resource),
		failures: failures.WithLabelValues(resource),
	}, nil
}

func (m *metrics) inStep(yes bool) {
	switch {
	case m == nil:
	case yes:
		m.step.Set(1)
	default:
		m.step.Set(0)
	}
}

func (m *metrics) count(valid, invalid int) {
	if m != nil {
		m.valid.Set(float64(valid))
		m.invalid.Set(float64(invalid))
	}
}

func (m *metrics) change() {
	if m != nil {
		m.changes.Inc()
	}
}

func (m *metrics) failure() {
	if m != nil {
		m.failures.Inc()
	}
}
