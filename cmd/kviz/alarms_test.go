package main

import (
	"bytes"
	"testing"

	"kviz/cluster/trace"
)

// Who has no screen reads of a full disk on stderr, and of its end.
func TestAlarmsArePrinted(t *testing.T) {
	stream := trace.NewStream(16)
	var out bytes.Buffer
	stop := alarms(stream, &out)
	say := func(k trace.Kind, p any) {
		stream.Append(&trace.Event{ID: trace.ID{Seq: stream.Len() + 1}, Kind: k, Payload: p})
	}
	say(trace.MemberRoom, &trace.DiskRoom{Member: "b", Full: true, Error: "write raft.db: no space left on device"})
	say(trace.MemberUp, &trace.MemberState{Member: "b", Role: "follower"})
	say(trace.MemberUp, &trace.MemberState{Member: "c", Last: 12, Reason: "the store was opened", Recovered: "entries 1 to 12"})
	say(trace.AlarmRaised, &trace.Alarm{Member: "b", Alarm: "NOSPACE"})
	say(trace.AlarmRaised, &trace.Alarm{Member: "b", Alarm: "NOSPACE"}) // by another write; told once
	say(trace.AlarmCleared, &trace.Alarm{Member: "b", Alarm: "NOSPACE"})
	say(trace.AlarmRaised, &trace.Alarm{Member: "b", Alarm: "NOSPACE"})
	say(trace.MemberRoom, &trace.DiskRoom{Member: "b"})
	stop()
	const want = `kviz: the disk of member b is full (write raft.db: no space left on device): it acknowledges nothing until there is room
kviz: member c is up with a log up to entry 12 (the store was opened), recovered from entries 1 to 12
kviz: alarm NOSPACE of member b: its database is over the quota; nothing more is written until it is compacted, defragmented and disarmed
kviz: alarm NOSPACE of member b is disarmed
kviz: alarm NOSPACE of member b: its database is over the quota; nothing more is written until it is compacted, defragmented and disarmed
kviz: the disk of member b has room again
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
