package door

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/text/unicode/norm"
)

// maxName is how wide a name may be, in columns.
const maxName = 12

// Clean is a name as it may stand on everybody's screen: letters, digits and -_. in at most 12 columns. Control and
// escape sequences, what has no width or turns the direction of writing, symbols and emoji are left out. What is left
// of a name that has nothing else is empty.
func Clean(typed string) string {
	// Nobody's name is longer, and what follows costs by its length. Compatibility forms ("ｍｉｒａ") look like others.
	name := norm.NFKC.String(ansi.Strip(strings.ToValidUTF8(typed[:min(len(typed), 256)], "")))
	var b strings.Builder
	marks := maxMarks // none before the first letter
	for _, r := range name {
		switch {
		case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r): // letters that nobody sees
		case unicode.IsLetter(r), unicode.IsDigit(r):
			marks = 0
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Mc, r):
			if marks++; marks <= maxMarks {
				b.WriteRune(r)
			}
		case unicode.IsSpace(r), r == '-':
			marks = maxMarks
			if !strings.HasSuffix(b.String(), "-") {
				b.WriteRune('-')
			}
		case r == '_', r == '.':
			marks = maxMarks
			b.WriteRune(r)
		}
	}
	// A mark may stand on another letter now: "A!" with an accent on the mark of exclamation.
	return cut(strings.Trim(norm.NFKC.String(b.String()), "-_."), maxName)
}

// maxMarks is how many marks a letter may have: Vietnamese and Devanagari need two.
const maxMarks = 2

// cut is as much of a name as fits.
func cut(name string, columns int) string {
	return strings.TrimRight(ansi.Truncate(name, columns, ""), "-_.")
}

// names knows who is called what, for as long as the door is open. A name stays its visitor's when the
// connection breaks: the answers and the run that hang on it do too.
type names struct {
	mu       sync.Mutex
	claims   map[string]*claim // by the name as it is compared
	order    []*claim          // oldest first
	reserved map[string]bool
}

// keptNames is how many names are remembered; beyond that the oldest that nobody bears is free again.
const keptNames = 1000

// claim is a name with what shows that a visitor is the one who has it.
type claim struct {
	name string
	word string // shown to the visitor
	key  string // the fingerprint of the visitor's key; empty if there was none
	addr string

	turn chan struct{} // one terminal at a time is used under a name: who holds it has put something in

	names   *names
	callers []*caller // under this name, oldest first
}

func newNames(reserved []string) *names {
	n := &names{claims: map[string]*claim{}, reserved: map[string]bool{}}
	for _, r := range reserved {
		n.reserved[compared(Clean(r))] = true
	}
	return n
}

// compared is a name as it is compared with others.
func compared(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// splitUser is an SSH user as a name and the word of an earlier visit: "mira+otter-17".
func splitUser(user string) (name, word string) {
	user = user[:min(len(user), 512)]
	if i := strings.LastIndexByte(user, '+'); i >= 0 {
		return user[:i], plainCode(user[i+1:])
	}
	return user, ""
}

// taken reports whether a name is somebody else's.
func (n *names) taken(name, key, addr string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.claims[compared(Clean(name))]
	return c != nil && !c.isOf(key, "", addr)
}

// knows reports whether a name has this word.
func (n *names) knows(name, word string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.claims[compared(Clean(name))]
	return c != nil && sameCode(word, c.word)
}

// isOf reports whether a caller is the one who has the name: by the same key, by the word, or, where there was no
// key, by coming from the same address after the earlier connection has ended. The last is for the students whose
// network broke off; a neighbour behind the same address could claim it too, and gets no more than the name.
func (c *claim) isOf(key, word, addr string) bool {
	switch {
	case word != "" && sameCode(word, c.word):
		return true
	case c.key != "":
		return key == c.key
	}
	return len(c.callers) == 0 && addr == c.addr
}

// take gives a caller the name that is wanted, or one like it where that is somebody else's. It answers the
// sentence to turn the caller away with, if two are in under that name.
func (n *names) take(want, key, word string, c *caller) (cl *claim, no string) {
	want = Clean(want)
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := 1; cl == nil; i++ {
		name := numbered(want, i)
		as := compared(name)
		old := n.claims[as]
		switch {
		case n.reserved[as]:
		case old == nil:
			cl = n.add(&claim{name: name, word: newWord(), key: key, addr: c.addr, turn: make(chan struct{}, 1), names: n})
		case old.isOf(key, word, c.addr):
			cl = old
			if cl.key == "" {
				cl.key = key
			}
		}
	}
	if len(cl.callers) >= maxUnderOneName {
		return nil, "You are in twice already, as " + cl.name + ". Close one of those terminals first."
	}
	cl.callers = append(cl.callers, c)
	return cl, ""
}

// maxUnderOneName is one that is in, and one that takes its place.
const maxUnderOneName = 2

// numbered is a name for the i-th who wants it.
func numbered(want string, i int) string {
	switch {
	case want == "":
		return "guest-" + strconv.Itoa(i)
	case i == 1:
		return want
	}
	suffix := "-" + strconv.Itoa(i)
	return cut(want, maxName-utf8.RuneCountInString(suffix)) + suffix
}

func (n *names) add(c *claim) *claim {
	n.claims[compared(c.name)] = c
	n.order = append(n.order, c)
	for i, old := range n.order {
		if len(n.order) <= keptNames {
			break
		}
		if len(old.callers) == 0 && old != c {
			delete(n.claims, compared(old.name))
			n.order = append(n.order[:i], n.order[i+1:]...)
			break
		}
	}
	return c
}

// others are the callers under a name that came before one.
func (c *claim) others(than *caller) (others []*caller) {
	c.names.mu.Lock()
	defer c.names.mu.Unlock()
	for _, o := range c.callers {
		if o == than {
			break
		}
		others = append(others, o)
	}
	return others
}

func (c *claim) leave(of *caller) {
	c.names.mu.Lock()
	defer c.names.mu.Unlock()
	for i, o := range c.callers {
		if o == of {
			c.callers = append(c.callers[:i], c.callers[i+1:]...)
			return
		}
	}
}
