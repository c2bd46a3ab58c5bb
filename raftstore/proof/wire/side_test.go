package wire

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestAlarmsOfAStatusAreASet(t *testing.T) {
	const noLeader = "etcdserver: no leader"
	one := (&pb.AlarmMember{MemberID: 1, Alarm: pb.AlarmType_NOSPACE}).String()
	two := (&pb.AlarmMember{MemberID: 2, Alarm: pb.AlarmType_NOSPACE}).String()
	text := func(errors ...string) string { return new(side).text(&pb.StatusResponse{Errors: errors}) }
	if a, b := text(noLeader, one, two), text(noLeader, two, one); a != b {
		t.Errorf("in another order the alarms are others:\n%s\n%s", a, b)
	}
	for _, other := range [][]string{{one, noLeader, two}, {noLeader, one}, {noLeader, one, one}, {noLeader, one, two, two}} {
		if a, b := text(noLeader, one, two), text(other...); a == b {
			t.Errorf("%q is compared as if it were the same as %s", other, a)
		}
	}
}
