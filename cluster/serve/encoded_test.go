package serve

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// An event is encoded once for however many watchers that get it in the same form at the
// same time, and once more for another form; what is long past is forgotten, and so
// is what is large.
func TestAnEventIsEncodedOnce(t *testing.T) {
	var e encodings
	var made atomic.Int64
	ask := func(f form) string {
		b, err := e.of(f, func() ([]byte, error) {
			made.Add(1)
			return fmt.Appendf(nil, "%s %s %s", f.kind, f.object.(*corev1.ConfigMap).Name, f.mediaType), nil
		})
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	object := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	forms := []form{{object: object("a"), kind: watch.Added, mediaType: "application/json"}}
	forms = append(forms, form{object: forms[0].object, kind: watch.Modified, mediaType: "application/json"},
		form{object: forms[0].object, kind: watch.Added, mediaType: "application/yaml"},
		form{object: object("a"), kind: watch.Added, mediaType: "application/json"}) // another object that looks the same
	var all sync.WaitGroup
	for range 100 {
		for _, f := range forms {
			all.Go(func() {
				if got, want := ask(f), fmt.Sprintf("%s a %s", f.kind, f.mediaType); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
	all.Wait()
	if n := made.Load(); n != int64(len(forms)) {
		t.Errorf("%d forms of events were encoded %d times", len(forms), n)
	}
	for i := range 3 * keptEncodings {
		ask(form{object: object(fmt.Sprint(i)), kind: watch.Added})
	}
	if n := len(e.made); n > keptEncodings {
		t.Errorf("%d encodings are remembered, want %d at most", n, keptEncodings)
	}
	before := made.Load()
	if ask(forms[0]); made.Load() != before+1 {
		t.Error("what was encoded long ago is still remembered")
	}
	large := form{object: object("large")}
	if b, err := e.of(large, func() ([]byte, error) { return bytes.Repeat([]byte("x"), largestKept+1), nil }); len(b) <= largestKept || err != nil || e.made[large] != nil {
		t.Error("a large event is remembered")
	}
	failed := errors.New("no")
	if _, err := e.of(form{kind: "FAIL"}, func() ([]byte, error) { return nil, failed }); err != failed {
		t.Errorf("an encoding that failed gave %v", err)
	}
}
