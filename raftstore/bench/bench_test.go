package bench

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// serveIn, in the environment, makes this program the store that is measured.
const serveIn = "KVIZ_BENCH_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		if err := ServeStore(context.Background(), dir, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEveryRowIsMeasured measures a store in a process of its own, each row
// for a moment.
func TestEveryRowIsMeasured(t *testing.T) {
	t.Setenv(serveIn, t.TempDir())
	s, err := Start(t.Context(), "kviz", os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	opt := Options{Rounds: 1, For: 30 * time.Millisecond, Idle: 200 * time.Millisecond}
	n := 0
	err = Compare(t.Context(), s, nil, opt, func(r Row) {
		n++
		if r.Name != "idle CPU" && r.Kviz[0] <= 0 || r.Etcd != nil {
			t.Errorf("%+v", r)
		}
		var line strings.Builder
		Print(&line, r)
		if !strings.HasSuffix(strings.TrimSpace(line.String()), "-") {
			t.Errorf("without a peer the ratio is not open: %s", line.String())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != len(rows(opt)) {
		t.Errorf("%d rows, want %d", n, len(rows(opt)))
	}
}

func TestRatioSaysHowMuchBetterKvizIs(t *testing.T) {
	rate := Row{Kviz: []float64{1, 30, 20}, Etcd: []float64{9, 10, 11, 10}}
	if got := rate.Ratio(); got != 2 {
		t.Errorf("twice the rate has ratio %v", got)
	}
	cost := Row{Lower: true, Kviz: []float64{5}, Etcd: []float64{10}}
	if got := cost.Ratio(); got != 2 {
		t.Errorf("half the cost has ratio %v", got)
	}
}
