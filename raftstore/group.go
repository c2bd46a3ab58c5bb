package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kviz/raftstore/durable"
	"kviz/raftstore/member"
	"kviz/raftstore/remote"
)

// groupFile is what the store itself records beside the members' folders. Who belongs
// to the group is in the members' logs.
const groupFile = "group.json"

// ClusterID is the ID of a group that was not made by [Replicated.Rebuild].
const ClusterID = remote.FirstCluster

// groupFacts is the contents of the file.
type groupFacts struct {
	// ClusterID is the cluster's ID in response headers, in hexadecimal.
	ClusterID string `json:"cluster_id"`
	// Named is how many names were given to members. None is given twice.
	Named int `json:"named"`
	// Born says that every first member was started once. Before that nothing can have
	// been acknowledged, and an interrupted start starts over.
	Born bool `json:"born"`
	// Survivor is the member from whose data alone the group is about to go on.
	Survivor string `json:"survivor,omitempty"`
	// Exchange says that the new disks beside the members' folders are about to
	// take their places.
	Exchange bool `json:"exchange,omitempty"`
}

// nameOfNew is the member for whom a new disk was made.
func nameOfNew(folder string) (id string, ok bool) {
	id, ok = strings.CutSuffix(folder, member.NewSuffix)
	return id, ok && memberNumber(id) >= 0
}

func (f groupFacts) id() (uint64, error) {
	id, err := strconv.ParseUint(f.ClusterID, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("cluster_id is %q, not a number in hexadecimal", f.ClusterID)
	}
	return id, nil
}

// ClusterID is the cluster's ID in response headers. Rebuild changes it.
func (ms *membership) ClusterID() uint64 { return ms.clusterID.Load() }

// readGroup reads the file and finds the members' folders. fresh says that there
// is no group yet.
func (ms *membership) readGroup() (f groupFacts, folders []string, fresh bool, err error) {
	path := filepath.Join(ms.dir, groupFile)
	data, err := os.ReadFile(path)
	there := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, nil, false, fmt.Errorf("raftstore: %w", err)
	}
	f = groupFacts{ClusterID: strconv.FormatUint(ClusterID, 16), Born: !there}
	if there {
		if err := json.Unmarshal(data, &f); err != nil {
			return f, nil, false, fmt.Errorf("raftstore: %s is damaged: %w", path, err)
		}
		if _, err := f.id(); err != nil {
			return f, nil, false, fmt.Errorf("raftstore: %s is damaged: %w", path, err)
		}
	}
	if err := ms.finish(&f); err != nil {
		return f, nil, false, err
	}
	if folders, err = ms.folders(); err != nil {
		return f, nil, false, err
	}
	for _, id := range folders {
		f.Named = max(f.Named, memberNumber(id)+1)
	}
	switch {
	case there && !f.Born:
		for _, id := range folders {
			if err := os.RemoveAll(ms.dirOf(id)); err != nil {
				return f, nil, false, fmt.Errorf("raftstore: %w", err)
			}
		}
		return f, nil, true, nil
	case there && len(folders) == 0:
		return f, nil, false, fmt.Errorf("raftstore: %s holds no member's log, though a store was made there; without any log nothing of it can be known", ms.dir)
	}
	return f, folders, len(folders) == 0, nil
}

// finish completes what a process was in the middle of when it died, and removes what
// it had only prepared.
func (ms *membership) finish(f *groupFacts) error {
	if f.Exchange {
		return ms.finishExchange(f)
	}
	entries, err := os.ReadDir(ms.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("raftstore: %w", err)
	}
	for _, e := range entries {
		_, isNew := nameOfNew(e.Name())
		gone := f.Survivor != "" && f.Survivor != e.Name() && memberNumber(e.Name()) >= 0
		if path := filepath.Join(ms.dir, e.Name()); e.IsDir() && (isNew || gone) && ofAMember(path) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("raftstore: %w", err)
			}
		}
	}
	return nil
}

// ofAMember says whether a folder holds what a member writes. Others may have folders
// beside the members', and short names are anybody's.
func ofAMember(dir string) bool {
	there, _ := member.Exists(dir) // what cannot be read is left alone
	if info, err := os.Stat(filepath.Join(dir, "snapshots")); err == nil && info.IsDir() {
		there = true
	}
	return there
}

// folders are the names of those members that have a log, in order of joining.
func (ms *membership) folders() (list []string, err error) {
	entries, err := os.ReadDir(ms.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("raftstore: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || memberNumber(e.Name()) < 0 {
			continue
		}
		ok, err := member.Exists(ms.dirOf(e.Name()))
		if err != nil {
			return nil, fmt.Errorf("raftstore: %w", err)
		}
		if ok {
			list = append(list, e.Name())
		}
	}
	slices.SortFunc(list, byName)
	return list, nil
}

func (ms *membership) dirOf(id string) string { return filepath.Join(ms.dir, id) }

// writeGroup writes the file so that after a crash it is the old one or the new.
func (ms *membership) writeGroup(f groupFacts) error {
	data, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	if err := os.MkdirAll(ms.dir, 0o700); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	path := filepath.Join(ms.dir, groupFile)
	if err := durable.Replace(path, append(data, '\n'), ms.sync); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return nil
}

// syncDir makes what was created, renamed or deleted in the store's folder durable.
func (ms *membership) syncDir() error {
	if !ms.sync {
		return nil
	}
	if err := durable.Dir(ms.dir); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return nil
}
