package mvcc

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/transcript"
)

// TestTranscripts runs the stories in testdata: paragraphs of "# comment",
// commands, "----", and what the store answered. KVIZ_REWRITE=1 writes the
// answers anew.
func TestTranscripts(t *testing.T) { transcript.Run(t, replay) }

// replay runs a transcript on a new store and returns it with fresh answers.
func replay(_ testing.TB, text string) string {
	s := New()
	var out strings.Builder
	var command []string
	answer := false
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "----":
			out.WriteString("----\n")
			var req *pb.InternalRaftRequest
			if len(command) > 0 {
				req = parse(command)
			}
			out.WriteString(run(s, command, req))
			command, answer = nil, true
		case answer && line == "":
			answer = false
			out.WriteString("\n")
		case answer:
			// the old answer
		default:
			if line != "" && !strings.HasPrefix(line, "#") {
				command = append(command, line)
			}
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}

func run(s *Store, command []string, req *pb.InternalRaftRequest) string {
	f := strings.Fields(command[0])
	switch f[0] {
	case "history":
		ki, ok := s.keys[f[1]]
		if !ok {
			return f[1] + " is not in the index\n"
		}
		return ki.String() + "\n"
	case "since":
		events, err := s.Since(number(f[1]))
		if err != nil {
			return refusal(err)
		}
		var b strings.Builder
		for e := range events {
			b.WriteString(eventText(e))
		}
		return b.String()
	case "leases":
		var b strings.Builder
		for _, l := range s.Leases() {
			fmt.Fprintf(&b, "lease %d of %d s: %s\n", l.ID, l.TTL, strings.Join(l.Keys, " "))
		}
		return b.String()
	}
	r := s.Apply(0, req)
	if r.Err != nil {
		return refusal(r.Err)
	}
	var b strings.Builder
	b.WriteString(responseText(r.Response, ""))
	for _, e := range r.Events {
		b.WriteString("event " + eventText(e))
	}
	return b.String()
}

func refusal(err error) string { return "refused: " + status.Convert(err).Message() + "\n" }

// parse reads one request: a line, or for a transaction "txn" with lines "if
// mod(k) = 3", "then put …", "else get …"; deeper ones are indented by "| ".
func parse(lines []string) *pb.InternalRaftRequest {
	f := strings.Fields(lines[0])
	switch f[0] {
	case "txn":
		return &pb.InternalRaftRequest{Txn: parseTxn(lines[1:])}
	case "compact":
		return &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: number(f[1])}}
	case "grant":
		return &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: number(f[1]), TTL: number(f[2])}}
	case "revoke":
		return &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: number(f[1])}}
	case "history", "since", "leases":
		return nil
	}
	op := parseOp(f)
	return &pb.InternalRaftRequest{Put: op.GetRequestPut(), DeleteRange: op.GetRequestDeleteRange(), Range: op.GetRequestRange()}
}

func parseTxn(lines []string) *pb.TxnRequest {
	r := &pb.TxnRequest{}
	for i := 0; i < len(lines); i++ {
		f := strings.Fields(lines[i])
		var op *pb.RequestOp
		if f[0] != "if" {
			if f[1] == "txn" {
				var nested []string
				for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "| "); i++ {
					nested = append(nested, strings.TrimPrefix(lines[i+1], "| "))
				}
				op = &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: parseTxn(nested)}}
			} else {
				op = parseOp(f[1:])
			}
		}
		switch f[0] {
		case "if":
			r.Compare = append(r.Compare, parseCompare(f[1:]))
		case "then":
			r.Success = append(r.Success, op)
		case "else":
			r.Failure = append(r.Failure, op)
		default:
			panic("if, then or else: " + lines[i])
		}
	}
	return r
}

// parseCompare reads "mod(key) = 3" or "value(key..end) != x".
func parseCompare(f []string) *pb.Compare {
	target, key, _ := strings.Cut(strings.TrimSuffix(f[0], ")"), "(")
	k, end := keyRange(key)
	c := &pb.Compare{Key: k, RangeEnd: end}
	c.Result = map[string]pb.Compare_CompareResult{"=": pb.Compare_EQUAL, "!=": pb.Compare_NOT_EQUAL, "<": pb.Compare_LESS, ">": pb.Compare_GREATER}[f[1]]
	switch target {
	case "value":
		c.Target, c.TargetUnion = pb.Compare_VALUE, &pb.Compare_Value{Value: []byte(f[2])}
	case "mod":
		c.Target, c.TargetUnion = pb.Compare_MOD, &pb.Compare_ModRevision{ModRevision: number(f[2])}
	case "create":
		c.Target, c.TargetUnion = pb.Compare_CREATE, &pb.Compare_CreateRevision{CreateRevision: number(f[2])}
	case "version":
		c.Target, c.TargetUnion = pb.Compare_VERSION, &pb.Compare_Version{Version: number(f[2])}
	case "lease":
		c.Target, c.TargetUnion = pb.Compare_LEASE, &pb.Compare_Lease{Lease: number(f[2])}
	default:
		panic("compare " + target)
	}
	return c
}

// parseOp reads "put k v lease=1 prev", "del k..end", "get k.. rev=3 limit=2".
func parseOp(f []string) *pb.RequestOp {
	k, e := keyRange(f[1])
	flags := map[string]string{}
	rest := f[2:]
	if f[0] == "put" && len(rest) > 0 && !strings.Contains(rest[0], "ignore") {
		flags["value"], rest = rest[0], rest[1:]
	}
	for _, x := range rest {
		name, v, ok := strings.Cut(x, "=")
		if !ok {
			v = "yes"
		}
		flags[name] = v
	}
	n := func(name string) int64 {
		if flags[name] == "" {
			return 0
		}
		return number(flags[name])
	}
	on := func(name string) bool { return flags[name] != "" }
	switch f[0] {
	case "put":
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{
			Key: k, Value: []byte(flags["value"]),
			Lease: n("lease"), PrevKv: on("prev"), IgnoreValue: on("ignore-value"), IgnoreLease: on("ignore-lease"),
		}}}
	case "del":
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: k, RangeEnd: e, PrevKv: on("prev")}}}
	case "get":
		r := &pb.RangeRequest{
			Key: k, RangeEnd: e, Revision: n("rev"), Limit: n("limit"), CountOnly: on("count"), KeysOnly: on("keys"),
			MinModRevision: n("minmod"), MaxModRevision: n("maxmod"), MinCreateRevision: n("mincreate"), MaxCreateRevision: n("maxcreate"),
		}
		r.SortTarget = pb.RangeRequest_SortTarget(pb.RangeRequest_SortTarget_value[strings.ToUpper(flags["by"])])
		r.SortOrder = pb.RangeRequest_SortOrder(pb.RangeRequest_SortOrder_value[strings.ToUpper(flags["order"])])
		return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: r}}
	}
	panic("command " + strings.Join(f, " "))
}

// keyRange reads "k", "k..end", "k.." (everything from k on) or `""`.
func keyRange(s string) (key, end []byte) {
	from, to, ranged := strings.Cut(s, "..")
	if from == `""` {
		from = ""
	}
	switch {
	case ranged && to == "":
		return []byte(from), []byte{0}
	case ranged:
		return []byte(from), []byte(to)
	}
	return []byte(from), nil
}

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func responseText(m proto.Message, indent string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, indent+format+"\n", args...) }
	switch r := m.(type) {
	case *pb.PutResponse:
		line("put at revision %d", r.Header.Revision)
		if r.PrevKv != nil {
			line("  before: %s", kvText(r.PrevKv))
		}
	case *pb.DeleteRangeResponse:
		line("deleted %d, revision %d", r.Deleted, r.Header.Revision)
		for _, kv := range r.PrevKvs {
			line("  before: %s", kvText(kv))
		}
	case *pb.RangeResponse:
		more := ""
		if r.More {
			more = ", more"
		}
		line("count %d%s, revision %d", r.Count, more, r.Header.Revision)
		for _, kv := range r.Kvs {
			line("  %s", kvText(kv))
		}
	case *pb.TxnResponse:
		if indent == "" {
			line("succeeded %v, revision %d", r.Succeeded, r.Header.Revision)
		} else {
			line("succeeded %v", r.Succeeded)
		}
		for _, op := range r.Responses {
			switch o := op.Response.(type) {
			case *pb.ResponseOp_ResponsePut:
				b.WriteString(responseText(o.ResponsePut, indent+"  "))
			case *pb.ResponseOp_ResponseDeleteRange:
				b.WriteString(responseText(o.ResponseDeleteRange, indent+"  "))
			case *pb.ResponseOp_ResponseRange:
				b.WriteString(responseText(o.ResponseRange, indent+"  "))
			case *pb.ResponseOp_ResponseTxn:
				b.WriteString(responseText(o.ResponseTxn, indent+"  "))
			}
		}
	case *pb.CompactionResponse:
		line("compacted, revision %d", r.Header.Revision)
	case *pb.LeaseGrantResponse:
		line("granted lease %d for %d s", r.ID, r.TTL)
	case *pb.LeaseRevokeResponse:
		line("revoked, revision %d", r.Header.Revision)
	}
	return b.String()
}

func kvText(kv *mvccpb.KeyValue) string {
	s := fmt.Sprintf("%s=%s created %d, modified %d, version %d", kv.Key, kv.Value, kv.CreateRevision, kv.ModRevision, kv.Version)
	if kv.Lease != 0 {
		s += fmt.Sprintf(", lease %d", kv.Lease)
	}
	return s
}

func eventText(e *mvccpb.Event) string {
	s := "PUT " + kvText(e.Kv)
	if e.Type == mvccpb.Event_DELETE {
		s = fmt.Sprintf("DELETE %s at %d", e.Kv.Key, e.Kv.ModRevision)
	}
	if e.PrevKv != nil {
		s += fmt.Sprintf(" (before: %s of %d)", e.PrevKv.Value, e.PrevKv.ModRevision)
	}
	return s + "\n"
}
