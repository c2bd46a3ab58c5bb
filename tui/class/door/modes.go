package door

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// modes follows what is written to a terminal, so that a terminal that was left in the midst of a program is brought back:
// the alternate screen, the mouse, bracketed paste, a hidden cursor, the keyboard.
type modes struct {
	sequence []byte // the control sequence that is being read, after its introducer
	state    byte   // 0 text, 1 after ESC, 2 in a control sequence
	on       []int  // private modes that are set, and are not in a terminal at rest
	off      []int  // those that are not set, and are in a terminal at rest
	keyboard int    // how many keyboards were pushed
	modified bool   // keys come with their modifiers
}

// cancel (CAN) ends a control sequence.
const cancel = 0x18

// maxSequence is longer than any sequence that is looked for.
const maxSequence = 64

func (m *modes) see(b byte) {
	switch {
	case b == 0x1b:
		m.state = 1
	case b == cancel:
		m.state = 0
	case m.state == 1 && b == '[':
		m.state, m.sequence = 2, m.sequence[:0]
	case m.state == 1:
		m.state = 0
	case m.state == 2 && b >= 0x40 && b <= 0x7e:
		m.state = 0
		m.control(b)
	case m.state == 2:
		if m.sequence = append(m.sequence, b); len(m.sequence) > maxSequence {
			m.state = 0
		}
	}
}

func (m *modes) control(final byte) {
	if len(m.sequence) == 0 {
		return
	}
	arguments := m.sequence[1:]
	switch kind := m.sequence[0]; {
	case kind == '?' && (final == 'h' || final == 'l'):
		for a := range bytes.SplitSeq(arguments, []byte{';'}) {
			if mode, err := strconv.Atoi(string(a)); err == nil {
				m.set(mode, final == 'h')
			}
		}
	case kind == '>' && final == 'u':
		m.keyboard++
	case kind == '<' && final == 'u':
		count, err := strconv.Atoi(string(arguments))
		if err != nil || count < 1 {
			count = 1
		}
		m.keyboard = max(0, m.keyboard-count)
	case kind == '>' && final == 'm':
		m.modified = bytes.HasPrefix(arguments, []byte("4;")) && !bytes.Equal(arguments, []byte("4;0"))
	}
}

// usuallyOn are the modes that are set in a terminal at rest: lines wrap, the cursor is shown.
var usuallyOn = []int{7, 25}

// alternate is the alternate screen.
const alternate = 1049

// maxModes is more than a program sets.
const maxModes = 64

func (m *modes) set(mode int, on bool) {
	list := &m.on
	if slices.Contains(usuallyOn, mode) {
		list, on = &m.off, !on
	}
	i := slices.Index(*list, mode)
	switch {
	case on && i < 0 && len(*list) < maxModes:
		*list = append(*list, mode)
	case !on && i >= 0:
		*list = slices.Delete(*list, i, i+1)
	}
}

// back is what brings the terminal back, and is empty if it is as it was. The keyboard comes before the alternate
// screen: terminals keep one for each.
func (m *modes) back() string {
	var b bytes.Buffer
	if m.state != 0 {
		b.WriteByte(cancel) // what was cut off in the midst of a sequence is no part of what follows
	}
	if m.keyboard > 0 {
		fmt.Fprintf(&b, "\x1b[<%du", m.keyboard)
	}
	if m.modified {
		b.WriteString("\x1b[>4;0m")
	}
	for _, mode := range m.on {
		if mode != alternate {
			fmt.Fprintf(&b, "\x1b[?%dl", mode)
		}
	}
	if slices.Contains(m.on, alternate) {
		b.WriteString("\x1b[0m\x1b[?1049l")
	}
	for _, mode := range m.off {
		fmt.Fprintf(&b, "\x1b[?%dh", mode)
	}
	return b.String()
}
