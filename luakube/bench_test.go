package luakube_test

import "testing"

func BenchmarkCall(b *testing.B) {
	for name, source := range map[string]string{
		"nothing":   `return 1`,
		"reading":   `return o.spec.replicas == o.metadata.generation and o.spec.template.spec.containers[1].image == "nginx"`,
		"changing":  `o.spec.replicas = 5 return o`,
		"iterating": `local n = 0 for _, c in ipairs(o.spec.template.spec.containers) do for _, e in ipairs(c.env) do n = n + #e.name end end return n`,
		"protected": `return pcall(error, "x")`,
		"searching": `return (string.gsub("registry/image:tag", "^(.-)/(.-):(.-)$", "%2"))`,
	} {
		b.Run(name, func(b *testing.B) {
			s, o := compile(b, newEngine(b), source), deployment(100)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := call(b, s, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
