package teacher

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"kviz/tui/class"
	"kviz/tui/keymap"
)

// board is all students, a row for each and a column for each beat. It belongs to the notes.
type board struct {
	name string // the student that is chosen; "" is the first
	top  int    // the first row that is seen
	page int    // how many rows are
	hint line   // a hint is chosen or typed for the student
}

// The keys that only the board has.
var (
	upKey     = bind(1, "up", "student", "The student above.", "up", "k")
	downKey   = bind(0, "down", "student", "The student below.", "down", "j")
	lookKey   = bind(2, "look in", "look in", "Look at the student's screen, if they let you.", "enter")
	sendKey   = bind(3, "send", "send hint", "Send the student a hint.", "s")
	exportKey = bind(6, "export", "export", "Write what the class has done into two files, CSV and JSON.", "E")
	shutKey   = bind(7, "shut", "notes", "Back to the notes.", "B", "esc")
	firstKey  = bind(0, "first", "first", "The first student.", "home", "g")
	finalKey  = bind(0, "last", "last", "The last student.", "end")
)

var boardKeys = []keymap.Binding{upKey, downKey, lookKey, sendKey, exportKey, shutKey, firstKey, finalKey}

// BoardKeys are the keys of the board, for the help.
func BoardKeys() []keymap.Binding { return append([]keymap.Binding{}, boardKeys...) }

// chosen is the student that is chosen, and at which place; false where there is none.
func (b *board) chosen(st *class.State) (seat class.Seat, at int, ok bool) {
	if len(st.Seats) == 0 {
		return class.Seat{}, 0, false
	}
	at = max(slices.IndexFunc(st.Seats, func(s class.Seat) bool { return s.Name == b.name }), 0)
	return st.Seats[at], at, true
}

// key does what a key does on the board; ours reports whether it is the board's.
func (b *board) key(n *Notes, k tea.KeyPressMsg) (cmd tea.Cmd, ours bool) {
	seat, at, some := b.chosen(n.room)
	if b.hint.on {
		b.sends(n, seat.Name, k)
		return nil, true
	}
	move := func(to int) {
		if some {
			b.name = n.room.Seats[max(0, min(to, len(n.room.Seats)-1))].Name
		}
	}
	switch keymap.Action(k, boardKeys) {
	case upKey.Action:
		move(at - 1)
	case downKey.Action:
		move(at + 1)
	case firstKey.Action:
		move(0)
	case finalKey.Action:
		move(len(n.room.Seats) - 1)
	case shutKey.Action:
		n.board = nil
	case exportKey.Action:
		n.notice = ""
		return n.export(), true
	case sendKey.Action:
		b.hint = line{on: some}
	case lookKey.Action:
		n.notice = ""
		if n.cfg.LookInto != nil && some {
			return n.looksInto(seat.Name), true
		}
	default:
		return nil, false
	}
	n.notice = ""
	return nil, true
}

// sends is a key while a hint is chosen: a digit on an empty line takes one of the beat's own, anything else types one.
func (b *board) sends(n *Notes, name string, k tea.KeyPressMsg) {
	if hints := n.hints(name); b.hint.String() == "" && len(k.Text) == 1 && k.Text[0] >= '1' && int(k.Text[0]-'1') < len(hints) {
		b.hint = line{}
		n.sent(name, hints[k.Text[0]-'1'])
		return
	}
	if text, whole := b.hint.key(k); whole && text != "" {
		n.sent(name, text)
	}
}

func (n *Notes) sent(name, text string) {
	n.cfg.Room.Hint(name, text)
	n.notice = "sent to " + name
}

// hints are what the beat that a student is in has to say.
func (n *Notes) hints(name string) []string {
	seat, ok := n.room.Seat(name)
	if !ok || n.cfg.Hints == nil {
		return nil
	}
	all := n.cfg.Hints(seat.Beat)
	return all[:min(len(all), mostHints)]
}

// mostHints is how many have a digit and a row.
const mostHints = 3
