package etcd

import (
	"bytes"
	"encoding/json"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// lastOfWatch is the answer with which the console ends an etcdctl watch. It
// says that the watch was canceled by a compaction, because that is the only end
// before which etcd's client hands over what has come: at any other it drops the
// events that etcdctl has not taken yet (client/v3/watch.go watchGRPCStream.run
// closes recvc, and serveSubstream returns with its buffer).
func lastOfWatch(id int64) *pb.WatchResponse {
	return &pb.WatchResponse{Header: &pb.ResponseHeader{}, WatchId: id, Canceled: true, CompactRevision: 1}
}

// shownAs is the end of a watch as etcdctl prints it in an output format.
//
// Mirrors the Watch methods in etcdctl/ctlv3/command/printer_*.go.
func shownAs(format string) ([]byte, error) {
	end := lastOfWatch(0)
	switch format {
	case "json":
		b, err := json.Marshal(&clientv3.WatchResponse{Header: end.Header, CompactRevision: end.CompactRevision, Canceled: true})
		return append(b, '\n'), err
	case "fields":
		return []byte("\"ClusterID\" : 0\n\"MemberID\" : 0\n\"RaftTerm\" : 0\n"), nil
	case "protobuf":
		return proto.Marshal(end)
	}
	return nil, nil
}

// withoutLast hands on what is written as it comes, except for a last part, if it
// is what it looks like.
type withoutLast struct {
	to   io.Writer
	last []byte
	held []byte // a beginning of last
}

func (w *withoutLast) Write(p []byte) (int, error) {
	all := append(w.held, p...)
	hold := min(len(w.last), len(all))
	for !bytes.HasPrefix(w.last, all[len(all)-hold:]) {
		hold--
	}
	n := len(all) - hold
	if n > 0 {
		if _, err := w.to.Write(all[:n]); err != nil {
			return 0, err
		}
	}
	w.held = bytes.Clone(all[n:])
	return len(p), nil
}

// end hands on what is held, except for the last part where the watch was ended
// with it.
func (w *withoutLast) end(ended bool) error {
	if len(w.held) == 0 || ended && bytes.Equal(w.held, w.last) {
		return nil
	}
	_, err := w.to.Write(w.held)
	return err
}
