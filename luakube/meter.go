package luakube

import (
	"context"
	"fmt"
	"time"
)

// The price list of memory, in bytes. Prices are upper bounds of what the engine's own structures take on a
// 64-bit machine, so that the budget is a promise; a plain table of a few keys costs about what is charged.
const (
	priceTable   = 192 // the table and its first hash group
	priceEntry   = 128 // a hash entry with its place in the key order, or a list slot with a boxed number
	priceClosure = 256 // a function made at run time, with its captured variables
	priceSlot    = 40  // an empty slot of a list, which grows by copying
	priceString  = 32  // the header of a string and its box
)

// clockEvery is how many counted instructions may pass between two looks at the clock. The slowest single
// instruction, measuring a list made of millions of removed elements, takes milliseconds.
const clockEvery = 64

// timeless is how many instructions take no time worth a look at the clock, a tenth of a millisecond or so. Where
// a second has passed by then, the machine had no CPU to spare, and the script, which most likely is about to end, is not
// to blame for it.
const timeless = 1000

// bytesPerStep is how many bytes a library function handles for the price of one instruction.
const bytesPerStep = 16

// meter counts what one call uses and stops it at its limits. It stands in for the context of the Lua
// machine, which asks Done before every instruction: counting there makes the count exact, and the same in
// every run.
type meter struct {
	parent       context.Context
	limits       Limits
	start        time.Time
	waited       bool // for somebody else, so that time passes without instructions
	instructions int64
	memory       int64
	next         int64 // the count at which to look again
	stopped      error // why the call must end; it stays, so catching errors does not help
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (m *meter) reset(ctx context.Context, limits Limits) {
	*m = meter{parent: ctx, limits: limits, start: time.Now(), next: 0}
}

// Done counts an instruction. A nil channel never is ready, and asking it is free.
func (m *meter) Done() <-chan struct{} {
	m.instructions++
	if m.instructions >= m.next && m.look() != nil {
		return closed
	}
	return nil
}

// Err is why the call must end.
func (m *meter) Err() error { return m.stopped }

// Deadline is unknown: the meter, not a timer, ends the call.
func (m *meter) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value asks the caller's context.
func (m *meter) Value(key any) any { return m.parent.Value(key) }

// look compares what was used with the limits.
func (m *meter) look() error {
	if m.stopped != nil {
		return m.stopped
	}
	switch {
	case m.instructions > m.limits.Instructions:
		m.stop(limitInstructions, fmt.Sprintf("%d instructions", m.limits.Instructions))
	case m.parent.Err() != nil:
		m.stopped, m.next = context.Cause(m.parent), 0
	case (m.instructions > timeless || m.waited) && time.Since(m.start) > m.limits.Time:
		m.stop(limitTime, m.limits.Time.String())
	default:
		m.next = min(m.instructions+clockEvery, m.limits.Instructions+1)
	}
	return m.stopped
}

func (m *meter) stop(limit, most string) {
	m.stopped, m.next = &LimitError{Limit: limit, Max: most, All: m.limits}, 0
}

// steps charges instructions for work done outside the machine.
func (m *meter) steps(n int) error {
	m.instructions += int64(n)
	if m.instructions >= m.next {
		return m.look()
	}
	return nil
}

// alloc charges memory before it is allocated.
func (m *meter) alloc(n int) error {
	m.memory += int64(n)
	if m.memory > m.limits.Memory && m.stopped == nil {
		m.stop(limitMemory, bytesString(m.limits.Memory)+" of memory")
	}
	return m.stopped
}
