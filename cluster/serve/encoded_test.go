package serve

import (
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
// same time, and once more for another form; what is long past is forgotten.
func TestAnEventIsEncodedOnce(t *testing.T) {
	var e encodings
	var made atomic.Int64
	ask := func(f form) string {
		b, done, err := e.of(f, func() ([]byte, error) {
			made.Add(1)
			return fmt.Appendf(nil, "%s %s %s", f.kind, f.object.(*corev1.ConfigMap).Name, f.mediaType), nil
		})
		if err != nil {
			t.Error(err)
		}
		defer done()
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
	// What connections have not taken is there once, however large; then it goes.
	large := form{object: object("large")}
	var ends []func()
	for range 3 {
		_, done, _ := e.of(large, func() ([]byte, error) { made.Add(1); return make([]byte, 2*keptBytes), nil })
		ends = append(ends, done)
		ask(form{object: object("between"), kind: watch.Added})
	}
	if n := made.Load() - before; n != 1+1+3 || e.bytes < 2*keptBytes {
		t.Errorf("with a large event that is not taken there were %d encodings, and %d bytes are remembered", n, e.bytes)
	}
	for _, done := range ends {
		done()
	}
	if e.made[large] != nil || e.bytes > keptBytes {
		t.Errorf("a large event that was taken is remembered, and %d bytes", e.bytes)
	}
	failed := errors.New("no")
	if _, _, err := e.of(form{kind: "FAIL"}, func() ([]byte, error) { return nil, failed }); err != failed {
		t.Errorf("an encoding that failed gave %v", err)
	}
}
