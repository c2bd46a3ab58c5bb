package hostile

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"kviz/raftstore/steady"
)

// A request follows from the seed and its number, and each part makes some that differ.
func TestARequestCanBeSentAgain(t *testing.T) {
	for _, part := range Parts() {
		seen := map[string]bool{}
		for n := range uint64(20) {
			r := At(steady.Seed(), n, part)
			if again := At(steady.Seed(), n, part); !reflect.DeepEqual(r, again) {
				t.Errorf("%s and then %s", r, again)
			}
			if r.Part != part || r.Method == "" || !strings.HasPrefix(r.Path, "/api") || r.N != n {
				t.Errorf("%+v", r)
			}
			seen[r.Detail+r.Path] = true
		}
		if len(seen) < 2 {
			t.Errorf("%s makes one request only", part)
		}
	}
	if At(1, 1, "").String() == At(2, 1, "").String() && At(1, 2, "").String() == At(2, 2, "").String() {
		t.Error("another seed makes the same requests")
	}
}

// One wait of a second is a hundred for a client that wanted to ask each 10 ms.
func TestAWaitCountsForThoseBehindIt(t *testing.T) {
	a := &attack{report: &Report{}, now: map[uint64]Request{7: {N: 7, Part: "slow"}}}
	for range 900 {
		a.waited(time.Millisecond, nil)
	}
	a.waited(time.Second, []Request{{N: 3, Part: "gone"}})
	r := a.done()
	if r.Waits != 1000 || r.Median != time.Millisecond || r.P999 != time.Second {
		t.Errorf("%d waits, median %s, 99.9 %% %s", r.Waits, r.Median, r.P999)
	}
	if len(r.Longest) != longest || r.Longest[0].Took != time.Second || len(r.Longest[0].Beside) != 2 {
		t.Errorf("the longest: %+v", r.Longest)
	}
	var out strings.Builder
	r.Print(&out, "kviz")
	r.Explain(&out, "kviz")
	for _, want := range []string{"1s", "#3 gone", "#7 slow"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
