package robustness

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.etcd.io/etcd/tests/v3/robustness/model"
	"go.etcd.io/etcd/tests/v3/robustness/validate"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"kviz/raftstore/steady"
)

// judge is etcd's verdict. Of a history in which a watch saw more than was
// written etcd's validation says so with a panic.
func judge(t testing.TB, lg *zap.Logger, h *history) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("etcd's validation panicked: %v", p)
		}
	}()
	result := validate.ValidateAndReturnVisualize(lg, validate.Config{}, h.reports, h.persisted, 2*steady.Patience(t))
	return result.Error()
}

// short are the faults of every run.
var short = map[string]bool{
	"crash the leader": true, "the leader hears nobody": true, "all kinds of links": true, "a snapshot is installed": true,
	"a member is wiped and replaced": true,
}

// TestHistoriesAreAccepted has etcd's validation accept what clients saw under
// a few faults; with KVIZ_ROBUSTNESS_SEEDS=n under every fault, n times, with
// one member and another as the victim.
func TestHistoriesAreAccepted(t *testing.T) {
	seeds, all := 1, false
	if v := os.Getenv("KVIZ_ROBUSTNESS_SEEDS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		seeds, all = n, true
	}
	m := moments{before: 60, during: 700 * time.Millisecond, after: 60}
	for _, f := range faults {
		if !all && !short[f.name] {
			continue
		}
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s/%d", f.name, seed), func(t *testing.T) {
				steady.RealTime(t, "clients of etcd's see what is linearizable by the machine's clock")
				h, err := record(t, t.TempDir(), f, string(rune('a'+seed%3)), m)
				if err != nil {
					t.Fatal(err)
				}
				good, failed, events := h.operations()
				t.Logf("%d requests answered, %d failed, %d events watched, %d took effect", good, failed, events, len(h.persisted))
				if good < 60 || events < 60 {
					t.Error("too little happened to say anything")
				}
				if err := judge(t, zaptest.NewLogger(t, zaptest.Level(zap.ErrorLevel)), h); err != nil {
					t.Errorf("etcd's validation refuses the history: %v", err)
				}
			})
		}
	}
}

// TestBrokenHistoriesAreRefused changes one thing in a good history: the
// validation must see each.
func TestBrokenHistoriesAreRefused(t *testing.T) {
	steady.RealTime(t, "clients of etcd's see what is linearizable by the machine's clock")
	m := moments{before: 40, during: 300 * time.Millisecond, after: 40}
	h, err := record(t, t.TempDir(), faults[0], "a", m)
	if err != nil {
		t.Fatal(err)
	}
	if err := judge(t, zap.NewNop(), h); err != nil {
		t.Fatalf("the history is refused before anything was changed: %v", err)
	}
	for _, lie := range []struct {
		name string
		// tell changes the history and gives the way back.
		tell func(*history) func()
	}{
		{"a read sees another value", func(h *history) func() { return changeAnswer(h, staleRead) }},
		{"a write is acknowledged with another revision", func(h *history) func() { return changeAnswer(h, otherRevision) }},
		{"a watch misses an event", func(h *history) func() { return changeEvents(h, 1, 0) }},
		{"a watch sees an event twice", func(h *history) func() { return changeEvents(h, 1, 2) }},
		{"an acknowledged write did not take effect", lostWrite},
	} {
		t.Run(lie.name, func(t *testing.T) {
			back := lie.tell(h)
			if back == nil {
				t.Fatal("the history has nothing to lie about")
			}
			defer back()
			if err := judge(t, zap.NewNop(), h); err == nil {
				t.Error("etcd's validation accepts it")
			}
		})
	}
	if err := judge(t, zap.NewNop(), h); err != nil {
		t.Fatalf("the history is refused after everything was undone: %v", err)
	}
}

// changeAnswer changes the first answer that change wants to.
func changeAnswer(h *history, change func(model.EtcdRequest, *model.EtcdResponse) bool) func() {
	for _, r := range h.reports {
		for i := range r.KeyValue {
			op := &r.KeyValue[i]
			before := op.Output.(model.MaybeEtcdResponse)
			after := before
			if change(op.Input.(model.EtcdRequest), &after.EtcdResponse) {
				op.Output = after
				return func() { op.Output = before }
			}
		}
	}
	return nil
}

func staleRead(req model.EtcdRequest, resp *model.EtcdResponse) bool {
	if req.Type != model.Range || req.Range.Revision != 0 || req.Range.KeysOnly || resp.Range == nil || len(resp.Range.KVs) == 0 {
		return false
	}
	changed := *resp.Range
	changed.KVs = append([]model.KeyValue(nil), changed.KVs...)
	changed.KVs[0].Value = model.ToValueOrHash("nobody wrote this")
	resp.Range = &changed
	return true
}

// otherRevision changes the revision of a transaction that put something. One that
// wrote nothing may truly have been answered three revisions later, where so many
// writes of others ran beside it.
func otherRevision(req model.EtcdRequest, resp *model.EtcdResponse) bool {
	if req.Type != model.Txn || resp.Txn == nil || resp.Txn.Failure || resp.Revision < 5 {
		return false
	}
	if !slices.ContainsFunc(req.Txn.OperationsOnSuccess, func(op model.EtcdOperation) bool { return op.Type == model.PutOperation }) {
		return false
	}
	resp.Revision += 3
	return true
}

// changeEvents repeats the n-th response of a watch so many times; 0 leaves it out.
func changeEvents(h *history, n, times int) func() {
	for _, r := range h.reports {
		for i := range r.Watch {
			op := &r.Watch[i]
			if len(op.Responses) < n+2 || len(op.Responses[n].Events) == 0 || len(op.Responses[n+1].Events) == 0 {
				continue
			}
			before := op.Responses
			var after []model.WatchResponse
			for j, resp := range before {
				repeat := 1
				if j == n {
					repeat = times
				}
				for range repeat {
					after = append(after, resp)
				}
			}
			op.Responses = after
			return func() { op.Responses = before }
		}
	}
	return nil
}

// lostWrite takes a put that was acknowledged out of what took effect.
func lostWrite(h *history) func() {
	before := h.persisted
	for i, req := range before {
		if i > len(before)/2 && req.Type == model.Txn && len(req.Txn.Conditions) == 0 && len(req.Txn.OperationsOnSuccess) == 1 && req.Txn.OperationsOnSuccess[0].Type == model.PutOperation {
			h.persisted = append(append([]model.EtcdRequest(nil), before[:i]...), before[i+1:]...)
			return func() { h.persisted = before }
		}
	}
	return nil
}
