package remote

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"pgregory.net/rapid"

	"kviz/raftstore/member"
	"kviz/raftstore/steady"
	"kviz/raftstore/wire"
)

func TestFramesComeBackAsTheyWere(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		var entries []*raft.Log
		for i := range rapid.IntRange(0, 5).Draw(t, "entries") {
			entries = append(entries, &raft.Log{
				Index: uint64(i), Term: rapid.Uint64().Draw(t, "term"), Type: raft.LogType(rapid.IntRange(0, 5).Draw(t, "type")),
				Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), AppendedAt: time.Unix(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "sec"), 999),
			})
		}
		was := rpc{
			Message: wire.Message{Serial: rapid.Uint64().Draw(t, "serial"), RPC: wire.AppendEntries, From: "a", To: "b", OK: rapid.Bool().Draw(t, "ok")},
			News:    rapid.Bool().Draw(t, "news"),
			Append:  &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte("a")}, Entries: entries},
		}
		var is rpc
		if err := readValue(appendValue(nil, &was), &is); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(was, is) {
			t.Fatalf("sent\n%+v\nread\n%+v", was, is)
		}
	})
}

func TestAReportComesBackAsItWas(t *testing.T) {
	was := report{
		Lost: 3,
		Events: []member.Event{
			{Kind: member.KindRole, Member: "a", Wall: time.Unix(5, 6), State: &member.State{Role: "leader", Term: 7}},
			{Kind: member.KindSend, Member: "a", Message: &wire.Message{Entries: []wire.Entry{{Index: 1, Type: "command"}}}},
			{Kind: member.KindFault, Fault: &member.Fault{What: "cut", On: true}},
		},
		Applied: []raft.Log{{Index: 9, Data: []byte("x"), Extensions: []byte{}}},
		Now: &standing{
			Status: member.Status{Up: true, SlowDisk: -time.Second}, Servers: []member.Server{{ID: "b", Learner: true}},
			Followers: map[string]follower{"b": {Silent: -1}}, Links: []linkFault{{"a", wire.LinkFault{To: "b", Drop: 0.5}}},
		},
	}
	var is report
	if err := readValue(appendValue(nil, &was), &is); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(was, is) {
		t.Fatalf("sent\n%+v\nread\n%+v", was, is)
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	good := appendValue(nil, &hello{Schema: protocol, Role: roleRaft, To: "a"})
	for n := range good {
		if err := readValue(good[:n], &hello{}); err == nil {
			t.Errorf("the first %d of %d bytes were taken for the whole", n, len(good))
		}
	}
	for _, c := range []struct {
		name, want string
		bytes      []byte
		into       any
	}{
		{"something behind it", "follow the message", append(good[:len(good):len(good)], 1), &hello{}},
		{"a length that is a lie", "ends before", []byte{0xff, 0xff, 0xff, 0xff, 0xf}, &[]raft.Log{}},
		{"a number of ten bytes and more", "64 bits", bytes.Repeat([]byte{0xff}, 11), new(uint64)},
		{"a number too large for its place", "too large", []byte{0x80, 0x80, 0x80, 0x80, 0x10}, new(uint32)},
		{"a second too long", "a second of", []byte{1, 0, 0x80, 0x94, 0xeb, 0xdc, 0x03}, &time.Time{}},
	} {
		if err := readValue(c.bytes, c.into); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something with %q", c.name, err, c.want)
		}
	}
	var buf bytes.Buffer
	if _, err := readFrame(strings.NewReader("\xff\xff\xff\xffabc"), &buf, maxFrame); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a frame of 4 GiB: %v", err)
	}
	if _, err := readFrame(strings.NewReader("\x3f\xff\xff\xffabc"), &buf, maxFrame); err == nil || buf.Cap() > keepFrame {
		t.Errorf("a frame of 1 GiB of which 3 bytes come: %v, %d bytes allocated", err, buf.Cap())
	}
}

// What somebody sends makes no more of itself than a small multiple, whatever it says of
// its length: lists are announced as long as they can be, of elements as small as
// they can be.
func TestWhatIsReadTakesNoMoreThanAMultipleOfItsBytes(t *testing.T) {
	const most = 40
	for _, into := range []any{&rpc{}, &[]proposal{}, &report{}, &about{}, &map[string]string{}, &recovered{}, &splitPlan{}, &seedPart{}} {
		typ := reflect.TypeOf(into).Elem()
		for _, fill := range []byte{0, 1, 2} {
			for lead := range 60 {
				const n = 1 << 15
				for _, announced := range []uint64{n / 16, n / 2, n + 1} {
					b := append(binary.AppendUvarint(bytes.Repeat([]byte{fill}, lead), announced), make([]byte, n)...)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := readValue(b, reflect.New(typ).Interface())
					runtime.ReadMemStats(&after)
					if made := after.TotalAlloc - before.TotalAlloc; made > uint64(most*len(b)) {
						t.Errorf("%v from %d bytes, %d of %d behind %d, made %d: %v", typ, len(b), announced, fill, lead, made, err)
					}
				}
			}
		}
	}
}

func TestTheSchemaTellsTypesApart(t *testing.T) {
	type one struct{ A, B uint64 }
	type two struct {
		A uint64
		C uint64
	}
	type three struct {
		A uint64
		B string
	}
	seen := map[string]bool{}
	for _, typ := range []reflect.Type{reflect.TypeFor[one](), reflect.TypeFor[two](), reflect.TypeFor[three](), reflect.TypeFor[[]one]()} {
		s := schema(typ)
		if seen[s] {
			t.Errorf("%v looks like another type", typ)
		}
		seen[s] = true
	}
}

// FuzzFrames reads arbitrary bytes as everything that a connection can bring. It must
// fail or give what can be sent again; it must not break, and not take much more
// memory than there are bytes.
func FuzzFrames(f *testing.F) {
	f.Add(appendValue(nil, &hello{Schema: protocol, Role: roleRaft, To: "a"}))
	f.Add(appendValue(nil, &rpc{Append: &raft.AppendEntriesRequest{Entries: []*raft.Log{{Index: 1, Data: []byte("x"), AppendedAt: time.Unix(1, 2)}}}}))
	f.Add(appendValue(nil, &answer{Vote: &raft.RequestVoteResponse{Granted: true}}))
	f.Add(appendValue(nil, &report{Events: []member.Event{{Kind: member.KindUp, State: &member.State{}}}, Now: &standing{Followers: map[string]follower{"b": {}}}}))
	f.Add(appendValue(nil, &order{ID: 1, Verb: verbStart, Args: appendValue(nil, &Start{Fresh: true, Group: []member.Server{{ID: "a"}}})}))
	f.Add(appendValue(nil, &[]proposal{{Term: 1, Data: []byte("x")}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, into := range []any{
			&hello{}, &welcome{}, &rpc{}, &answer{}, &health{}, &order{}, &reply{}, &[]proposal{}, &report{}, &failure{},
			&Start{}, &about{}, &linkFault{}, &which{}, &handover{}, &KVHash{}, new(string), &map[string]string{},
			&recovery{}, &recovered{}, &seedPart{}, &splitPlan{}, &wire.SplitState{},
		} {
			if readValue(b, into) != nil {
				continue
			}
			again := reflect.New(reflect.TypeOf(into).Elem()).Interface()
			if err := readValue(appendValue(nil, into), again); err != nil {
				t.Fatalf("%T was read, but not again after it was written: %v", into, err)
			}
			if r, ok := into.(*rpc); ok {
				_, _ = r.command()
			}
			if f, ok := into.(*failure); ok {
				_ = f.err().Error()
			}
		}
		var buf bytes.Buffer
		for r := bytes.NewReader(b); r.Len() > 0; {
			if _, err := readFrame(r, &buf, maxFrame); err != nil {
				break
			}
		}
	})
}
