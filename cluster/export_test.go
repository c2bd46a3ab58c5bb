package cluster

import (
	"net/netip"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/raftstore"
)

// Held is what the store itself holds under every key.
func (c *Cluster) Held() (map[string][]byte, error) {
	all := &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}
	got := make(chan *raftstore.Result, 1)
	c.etcd.store.Do(&pb.InternalRaftRequest{Range: all}, func(r *raftstore.Result) { got <- r })
	r := <-got
	if r.Err != nil {
		return nil, r.Err
	}
	held := map[string][]byte{}
	for _, kv := range r.Response.(*pb.RangeResponse).Kvs {
		held[string(kv.Key)] = kv.Value
	}
	return held, nil
}

// PutRaw writes to the store, past the API server, as etcdctl does.
func (c *Cluster) PutRaw(key string, value []byte) error {
	got := make(chan *raftstore.Result, 1)
	c.etcd.store.Do(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: value}}, func(r *raftstore.Result) { got <- r })
	return (<-got).Err
}

// Panic has a task of a component panic.
func (c *Cluster) Panic(target string) error {
	return c.kernel.Do(func() {
		c.nodes.components.find(target).p.Go("of the test", func(*sim.Task) { panic("out of luck") })
	})
}

// Running lists the containers that run on a node, as "namespace/pod container ID";
// on all nodes if it is "".
func (c *Cluster) Running(node string) (list []string, err error) {
	doErr := c.kernel.Do(func() {
		for _, n := range c.nodes.list {
			if node != "" && n.name != node {
				continue
			}
			pods, e := n.runtime.Pods()
			if e != nil {
				err = e
				return
			}
			for _, s := range pods {
				st, e := n.runtime.PodStatus(s.PodUID)
				if e != nil {
					err = e
					return
				}
				for _, x := range st.Containers {
					if x.State == runtime.Running {
						list = append(list, s.Namespace+"/"+s.Name+" "+x.ID)
					}
				}
			}
		}
	})
	slices.Sort(list)
	if doErr != nil {
		err = doErr
	}
	return list, err
}

// NodeAddress is the address of node number i, from 1.
func NodeAddress(i int) string { return nodeAddress(i) }

// PodCIDRs are the cluster CIDR of a cluster of so many nodes, and theirs.
func PodCIDRs(nodes int) (all netip.Prefix, of []netip.Prefix) {
	cluster := podCIDRs(nodes)
	for i := range nodes {
		of = append(of, cluster.node(i+1))
	}
	return cluster.Prefix, of
}
