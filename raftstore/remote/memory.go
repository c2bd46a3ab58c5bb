package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"kviz/raftstore/durable"
)

// memory is what a member's folder remembers beside its log and snapshots.
type memory struct {
	Name     string
	Cluster  uint64            `json:",omitempty"` // its ID, 0 for FirstCluster
	Peers    map[string]string // addresses by name
	Settings Settings
	// Gone are members that were taken out of the group. Nothing they say counts.
	Gone []string `json:",omitempty"`
	// Removed says that this member was. Its name is not used again.
	Removed bool
	// Begins is the index with which the log of a new disk begins.
	Begins uint64 `json:",omitempty"`
}

// Settings are a member's, as the driver gave them when it started first.
type Settings struct {
	NoSync           bool
	SnapshotEvery    uint64
	SnapshotTrailing uint64
	BcryptCost       int
	AuthToken        string
}

// FirstCluster is the ID of a cluster whose members never got new disks.
const FirstCluster uint64 = 0x6b76697a00000001

func (m *memory) cluster() uint64 {
	if m.Cluster == 0 {
		return FirstCluster
	}
	return m.Cluster
}

const memoryFile = "member.json"

// read reads what a folder remembers.
func (m *memory) read(dir string) error {
	path := filepath.Join(dir, memoryFile)
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// write writes it so that after a crash it is what it was or what it is.
func (m *memory) write(dir string) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, memoryFile), append(b, '\n'), !m.Settings.NoSync)
}

// remember reads what the folder remembers.
func (p *Process) remember() error {
	if err := p.memory.read(p.cfg.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if was := p.memory.Name; was != "" && was != p.cfg.Name {
		return fmt.Errorf("%s is the folder of member %s, not of %s", p.cfg.Dir, was, p.cfg.Name)
	}
	p.memory.Name = p.cfg.Name
	if p.memory.Peers == nil {
		p.memory.Peers = map[string]string{}
	}
	maps.Copy(p.memory.Peers, p.cfg.Peers)
	delete(p.memory.Peers, p.cfg.Name)
	return nil
}

// note writes down what the folder must remember. Call with mu held.
func (p *Process) note() error { return p.memory.write(p.cfg.Dir) }
