package apply

import (
	"cmp"
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func alarmOrder(a, b *pb.AlarmMember) int {
	return cmp.Or(cmp.Compare(a.Alarm, b.Alarm), cmp.Compare(a.MemberID, b.MemberID))
}

// sortedAlarms checks alarms that come from a file.
func sortedAlarms(list []*pb.AlarmMember) ([]*pb.AlarmMember, error) {
	list = slices.SortedFunc(slices.Values(list), alarmOrder)
	for i, a := range list {
		if _, known := pb.AlarmType_name[int32(a.Alarm)]; !known || a.Alarm == pb.AlarmType_NONE {
			return nil, fmt.Errorf("apply: alarm of type %d", a.Alarm)
		}
		if i > 0 && alarmOrder(list[i-1], a) == 0 {
			return nil, fmt.Errorf("apply: alarm %v of member %x is there twice", a.Alarm, a.MemberID)
		}
	}
	return list, nil
}
