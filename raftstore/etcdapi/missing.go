package etcdapi

import (
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// missing says why a method is not answered. Methods of whole services that
// are missing are in missingServices.
var missing = map[string]string{
	"/etcdserverpb.KV/RangeStream":         "RangeStream is not served; use Range, with a limit for long lists (clients fall back by themselves)",
	"/etcdserverpb.Cluster/MemberAdd":      fixedMembers,
	"/etcdserverpb.Cluster/MemberRemove":   fixedMembers,
	"/etcdserverpb.Cluster/MemberUpdate":   fixedMembers,
	"/etcdserverpb.Cluster/MemberPromote":  "no member is a learner: all vote",
	"/etcdserverpb.Maintenance/Defragment": "there is nothing to defragment: keys live in memory, not in a database file",
	"/etcdserverpb.Maintenance/Hash":       "Hash is of the database file, and there is none; HashKV compares the members' keys",
	"/etcdserverpb.Maintenance/Snapshot":   "snapshots in etcd's file format are not served yet",
	"/etcdserverpb.Maintenance/Downgrade":  "there is one version only",
}

const fixedMembers = "the members are fixed when the store is opened (--members)"

var missingServices = map[string]string{
	"etcdserverpb.Auth":                   "there are no users and roles: whoever reaches the port may do everything",
	"v3lockpb.Lock":                       "the lock service is not served; etcdctl lock does without it",
	"v3electionpb.Election":               "the election service is not served; etcdctl elect does without it",
	"grpc.health.v1.Health":               "the gRPC health service is not served; ask Maintenance/Status",
	"grpc.reflection.v1.ServerReflection": "reflection is not served; the services are etcd's, api/etcdserverpb/rpc.proto",
}

// unknown answers calls of services that are not registered.
func unknown(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if why, ok := missingServices[service]; ok {
		return status.Error(codes.Unimplemented, why)
	}
	return status.Errorf(codes.Unimplemented, "%s is not a method of etcd's API that is served here", method)
}
