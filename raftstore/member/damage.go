package member

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
)

// Damage is what happens to a member's log file while the member is down.
type Damage string

// The kinds of damage.
const (
	MetaZeroed  Damage = "meta"     // the newer of bbolt's two meta pages is zeroes: bbolt would open the file with the last write missing
	MetasZeroed Damage = "metas"    // both are
	Truncated   Damage = "truncate" // the file is cut in half
	MiddleZero  Damage = "middle"   // a page in the middle is zeroes
	Flipped     Damage = "flip"     // single bits are flipped here and there
	Emptied     Damage = "empty"    // the file has no bytes: bbolt would begin a new one, with all votes forgotten
)

// Damages are all kinds.
var Damages = []Damage{MetaZeroed, MetasZeroed, Truncated, MiddleZero, Flipped, Emptied}

// Corrupt damages the log file of the member, which must be down.
func (m *Member) Corrupt(what Damage) error {
	m.lifecycle.Lock()
	defer m.lifecycle.Unlock()
	if m.Up() {
		return fmt.Errorf("member %s is running: it would write over the damage", m.cfg.ID)
	}
	path := m.path(logFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, err)
	}
	if data, err = what.do(data); err != nil {
		return fmt.Errorf("member %s: %s: %w", m.cfg.ID, path, err)
	}
	// What the next start will say of the file is what counts.
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("member %s: %w", m.cfg.ID, err)
	}
	if err := inspect(path); err != nil {
		m.reason.Store(fmt.Errorf("member %s: %s %w", m.cfg.ID, path, err).Error())
	}
	return nil
}

// do damages the bytes of a file.
func (d Damage) do(data []byte) ([]byte, error) {
	f := &boltFile{data: data}
	newest, err := f.metas()
	if err == nil {
		err = f.check()
	}
	if err != nil && d != Truncated && d != Emptied {
		return nil, fmt.Errorf("it is damaged already: %w", err)
	}
	page := func(id uint64) []byte { return data[id*f.size : (id+1)*f.size] }
	switch d {
	case MetaZeroed:
		clear(page(newest.txid % 2))
	case MetasZeroed:
		clear(page(0))
		clear(page(1))
	case Truncated:
		return data[:len(data)/2], nil
	case MiddleZero:
		clear(page(f.tree[len(f.tree)/2]))
	case Flipped:
		// The same file is damaged in the same way.
		r := rand.New(rand.NewPCG(uint64(len(data)), newest.txid))
		for _, id := range f.tree {
			b := page(id)
			b[pageHeader+r.IntN(len(b)-pageHeader)] ^= 1 << r.IntN(8)
			b[r.IntN(pageHeader-4)] ^= 1 << r.IntN(8) // in the header
		}
	case Emptied:
		return nil, nil
	default:
		return nil, errors.New("there is no damage " + string(d))
	}
	return data, nil
}
