// Command benchtable turns the output of go test -bench -benchmem into a table of medians, measured
// against the benchmark DeepCopy of the same size: time as a multiple of it, allocations beyond it.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
		os.Exit(1)
	}
}

// yardstick is the benchmark that the others are measured against; what follows the slash is the size.
const yardstick = "DeepCopy/"

// benchmark is every measurement of one benchmark, by unit.
type benchmark struct {
	name   string
	values map[string][]float64
}

func (b *benchmark) median(unit string) float64 {
	list := slices.Sorted(slices.Values(b.values[unit]))
	if len(list) == 0 {
		return 0
	}
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

func run(in io.Reader, out io.Writer) error {
	list, err := read(in)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no benchmark results in the input")
	}
	return write(out, list)
}

// procs is the GOMAXPROCS that go test puts behind a name.
var procs = regexp.MustCompile(`-\d+$`)

// read collects the result lines in order of first appearance and passes over everything else.
func read(in io.Reader) ([]*benchmark, error) {
	var list []*benchmark
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		i := slices.IndexFunc(list, func(b *benchmark) bool { return b.name == name })
		if i < 0 {
			i = len(list)
			list = append(list, &benchmark{name: name, values: map[string][]float64{}})
		}
		for pair := range slices.Chunk(fields[2:], 2) {
			value, err := strconv.ParseFloat(pair[0], 64)
			if err != nil || len(pair) != 2 {
				return nil, fmt.Errorf("not a benchmark result: %q", lines.Text())
			}
			list[i].values[pair[1]] = append(list[i].values[pair[1]], value)
		}
	}
	return list, lines.Err()
}

func write(out io.Writer, list []*benchmark) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "benchmark\ttime/op\tbytes/op\tallocs/op\tx DeepCopy\tallocs beyond\tother\t")
	for _, b := range list {
		ratio, beyond := "", ""
		if base := baseOf(list, b); base != nil {
			ratio = fmt.Sprintf("%.2f", b.median("ns/op")/base.median("ns/op"))
			beyond = fmt.Sprintf("%+.0f", b.median("allocs/op")-base.median("allocs/op"))
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t\n", b.name, duration(b.median("ns/op")),
			b.median("B/op"), b.median("allocs/op"), ratio, beyond, b.others())
	}
	return w.Flush()
}

// baseOf is the yardstick whose size is a part of the benchmark's name; nil for the yardsticks themselves.
func baseOf(list []*benchmark, b *benchmark) *benchmark {
	if strings.HasPrefix(b.name, yardstick) {
		return nil
	}
	parts := strings.Split(b.name, "/")
	i := slices.IndexFunc(list, func(y *benchmark) bool {
		size, ok := strings.CutPrefix(y.name, yardstick)
		return ok && slices.Contains(parts, size) && y.median("ns/op") > 0
	})
	if i < 0 {
		return nil
	}
	return list[i]
}

// others are the measurements of a benchmark's own making.
func (b *benchmark) others() string {
	var list []string
	for unit := range b.values {
		if !slices.Contains([]string{"ns/op", "B/op", "allocs/op"}, unit) {
			list = append(list, fmt.Sprintf("%.4g %s", b.median(unit), unit))
		}
	}
	slices.SortFunc(list, cmp.Compare)
	return strings.Join(list, ", ")
}

func duration(ns float64) string {
	d := time.Duration(ns)
	for unit := time.Second; unit >= time.Microsecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return fmt.Sprintf("%.1fns", ns)
}
