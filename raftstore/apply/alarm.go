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

// alarm raises, takes back or lists alarms.
//
// Mirrors etcd server/etcdserver/apply/backend.go Alarm and v3alarm.AlarmStore.
func (s *State) alarm(r *pb.AlarmRequest) *pb.AlarmResponse {
	resp := &pb.AlarmResponse{Header: &pb.ResponseHeader{}}
	a := &pb.AlarmMember{MemberID: r.MemberID, Alarm: r.Alarm}
	i, raised := slices.BinarySearchFunc(s.alarms, a, alarmOrder)
	switch {
	case r.Action == pb.AlarmRequest_GET:
		for _, a := range s.alarms {
			if r.Alarm == pb.AlarmType_NONE || r.Alarm == a.Alarm {
				resp.Alarms = append(resp.Alarms, a)
			}
		}
	case r.Action == pb.AlarmRequest_ACTIVATE && r.Alarm != pb.AlarmType_NONE:
		resp.Alarms = []*pb.AlarmMember{a}
		if !raised {
			s.setAlarms(slices.Insert(slices.Clone(s.alarms), i, a))
		}
	case r.Action == pb.AlarmRequest_DEACTIVATE && raised:
		resp.Alarms = []*pb.AlarmMember{a}
		s.setAlarms(slices.Delete(slices.Clone(s.alarms), i, i+1))
	}
	return resp
}

// setAlarms takes a new list, which is not changed afterwards: snapshots share it.
func (s *State) setAlarms(list []*pb.AlarmMember) {
	s.alarms, s.capped, s.corrupt = list, false, false
	for _, a := range list {
		s.capped = s.capped || a.Alarm == pb.AlarmType_NOSPACE
		s.corrupt = s.corrupt || a.Alarm == pb.AlarmType_CORRUPT
	}
}
