package etcdapi_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

func TestMaintenance(t *testing.T) { steady.Bubble(t, testMaintenance) }

func testMaintenance(t *testing.T) {
	b := newBench(t, replicated(t))
	c := b.client()
	for i := range 50 {
		if _, err := c.Put(b.ctx, fmt.Sprint("k", i), strings.Repeat("v", 3000)); err != nil {
			t.Fatal(err)
		}
	}
	st, err := c.Status(b.ctx, b.server.Endpoints[0])
	if err != nil || st.Version != "3.7.3" || st.StorageVersion != "3.7.0" || st.DbSizeQuota != 2<<30 || st.DbSize < 150_000 || st.DbSizeInUse > st.DbSize || st.DowngradeInfo == nil {
		t.Errorf("status: %v %v", st, err)
	}
	// What comes is a file with the hash of what is before it.
	r, err := c.SnapshotWithVersion(b.ctx)
	if err != nil || r.Version != "3.7.0" {
		t.Fatalf("snapshot: %v %v", r, err)
	}
	body, err := io.ReadAll(r.Snapshot)
	if err != nil || len(body) < 150_000 || len(body)%512 != 32 {
		t.Errorf("snapshot: %d bytes %v", len(body), err)
	}
	if _, err := c.Defragment(b.ctx, b.server.Endpoints[0]); err != nil {
		t.Error(err)
	}
	for _, d := range []struct {
		action clientv3.DowngradeAction
		to     string
		want   error
	}{
		{clientv3.DowngradeValidate, "3.7.0", rpctypes.ErrInvalidDowngradeTargetVersion},
		{clientv3.DowngradeValidate, "3.6.0", nil},
		{clientv3.DowngradeValidate, "x", rpctypes.ErrWrongDowngradeVersionFormat},
		{clientv3.DowngradeEnable, "3.5.0", rpctypes.ErrInvalidDowngradeTargetVersion},
		{clientv3.DowngradeCancel, "", nil},
	} {
		if r, err := c.Downgrade(b.ctx, d.action, d.to); !errors.Is(err, d.want) || err == nil && r.Version != "3.7" {
			t.Errorf("downgrade %d to %s: %v %v, want %v", d.action, d.to, r, err, d.want)
		}
	}
	if a, err := c.AlarmList(b.ctx); err != nil || len(a.Alarms) > 0 {
		t.Errorf("alarms: %v %v", a, err)
	}
}

// What grows beyond the quota raises the alarm; compacting, defragmenting and
// disarming takes it away.
func TestQuota(t *testing.T) { steady.Bubble(t, testQuota) }

func testQuota(t *testing.T) {
	s, err := raftstore.Open(raftstore.Config{NoSync: true, Quota: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, s)
	c := b.client()
	var rev int64
	for {
		r, err := c.Put(b.ctx, "k", strings.Repeat("v", 100_000))
		if err == nil {
			rev = r.Header.Revision
			time.Sleep(time.Millisecond) // the size is looked at from time to time
			continue
		}
		if !errors.Is(err, rpctypes.ErrNoSpace) {
			t.Fatal(err)
		}
		break
	}
	a, err := c.AlarmList(b.ctx)
	if err != nil || len(a.Alarms) == 0 {
		t.Fatalf("alarms: %v %v", a, err)
	}
	if _, err := c.Delete(b.ctx, "nothing"); err != nil {
		t.Errorf("delete under the alarm: %v", err)
	}
	resp, body := b.get("/health")
	if resp.StatusCode != http.StatusServiceUnavailable || strings.TrimSpace(body) != `{"health":"false","reason":"ALARM NOSPACE"}` {
		t.Errorf("health: %d %s", resp.StatusCode, body)
	}
	if _, err := c.Compact(b.ctx, rev); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.server.Endpoints {
		if _, err := c.Defragment(b.ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.AlarmDisarm(b.ctx, &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(b.ctx, "k", "1"); err != nil {
		t.Errorf("put after the alarm: %v", err)
	}
}
