package luakube

import (
	"errors"
	"fmt"
)

const (
	// maxCaptures is how many captures a pattern may have, as in Lua 5.1.
	maxCaptures = 32
	// maxMatchDepth bounds the recursion of the matcher. Lua 5.1 has 200 for all calls from C.
	maxMatchDepth = 200
)

// Markers of a capture's length while it is open, and for one that is a position.
const (
	captureOpen     = -1
	capturePosition = -2
)

// matcher matches Lua 5.1 patterns. It counts its steps, so that a pattern can take no more time than the
// script may spend, and bounds its depth.
type matcher struct {
	src, pat string
	meter    *meter
	depth    int
	level    int
	captures [maxCaptures]struct{ start, length int }
}

var errPatternDeep = fmt.Errorf("pattern too complex: it nests deeper than %d", maxMatchDepth)

// match tries the pattern from p at position s. It gives the end of the match, or -1.
func (m *matcher) match(s, p int) (int, error) {
	if m.depth++; m.depth > maxMatchDepth {
		return -1, errPatternDeep
	}
	defer func() { m.depth-- }()
	for p < len(m.pat) {
		if err := m.meter.steps(1); err != nil {
			return -1, err
		}
		switch m.pat[p] {
		case '(':
			if p+1 < len(m.pat) && m.pat[p+1] == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pat) {
				if s == len(m.src) {
					return s, nil
				}
				return -1, nil
			}
		case '%':
			if p+1 < len(m.pat) {
				next, end, done, err := m.special(s, p)
				if err != nil || end {
					return -1, err
				}
				if done {
					s, p = next, p+m.width(p)
					continue
				}
			}
		}
		end, err := m.classEnd(p)
		if err != nil {
			return -1, err
		}
		if err := m.meter.steps((end - p) / bytesPerStep); err != nil {
			return -1, err
		}
		if end < len(m.pat) {
			switch m.pat[end] {
			case '?':
				if s < len(m.src) && m.single(m.src[s], p, end) {
					r, err := m.match(s+1, end+1)
					if err != nil || r >= 0 {
						return r, err
					}
				}
				p = end + 1
				continue
			case '+':
				if s < len(m.src) && m.single(m.src[s], p, end) {
					return m.most(s+1, p, end)
				}
				return -1, nil
			case '*':
				return m.most(s, p, end)
			case '-':
				return m.least(s, p, end)
			}
		}
		if s >= len(m.src) || !m.single(m.src[s], p, end) {
			return -1, nil
		}
		s, p = s+1, end
	}
	return s, nil
}

// special handles %b, %f and back references at p. Done means that it matched, up to next; failed that it
// did not. Neither means that it is a class.
func (m *matcher) special(s, p int) (next int, failed, done bool, err error) {
	switch c := m.pat[p+1]; {
	case c == 'b':
		next, err = m.balanced(s, p+2)
	case c == 'f':
		if p+2 >= len(m.pat) || m.pat[p+2] != '[' {
			return 0, false, false, errors.New("missing '[' after '%f' in pattern")
		}
		end, err := m.classEnd(p + 2)
		if err == nil {
			err = m.meter.steps((end - p) / bytesPerStep)
		}
		if err != nil {
			return 0, false, false, err
		}
		var before, at byte
		if s > 0 {
			before = m.src[s-1]
		}
		if s < len(m.src) {
			at = m.src[s]
		}
		if m.set(before, p+2, end-1) || !m.set(at, p+2, end-1) {
			return 0, true, false, nil
		}
		next = s
	case c >= '0' && c <= '9':
		next, err = m.reference(s, c)
	default:
		return 0, false, false, nil
	}
	return next, next < 0, next >= 0, err
}

// width is how long the special item at p is in the pattern.
func (m *matcher) width(p int) int {
	switch m.pat[p+1] {
	case 'b':
		return 4
	case 'f':
		end, _ := m.classEnd(p + 2)
		return end - p
	}
	return 2
}

func (m *matcher) open(s, p, what int) (int, error) {
	if m.level >= maxCaptures {
		return -1, fmt.Errorf("too many captures, at most %d", maxCaptures)
	}
	m.captures[m.level] = struct{ start, length int }{s, what}
	m.level++
	end, err := m.match(s, p)
	if end < 0 {
		m.level--
	}
	return end, err
}

func (m *matcher) close(s, p int) (int, error) {
	for i := m.level - 1; i >= 0; i-- {
		if m.captures[i].length == captureOpen {
			m.captures[i].length = s - m.captures[i].start
			end, err := m.match(s, p)
			if end < 0 {
				m.captures[i].length = captureOpen
			}
			return end, err
		}
	}
	return -1, errors.New("invalid pattern capture: ')' without '('")
}

// most matches as many single characters as it can, then fewer.
func (m *matcher) most(s, p, end int) (int, error) {
	n := 0
	for s+n < len(m.src) && m.single(m.src[s+n], p, end) {
		if n++; n%4 == 0 {
			// A long set takes as long as a long text.
			if err := m.meter.steps(1 + (end-p)/4); err != nil {
				return -1, err
			}
		}
	}
	for ; n >= 0; n-- {
		r, err := m.match(s+n, end+1)
		if err != nil || r >= 0 {
			return r, err
		}
	}
	return -1, nil
}

// least matches as few single characters as it can, then more.
func (m *matcher) least(s, p, end int) (int, error) {
	for {
		r, err := m.match(s, end+1)
		if err != nil || r >= 0 {
			return r, err
		}
		if s >= len(m.src) || !m.single(m.src[s], p, end) {
			return -1, nil
		}
		if err := m.meter.steps(1 + (end-p)/bytesPerStep); err != nil {
			return -1, err
		}
		s++
	}
}

func (m *matcher) balanced(s, p int) (int, error) {
	if p+1 >= len(m.pat) {
		return -1, errors.New("malformed pattern: %b needs two characters")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1, nil
	}
	begin, end, nested := m.pat[p], m.pat[p+1], 1
	for i := s + 1; i < len(m.src); i++ {
		switch m.src[i] {
		case end:
			if nested--; nested == 0 {
				return i + 1, m.meter.steps((i - s) / 4)
			}
		case begin:
			nested++
		}
	}
	return -1, m.meter.steps((len(m.src) - s) / 4)
}

func (m *matcher) reference(s int, c byte) (int, error) {
	i := int(c - '1')
	if i < 0 || i >= m.level || m.captures[i].length == captureOpen {
		return -1, fmt.Errorf("invalid capture index %%%c", c)
	}
	if m.captures[i].length == capturePosition {
		return -1, nil
	}
	text := m.src[m.captures[i].start : m.captures[i].start+m.captures[i].length]
	if len(m.src)-s < len(text) {
		return -1, nil
	}
	if err := m.meter.steps(len(text) / bytesPerStep); err != nil {
		return -1, err
	}
	if m.src[s:s+len(text)] == text {
		return s + len(text), nil
	}
	return -1, nil
}

// classEnd is where the single character item that starts at p ends.
func (m *matcher) classEnd(p int) (int, error) {
	c := m.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pat) {
			return 0, errors.New("malformed pattern: it ends with '%'")
		}
		return p + 1, nil
	case '[':
		if p < len(m.pat) && m.pat[p] == '^' {
			p++
		}
		for first := true; first || p >= len(m.pat) || m.pat[p] != ']'; first = false {
			if p >= len(m.pat) {
				return 0, errors.New("malformed pattern: missing ']'")
			}
			if m.pat[p] == '%' {
				p++
			}
			p++
		}
		return p + 1, nil
	}
	return p, nil
}

// single says whether a character matches the item from p to end.
func (m *matcher) single(c byte, p, end int) bool {
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return class(c, m.pat[p+1])
	case '[':
		return m.set(c, p, end-1)
	}
	return m.pat[p] == c
}

// set says whether a character is in the set whose '[' is at p and whose ']' is at end.
func (m *matcher) set(c byte, p, end int) bool {
	in := true
	p++
	if m.pat[p] == '^' {
		in = false
		p++
	}
	for ; p < end; p++ {
		switch {
		case m.pat[p] == '%':
			p++
			if p < end && class(c, m.pat[p]) {
				return in
			}
		case p+2 < end && m.pat[p+1] == '-':
			if m.pat[p] <= c && c <= m.pat[p+2] {
				return in
			}
			p += 2
		case m.pat[p] == c:
			return in
		}
	}
	return !in
}

// class says whether a character is in a class such as %a; a capital turns it round, and what is no class
// stands for itself.
func class(c, name byte) bool {
	lower := name | 0x20
	var in bool
	switch lower {
	case 'a':
		in = letter(c)
	case 'c':
		in = c < 0x20 || c == 0x7f
	case 'd':
		in = digit(c)
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 0x20 && c < 0x7f && !letter(c) && !digit(c)
	case 's':
		in = c == ' ' || c >= '\t' && c <= '\r'
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = letter(c) || digit(c)
	case 'x':
		in = digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	case 'z':
		in = c == 0
	default:
		return c == name
	}
	if !letter(name) {
		return c == name
	}
	return in == (name == lower)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// find looks for the pattern from init on. It gives the place of the first match, or -1.
func (m *matcher) find(init int) (start, end int, err error) {
	p, anchored := 0, false
	if len(m.pat) > 0 && m.pat[0] == '^' {
		p, anchored = 1, true
	}
	for s := init; ; s++ {
		m.level = 0
		e, err := m.match(s, p)
		if err != nil {
			return -1, -1, err
		}
		if e >= 0 {
			return s, e, m.closedAll()
		}
		if anchored || s >= len(m.src) {
			return -1, -1, nil
		}
	}
}

func (m *matcher) closedAll() error {
	for i := range m.level {
		if m.captures[i].length == captureOpen {
			return errors.New("unfinished capture: '(' without ')'")
		}
	}
	return nil
}
