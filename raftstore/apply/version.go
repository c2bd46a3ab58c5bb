package apply

import (
	"encoding/binary"
	"slices"

	"go.etcd.io/etcd/api/v3/membershippb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Versions is what the log has said of the cluster's version: how new the
// requests may be that its members get, and which older version it is to go back
// to.
//
// Mirrors etcd server/etcdserver/api/membership/cluster.go SetVersion and
// SetDowngradeInfo.
type Versions struct {
	Cluster     string // "3.7.0", or "3.6.0" while it is downgraded
	Downgrading bool
	Target      string // "3.6.0" while Downgrading, else ""
}

// The versions that a cluster of this program can have: its own, and the one
// before, to which a downgrade leads.
const (
	ClusterVersion = "3.7.0"
	OlderVersion   = "3.6.0"
)

func newVersions() Versions { return Versions{Cluster: ClusterVersion} }

// Wanted is the version that the cluster should have by now: etcd's leader sets
// it as soon as it sees what a downgrade, or its end, asks for.
//
// Mirrors etcd server/etcdserver/version/monitor.go decideClusterVersion, for
// members that are all of this program.
func (v Versions) Wanted() string {
	if v.Downgrading {
		return v.Target
	}
	return ClusterVersion
}

// Versions tells what the cluster's version is.
func (s *State) Versions() Versions { return s.versions }

func (s *State) setClusterVersion(r *membershippb.ClusterVersionSetRequest) error {
	if r.Ver != ClusterVersion && r.Ver != OlderVersion {
		return rpctypes.ErrGRPCInvalidDowngradeTargetVersion // etcd's process would end
	}
	s.versions.Cluster = r.Ver
	return nil
}

func (s *State) setDowngrade(r *membershippb.DowngradeInfoSetRequest) error {
	if !r.Enabled {
		s.versions.Downgrading, s.versions.Target = false, ""
		return nil
	}
	if r.Ver != OlderVersion {
		return rpctypes.ErrGRPCInvalidDowngradeTargetVersion
	}
	s.versions.Downgrading, s.versions.Target = true, r.Ver
	return nil
}

// append adds the versions to the head of a snapshot, if they are not what every
// new cluster has.
func (v Versions) append(b []byte) []byte {
	if v == newVersions() {
		return b
	}
	on := byte(0)
	if v.Downgrading {
		on = 1
	}
	b = append(b, on)
	for _, text := range []string{v.Cluster, v.Target} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

// versions reads what append wrote.
func (in *headReader) versions() Versions {
	if in.err != nil || len(in.b) == 0 {
		return newVersions()
	}
	on := in.bytes(1)
	v := Versions{Downgrading: in.err == nil && on[0] == 1}
	v.Cluster = string(in.bytes(in.uvarint()))
	v.Target = string(in.bytes(in.uvarint()))
	known := []string{ClusterVersion, OlderVersion}
	if !slices.Contains(known, v.Cluster) || v.Downgrading != (v.Target == OlderVersion) || !v.Downgrading && v.Target != "" {
		in.fail()
	}
	return v
}
