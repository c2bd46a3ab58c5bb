//go:build unix

package member

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"kviz/raftstore/steady"
)

// What a member writes is its owner's: the log, snapshots, and the folders they are in,
// also those that an earlier version left open to everybody.
func TestAMembersFilesAreItsOwners(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		m := solo(t, nil)
		must(t, m.Start(true, ""))
		steady.Until(t, "it leads, and has applied something", func() bool { return m.Leader() != nil && m.Snapshot() == nil })
		open := func() (list []string) {
			must(t, filepath.WalkDir(m.cfg.Dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := e.Info()
				if err == nil && info.Mode().Perm()&0o077 != 0 {
					list = append(list, info.Mode().String()+" "+path)
				}
				return err
			}))
			return list
		}
		if list := open(); list != nil {
			t.Errorf("everybody can read %q", list)
		}
		must(t, m.Stop("to be opened again"))
		states, err := filepath.Glob(filepath.Join(m.cfg.Dir, "snapshots", "*", "state.bin"))
		if err != nil || len(states) == 0 {
			t.Fatalf("snapshots: %v, %v", states, err)
		}
		must(t, os.Chmod(states[0], 0o644))
		must(t, os.Chmod(filepath.Dir(states[0]), 0o755))
		must(t, m.Start(false, ""))
		if list := open(); list != nil {
			t.Errorf("after it started again everybody can read %q", list)
		}
	})
}
