package view_test

import (
	"fmt"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// storageLog folds calls of the storage driver.
type storageLog struct {
	b  *view.Builder
	at time.Duration
	n  uint64
}

func (l *storageLog) call(c trace.StorageCall) {
	l.n++
	l.at += time.Second
	l.b.Apply(&trace.Event{ID: trace.ID{Seq: l.n}, At: l.at, Kind: trace.CSICall, Object: trace.Ref{Kind: "PersistentVolumeClaim", Namespace: "demo", Name: "data"}, Payload: &c})
}

func calls(d *view.StorageDisk) (all []string) {
	for _, c := range d.Calls {
		text := c.Call
		if c.Error != "" {
			text += " ✗"
		}
		all = append(all, text)
	}
	return all
}

// A call that makes no disk is kept until one is made, and then it is the disk's; what was asked about a disk is kept when
// the disk is deleted.
func TestCallsOfDisksThatAreNotThere(t *testing.T) {
	l := &storageLog{b: view.NewBuilder()}
	l.call(trace.StorageCall{Call: "CreateVolume", Name: "pvc-1", Error: "no room"})
	l.call(trace.StorageCall{Call: "CreateVolume", Name: "pvc-1", Error: "no room"})
	before := l.b.Mark()
	if all := before.Unmade(); len(all) != 1 || all[0].Volume != "pvc-1" || all[0].For.Name != "data" || fmt.Sprint(calls(all[0])) != "[CreateVolume ✗ CreateVolume ✗]" {
		t.Fatalf("what could not be made: %+v", all)
	}
	l.call(trace.StorageCall{Call: "CreateVolume", Name: "pvc-1", Result: "disk-1", Arg: "1Gi"})
	if s := l.b.Mark(); len(s.Unmade()) != 0 || fmt.Sprint(calls(s.Disk("disk-1"))) != "[CreateVolume ✗ CreateVolume ✗ CreateVolume]" {
		t.Fatalf("made: %+v, %+v", s.Unmade(), s.Disk("disk-1"))
	}
	l.call(trace.StorageCall{Call: "DeleteVolume", Volume: "disk-1", Error: "in use"})
	l.call(trace.StorageCall{Call: "DeleteVolume", Volume: "disk-1"})
	s := l.b.Mark()
	if d := s.Disk("disk-1"); d == nil || !d.Gone || fmt.Sprint(calls(d)) != "[CreateVolume ✗ CreateVolume ✗ CreateVolume DeleteVolume ✗ DeleteVolume]" || len(s.Disks()) != 0 {
		t.Fatalf("deleted: %+v, of the disks %d are there", d, len(s.Disks()))
	}
	if len(before.Unmade()) != 1 || before.Disk("disk-1") != nil {
		t.Error("the past has changed")
	}
	l.call(trace.StorageCall{Call: "CreateVolume", Name: "pvc-2", Result: "disk-1"}) // a driver may use an id again
	if s := l.b.Mark(); s.Disk("disk-1").Gone || len(s.Disks()) != 1 {
		t.Errorf("the id is used again: %+v", s.Disk("disk-1"))
	}
}

// However many disks come and go, and however many claims get none, no more is kept than of other logs.
func TestCallsOfDisksAreBounded(t *testing.T) {
	l := &storageLog{b: view.NewBuilder()}
	for i := range 500 {
		l.call(trace.StorageCall{Call: "CreateVolume", Name: fmt.Sprintf("pvc-%d", i), Error: "no room"})
		id := fmt.Sprintf("disk-%d", i)
		l.call(trace.StorageCall{Call: "CreateVolume", Name: "made-" + id, Result: id})
		l.call(trace.StorageCall{Call: "DeleteVolume", Volume: id})
	}
	s := l.b.Mark()
	kept := 0
	for i := range 500 {
		if s.Disk(fmt.Sprintf("disk-%d", i)) != nil {
			kept++
		}
	}
	if kept != 128 || s.Disk("disk-499") == nil || len(s.Unmade()) != 64 || s.Unmade()[63].Volume != "pvc-499" {
		t.Errorf("%d deleted disks are kept and %d that were not made, the last of them %s", kept, len(s.Unmade()), s.Unmade()[len(s.Unmade())-1].Volume)
	}
}
