package etcdapi

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// clusterServer is etcd's Cluster service. The members are fixed.
type clusterServer struct {
	pb.UnimplementedClusterServer
	*face
}

// MemberList lists the members. They have no peer URLs: they meet in memory.
func (c *clusterServer) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	if r.Linearizable {
		if err := c.barrier(ctx); err != nil {
			return nil, err
		}
	}
	resp := &pb.MemberListResponse{Header: c.header(0)}
	for i, f := range c.server.faces {
		resp.Members = append(resp.Members, &pb.Member{ID: f.id, Name: f.member, ClientURLs: []string{"http://" + c.server.Endpoints[i]}})
	}
	return resp, nil
}
