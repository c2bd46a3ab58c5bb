package raftstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/steady"
)

// All members are on one disk, and it runs full under load: what cannot be written is
// refused in etcd's words, and at once; each member says why; when there is room the
// store goes on by itself, with everything that it had acknowledged.
func TestTheDiskOfAllIsFull(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add, RequestTimeout: 2 * time.Second})
		acked := map[string]bool{}
		put := func(i int) error {
			key := fmt.Sprint("k", i)
			r := call(s, putReq(key, "v"))
			if r.Err == nil {
				acked[key] = true
			}
			return r.Err
		}
		for i := range 50 {
			must(t, put(i))
		}
		first := s.Leader()
		must(t, s.FillDisk(first))
		steady.Until(t, first+" has gone down for want of room, and the others go on", func() bool {
			st := s.Members()[slices.Index(s.IDs(), first)]
			return put(50) == nil && !st.Up && strings.Contains(st.Reason, "no space left on device")
		})
		for _, id := range s.IDs() {
			must(t, s.FillDisk(id))
		}
		for i := 51; i < 80; i++ {
			start := time.Now()
			if err := put(i); !errors.Is(err, rpctypes.ErrGRPCNoSpace) {
				t.Fatalf("a put with every disk full ended with %v", err)
			}
			if took := time.Since(start); took > 0 {
				t.Errorf("the refusal took %v", took)
			}
		}
		for _, id := range s.IDs() {
			must(t, s.FreeDisk(id))
		}
		steady.Until(t, "the store takes writes again, and nobody restarted anything", func() bool {
			return put(80) == nil && s.Whole()
		})
		for key := range acked {
			if got := get(t, s, key); got != "v" {
				t.Errorf("%s, which was acknowledged, is %q", key, got)
			}
		}
		var told []string
		tr.mu.Lock()
		defer tr.mu.Unlock()
		for _, e := range tr.events {
			if e.Kind == member.KindRoom && e.Member == first {
				told = append(told, e.Alarm())
			}
		}
		if len(told) != 2 || !strings.Contains(told[0], "is full") || !strings.Contains(told[1], "has room again") {
			t.Errorf("told of %s's disk: %q", first, told)
		}
	})
}
