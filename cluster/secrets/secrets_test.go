package secrets

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

func created(data map[string][]byte, number uint64) *trace.Event {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: data}
	return &trace.Event{Kind: trace.RequestDone, Payload: &trace.Response{Request: number, Object: trace.Obj(s)}}
}

func datum(e *trace.Event, key string) string {
	return string(e.Payload.(*trace.Response).Object.Value.(*corev1.Secret).Data[key])
}

// One secret has one placeholder, of its length; different ones have different ones; texts have it from
// then on, also in base64 and where they break off; and all comes back as it was.
func TestPlaceholders(t *testing.T) {
	h := New()
	data := map[string][]byte{"a": []byte("correct-horse"), "b": []byte("battery-stap"), "c": []byte("7"), "d": []byte("8"), "e": []byte("line-one\nline-two\n"), "f": nil}
	first, second := h.Hide(created(data, 1)), h.Hide(created(data, 2))
	seen := map[string]string{}
	for key, value := range data {
		is := datum(first, key)
		if is != datum(second, key) || len(is) != len(value) || len(value) > 0 && (is == string(value) || seen[is] != "") {
			t.Errorf("%s: %q for %q", key, is, value)
		}
		seen[is] = key
	}
	if string(data["a"]) != "correct-horse" {
		t.Error("the event itself was changed")
	}
	said := "it is correct-horse: " + base64.StdEncoding.EncodeToString([]byte("correct-horse")) + " and line-two, then batter"
	done := &trace.Event{Kind: trace.CommandEnd, Payload: &trace.Command{Line: "show", Output: said}}
	told := h.Hide(done)
	out := told.Payload.(*trace.Command).Output
	for _, secret := range []string{"correct", "Y29ycm", "line-two", "batter"} {
		if strings.Contains(out, secret) {
			t.Errorf("%q is in %q", secret, out)
		}
	}
	if len(out) != len(said) {
		t.Errorf("%d letters became %d", len(said), len(out))
	}
	for _, e := range []*trace.Event{created(data, 1), done} {
		if back := h.Restore(h.Hide(e)); !strings.HasSuffix(said, "batter") || e != done && datum(back, "e") != "line-one\nline-two\n" {
			t.Errorf("%s comes back as %+v", e.Kind, back.Payload)
		}
	}
	plain := &trace.Event{Kind: trace.WatchCacheEvent, Payload: &trace.CacheUpdate{}}
	if h.Hide(plain) != plain {
		t.Error("an event without secrets is copied")
	}
}

// A run that is run again gives the cluster's own secrets the numbers that they had, whatever was typed
// in between.
func TestARunThatIsRunAgain(t *testing.T) {
	was, typed := New(), "a-typed-secret-0001"
	own, other := "of-the-cluster-0002", "of-the-cluster-0003"
	hidden := datum(was.Hide(created(map[string][]byte{"a": []byte(typed)}, 1)), "a")
	placeholder := datum(was.Hide(created(map[string][]byte{"a": []byte(own)}, 2)), "a")
	next := datum(was.Hide(created(map[string][]byte{"a": []byte(other)}, 3)), "a")
	is := NewAgain()
	for number, value := range []string{hidden, own, hidden, other} {
		got := datum(is.Hide(created(map[string][]byte{"a": []byte(value)}, uint64(number))), "a")
		if want := []string{hidden, placeholder, hidden, next}[number]; got != want {
			t.Errorf("%q is %q, and was %q", value, got, want)
		}
	}
	in := &trace.Input{What: "session.in"}
	in.Encode(map[string]any{"Text": []byte("shows " + placeholder + " and " + hidden)})
	var fields map[string]any
	if err := is.RestoreInput(in).Decode(&fields); err != nil || string(fields["Text"].([]byte)) != "shows "+own+" and "+hidden {
		t.Errorf("it enters as %q (%v)", fields["Text"], err)
	}
}

// What cannot be read is hidden too, and refused in the same words.
func TestBrokenBodies(t *testing.T) {
	for _, body := range []string{
		`{"kind":"Secret","stringData":{"a":"planted`, `{"data":{"a":"planted\"planted"},"b":["planted","planted"`, `{"a":"planted","kind":"Secret"]`,
	} {
		out := string((&pass{Hider: New()}).document([]byte(body), nil, "", false))
		var into any
		was, is := json.Unmarshal([]byte(body), &into), json.Unmarshal([]byte(out), &into)
		if strings.Contains(out, "planted") || len(out) != len(body) || was == nil || is == nil || was.Error() != is.Error() {
			t.Errorf("%s became %s (%v, %v)", body, out, was, is)
		}
	}
	deep := strings.Repeat(`{"a":`, 5000) + `"planted"` + strings.Repeat(`}`, 5000)
	if out := string((&pass{Hider: New()}).document([]byte(deep), nil, "", false)); strings.Contains(out, "planted") {
		t.Error("a deep document is not hidden")
	}
}

// A held watch event has no object. It lists what has changed, and of a Secret that is secret.
func TestHeldWatchEvents(t *testing.T) {
	h := New()
	h.Hide(created(map[string][]byte{"a": []byte("correct-horse")}, 1))
	coded := base64.StdEncoding.EncodeToString([]byte("correct-horse"))
	held := func(kind, path string) *trace.Event {
		return &trace.Event{
			Kind: trace.WatchHeld, Object: trace.Ref{Kind: kind, Name: "s"},
			Payload: &trace.WatchEvent{Type: "MODIFIED", Unknown: []trace.FieldDiff{{Path: path, To: `"` + coded + `"`}}},
		}
	}
	if to := h.Hide(held("Secret", "data.a")).Payload.(*trace.WatchEvent).Unknown[0].To; strings.Contains(to, coded) || len(to) != len(coded)+2 {
		t.Errorf("of a Secret: %s", to)
	}
	if to := h.Hide(held("Pod", "spec.nodeName")).Payload.(*trace.WatchEvent).Unknown[0].To; to != `"`+coded+`"` {
		t.Errorf("of a Pod: %s", to)
	}
}
