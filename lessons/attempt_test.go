package lessons_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/tuitest"
)

// A beat begins during an election, and calls the leader by a name: the name is given when
// somebody leads, and a beat that stands before that says what it does not know.
func TestANameIsGivenWhenItsValueIsKnown(t *testing.T) {
	l, err := lessons.Parse("lesson.md", []byte(beats("", "")), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	tape := tuitest.NewTape().Members("a", "b", "c")
	h := tape.History()
	a := lessons.NewAttempt(l, h.Latest(), tape.Stream, h.Len())
	look := func() {
		for a.Look() {
		}
	}
	look()
	if a.Span(0).Stopped || a.Err() != nil {
		t.Errorf("without a leader the beat stands: %v; trouble: %v", a.Span(0).Stopped, a.Err())
	}
	tape.Elect("b")
	look()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "settings"}}
	tape.Commit(trace.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "settings"}, "configmaps", m)
	look()
	if !a.Span(0).Stopped || a.Err() != nil {
		t.Fatalf("with a leader the beat stands: %v; trouble: %v", a.Span(0).Stopped, a.Err())
	}
	if _, after, whole := a.Caption(0); !whole || !strings.HasPrefix(after, "b leads term") {
		t.Errorf("with a leader the caption is %q, whole=%v", after, whole)
	}
}
