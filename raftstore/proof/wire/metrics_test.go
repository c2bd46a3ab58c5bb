package wire

import (
	"bufio"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/steady"
)

// design is where the names that kviz leaves out are listed, with reasons.
const design = "../../etcdapi/DESIGN.md"

// Every metric that etcd has kviz has as well, with the
// same kind and labels, or listed in etcdapi's design with the reason why not.
func TestMetricsHaveEtcdsNames(t *testing.T) {
	steady.RealTime(t, "etcd knows no other time")
	etcd, kviz := realEtcd(t), ours(t)
	var families [2]map[string]family
	for i, s := range []*side{etcd, kviz} {
		keys(s)
		leases(s)
		s.page(http.MethodGet, "/health", "")
		s.page(http.MethodGet, "/readyz", "")
		ask(s, s.upkeep().Defragment, &pb.DefragmentRequest{})
		s.snapshot()
		ask(s, s.cluster().MemberPromote, &pb.MemberPromoteRequest{ID: 5})
		ask(s, s.upkeep().Alarm, &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: 1, Alarm: pb.AlarmType_NOSPACE})
		if s == etcd { // which looks at its peers 5 s after they connected at the earliest
			steady.Until(t, "etcd has measured the way to its peers", func() bool {
				_, measured := s.families(t)["etcd_network_peer_round_trip_time_seconds"]
				return measured
			})
		}
		families[i] = s.families(t)
	}
	left := leftOut(t)
	for name, e := range families[0] {
		k, ok := families[1][name]
		switch reason := left[name]; {
		case !ok && reason == "":
			t.Errorf("etcd has %s %s %v, kviz does not, and %s gives no reason", e.kind, name, e.labels, design)
		case ok && reason != "":
			t.Errorf("%s says that %s is left out, and it is there", design, name)
		case ok && (e.kind != k.kind || strings.Join(e.labels, " ") != strings.Join(k.labels, " ")):
			t.Errorf("%s: etcd has a %s with the labels %v, kviz a %s with %v", name, e.kind, e.labels, k.kind, k.labels)
		}
	}
	for name := range left {
		if _, ok := families[0][name]; !ok && !seldom[name] {
			t.Errorf("%s leaves out %s, which etcd does not have", design, name)
		}
	}
	for name := range families[1] {
		if _, ok := families[0][name]; !ok {
			t.Errorf("kviz has %s, which etcd does not have", name)
		}
	}
}

// seldom are the names that etcd shows only once something has happened that
// does not always happen.
var seldom = map[string]bool{
	"etcd_debugging_store_reads_total": true, "etcd_debugging_store_writes_total": true,
	"etcd_network_disconnected_peers_total": true, "etcd_network_peer_sent_failures_total": true,
}

// family is the numbers of one name.
type family struct {
	kind   string
	labels []string // of one of its numbers, sorted by name
}

var (
	typeLine = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	label    = regexp.MustCompile(`[{,](\w+)="`)
)

func (s *side) families(t *testing.T) map[string]family {
	t.Helper()
	resp, err := http.Get("http://" + s.endpoints[0] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all := map[string]family{}
	name, lines := "", bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if m := typeLine.FindStringSubmatch(line); m != nil {
			name = m[1]
			all[name] = family{kind: m[2]}
			continue
		}
		if f := all[name]; !strings.HasPrefix(line, "#") && f.labels == nil {
			for _, m := range label.FindAllStringSubmatch(line, -1) {
				if m[1] != "le" && m[1] != "quantile" {
					f.labels = append(f.labels, m[1])
				}
			}
			all[name] = f
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// leftOut reads the table of names: lines "| `name`, `name` | reason |".
func leftOut(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(design)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]string{}
	named := regexp.MustCompile("`([a-z_]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(cells[1], -1) {
			left[m[1]] = strings.TrimSpace(cells[2])
		}
	}
	if len(left) == 0 {
		t.Errorf("%s lists no names", design)
	}
	return left
}
