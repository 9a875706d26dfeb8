package luakube

import (
	"testing"
)

func BenchmarkCall(b *testing.B) {
	e, err := New()
	if err != nil {
		b.Fatal(err)
	}
	s, err := e.Compile("p/h", `function InterpretHealth(o) return o.status.observedGeneration == o.metadata.generation and o.status.readyReplicas > 1 end`, "InterpretHealth")
	if err != nil {
		b.Fatal(err)
	}
	obj := map[string]any{"metadata": map[string]any{"generation": int64(3)}, "status": map[string]any{"observedGeneration": int64(3), "readyReplicas": int64(2)}}
	var h any
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.Call(b.Context(), &Call{Args: []any{obj}, Rets: []Ret{{Into: probe{&h}}}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

type probe struct{ v *any }

func (p probe) UnmarshalValue(v any) error { *p.v = v; return nil }
