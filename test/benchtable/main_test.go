package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	in := `goos: linux
pkg: example.com/declarative
BenchmarkDeclarative/InterpretHealth/small-2   	   50000	     23456 ns/op	    5000 B/op	      55 allocs/op
BenchmarkDeclarative/InterpretHealth/small-2   	   50000	     20000 ns/op	    5000 B/op	      57 allocs/op
BenchmarkDeclarative/InterpretHealth/small-2   	   50000	     90000 ns/op	    5000 B/op	      56 allocs/op
BenchmarkDeclarative/AggregateStatus/large/100members-2   	   300	   2000000 ns/op	    9000 B/op	    3100 allocs/op	  7.50 steps/op
BenchmarkLookup-2   	   300	   12.34 ns/op	    0 B/op	    0 allocs/op
PASS
ok  	example.com/declarative	1.2s
pkg: example.com/interpreter
BenchmarkDeepCopy/small-2   	   50000	     10000 ns/op	    6000 B/op	      60 allocs/op
BenchmarkDeepCopy/large-2   	     500	   1000000 ns/op	  600000 B/op	    3000 allocs/op
`
	want := `
                                        benchmark  time/op  bytes/op  allocs/op  x DeepCopy  allocs beyond         other
               Declarative/InterpretHealth/small  23.46µs      5000         56        2.35             -4
    Declarative/AggregateStatus/large/100members      2ms      9000       3100        2.00           +100  7.5 steps/op
                                          Lookup   12.3ns         0          0
                                  DeepCopy/small     10µs      6000         60
                                  DeepCopy/large      1ms    600000       3000
`
	var out strings.Builder
	require.NoError(t, run(strings.NewReader(in), &out))
	assert.Equal(t, words(want), words(out.String()))
}

func TestNoTableWithoutResults(t *testing.T) {
	require.ErrorContains(t, run(strings.NewReader("PASS\nok  \texample.com\t0.1s\n"), &strings.Builder{}), "no benchmark results")
}

// words splits a table into lines of words: how wide a column is does not matter.
func words(table string) [][]string {
	var lines [][]string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}
