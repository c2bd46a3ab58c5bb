package apply

import "github.com/tidwall/btree"

// messages are marshalled ones by name, copied in constant time: a [btree.Map], behind an
// interface so that the packages that import this one do not each compile its methods again.
type messages interface {
	Len() int
	Get(name string) ([]byte, bool)
	Set(name string, message []byte) (replaced []byte, had bool)
	Delete(name string) (deleted []byte, had bool)
	Scan(visit func(name string, message []byte) bool)
	Copy() messages
}

type named struct{ *btree.Map[string, []byte] }

// Copy is messages.
func (n named) Copy() messages { return named{n.Map.Copy()} }

//go:noinline
func newMessages() messages { return named{new(btree.Map[string, []byte])} }
