package luakube

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const (
	// maxProtected bounds protected calls inside each other, each of which takes a stack of its own.
	maxProtected = 100
	// leastSlots and leastDepth are the room of the innermost protected calls. From the outside in, each has
	// half the room of the one around it.
	leastSlots = 1 << 13
	leastDepth = 100
)

// thread is the Lua thread of protected calls at the present depth. It is kept for the next one.
func (m *vm) thread(l *lua.LState) *lua.LState {
	depth := len(m.protecting)
	if depth >= maxProtected {
		l.RaiseError("stack overflow")
	}
	if depth < len(m.threads) {
		return m.threads[depth]
	}
	// Making a thread asks the context, which would count as an instruction, in some runs only.
	m.main.RemoveContext()
	m.main.Options.RegistryMaxSize = max(stackSlots>>depth, leastSlots)
	m.main.Options.CallStackSize = max(callDepth>>depth, leastDepth)
	// A call stack that grows ends in a panic, which does not detach captured variables.
	m.main.Options.MinimizeStackMemory = false
	t, _ := m.main.NewThread()
	m.main.SetContext(&m.meter)
	t.SetContext(&m.meter)
	m.threads = append(m.threads, t)
	return t
}

// protect calls a function with the last so many values of l, and pushes its results, or what was raised, on
// l. It gives how many those are.
//
// The call runs in a thread of its own. The engine detaches the captured variables of all functions that are
// active in the thread where an error is raised; those outside of the protected call live on and must keep
// theirs.
func (m *vm) protect(l *lua.LState, fn lua.LValue, args int) (n int, ok bool) {
	t := m.thread(l)
	t.SetTop(0)
	t.Push(fn)
	for i := l.GetTop() - args + 1; i <= l.GetTop(); i++ {
		t.Push(l.Get(i))
	}
	m.protecting = append(m.protecting, m.state)
	m.state = t
	err := t.PCall(args, lua.MultRet, nil)
	last := len(m.protecting) - 1
	m.state, m.protecting = m.protecting[last], m.protecting[:last]
	if err == nil {
		n = t.GetTop()
		for i := 1; i <= n; i++ {
			l.Push(t.Get(i))
		}
		return n, true
	}
	m.must(m.meter.stopped)
	var api *lua.ApiError
	if !errors.As(err, &api) || api.Type != lua.ApiErrorRun {
		// Not the script's doing, so nobody knows what is left in the thread.
		m.threads = m.threads[:last]
		m.broken = true
		message := err.Error()
		if api != nil {
			message = api.Object.String()
		}
		l.Push(m.text("internal error: " + message))
		return 1, false
	}
	raised := api.Object
	if s, isText := raised.(lua.LString); isText {
		m.chargeText(len(s))
		if f, ok := fn.(*lua.LFunction); ok && f.IsG {
			// Where no script has a line to blame, the engine leaves its place empty.
			raised = lua.LString(strings.TrimPrefix(string(s), " "))
		}
	}
	l.Push(raised)
	return 1, false
}

func basePcall(m *vm, l *lua.LState) int {
	n, ok := m.protect(l, l.CheckAny(1), l.GetTop()-1)
	l.Insert(lua.LBool(ok), l.GetTop()-n+1)
	return n + 1
}

// baseXpcall calls the handler when the error has been caught: there is no stack for it to look at.
func baseXpcall(m *vm, l *lua.LState) int {
	fn, handler := l.CheckFunction(1), l.CheckFunction(2)
	n, ok := m.protect(l, fn, 0)
	if !ok {
		n, _ = m.protect(l, handler, n)
	}
	l.Insert(lua.LBool(ok), l.GetTop()-n+1)
	return n + 1
}
