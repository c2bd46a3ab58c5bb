package object

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "pod", W: 76, H: 30},
		tuitest.Case{Name: "yaml", W: 76, H: 30, Moves: []string{"do object.part"}},
		tuitest.Case{Name: "deployment", W: 76, H: 30, Kind: trace.ReconcileAction, N: 1},
	)
}

// What keeps an object that was asked to go: the pod, and, one owner up, the
// ReplicaSet.
func TestDeletion(t *testing.T) {
	h := tuitest.Deletion().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		tuitest.Golden(t, fmt.Sprintf("deletion-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1])))
		tuitest.Golden(t, fmt.Sprintf("deletion-owner-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do object.owner")))
	}
}

// What keeps a namespace that was asked to go: each of its conditions that is True, with
// what it comes from; and of an APIService, what its availability comes from.
func TestStuckNamespace(t *testing.T) {
	h := tuitest.Stuck().History()
	there := tuitest.When(h, trace.APIServiceChecked, 1)
	commit := trace.ID{Seq: there.Last.Seq + 1}
	for e := h.Event(commit); e == nil || e.Kind != trace.StoreCommit; e = h.Event(commit) {
		commit.Seq++
	}
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		tuitest.Golden(t, fmt.Sprintf("stuck-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1])))
		tuitest.Golden(t, fmt.Sprintf("apiservice-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.AtID(commit), size[0], size[1])))
	}
}

// A lesson can point at a write with all that it changed.
func TestMarkOfAWrite(t *testing.T) {
	tape := tuitest.Story()
	ref := trace.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "settings"}
	settings := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "settings"}, Data: data}
	}
	tape.Commit(ref, "configmaps", settings(map[string]string{"color": "red", "size": "small"}))
	changed := tape.Commit(ref, "configmaps", settings(map[string]string{"color": "green", "shape": "round"}))
	h := tape.History()
	p := New()
	p.Show(ref)
	host := pane.NewHost(p, "")
	g := grid.New(80, 40)
	host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
	const rows = 1 + 3 // the revision; color changed, shape came, size went
	if at, whole := host.Find("write/" + changed.String() + "/changes"); !whole || at.H != rows {
		t.Errorf("the write with its changes is at %v, whole=%v; it takes %d rows", at, whole, rows)
	}
}

// Of what nothing in the cluster acts on the pane says so, in the words in which its
// writer was warned: of a kind, and of a field of a pod.
func TestInert(t *testing.T) {
	tape := tuitest.Story()
	tape.After(time.Second)
	ref := trace.Ref{APIVersion: "networking.k8s.io/v1", Kind: "Ingress", Namespace: "demo", Name: "db"}
	tape.Commit(ref, "ingresses", &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "db", UID: "db"}})
	h := tape.History()
	tuitest.Golden(t, "inert-kind", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 78, 16)))
	tape.After(time.Second)
	pod := tuitest.Pod("demo", "odd", "web", "node-1", "Ready", "10.244.1.9")
	pod.Spec.HostAliases = []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"db"}}}
	tape.Commit(tuitest.Ref("Pod", "demo", "odd"), "pods", pod)
	h = tape.History()
	tuitest.Golden(t, "inert-field", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 78, 16)))
}

// Who looks at an object keeps it, whatever happens meanwhile and whether the pane has the
// focus or not, until the pane is told to follow again.
func TestWhatIsStudiedStays(t *testing.T) {
	h := tuitest.Story().History()
	p := New()
	first := tuitest.When(h, trace.SchedDecision, 2)
	shown := func(s *view.State, sel trace.Ref, focused bool) string {
		if o := p.chosen(&pane.Frame{S: s, H: h, Focused: focused, Sel: pane.Subject{Ref: sel}}); o != nil {
			return o.Ref.String()
		}
		return ""
	}
	web := tuitest.Ref("Pod", "demo", "web-7f9c-k2x9p")
	follows := shown(h.Latest(), trace.Ref{}, false)
	if follows == web.String() {
		t.Fatal("the story ends with what is to be studied")
	}
	if got := shown(first, web, false); got != web.String() {
		t.Errorf("selected is %s, shown %s", web, got)
	}
	for _, focused := range []bool{false, true} {
		if got := shown(h.Latest(), trace.Ref{}, focused); got != web.String() {
			t.Errorf("focused %t: %s was studied, shown is %s", focused, web, got)
		}
	}
	p.Do("object.follow", pane.Subject{}, &pane.Frame{S: h.Latest(), H: h})
	if got := shown(h.Latest(), trace.Ref{}, false); got != follows {
		t.Errorf("it is to follow, and shows %s, not %s", got, follows)
	}
}

// A Lease that is renewed at this moment is nothing that somebody wants to see; in the past it is
// what the event is about.
func TestALeaseIsNotFollowed(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	tape.After(time.Second).Renew("kube-node-lease", "node-1")
	h := tape.History()
	for live, want := range map[bool]string{true: "EndpointSlice", false: "Lease"} {
		o := New().chosen(&pane.Frame{S: h.Latest(), H: h, Live: live})
		if o == nil || o.Ref.Kind != want {
			t.Errorf("live %t: shown is %v, want a %s", live, o, want)
		}
	}
}

// On the stage of a lesson the pane shows the object that the lesson speaks of, and says so where
// it is not there; that can be pointed at.
func TestOnTheStage(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	h := tape.History()
	for name, want := range map[string]string{"web": "Deployment demo/web", "late": "Deployment demo/late is not there at this moment."} {
		p := New()
		p.Show(tuitest.Ref("Deployment", "demo", name))
		host := pane.NewHost(p, "")
		g := grid.New(80, 20)
		host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
		if r, whole := host.Find("self"); !whole || r.Empty() {
			t.Errorf("%s: what it is about cannot be pointed at: %v", name, r)
		}
		if text := tuitest.Planes(g); !strings.Contains(text, want) {
			t.Errorf("%s shows\n%s\nwant %s", name, text, want)
		}
	}
}

// What a budget allows and why, and what its pods count for; and of a pod which budget an eviction of it asks.
func TestBudget(t *testing.T) {
	h := tuitest.Guarded().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}, {158, 43}} {
		for name, ref := range map[string]trace.Ref{"budget": {APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: "demo", Name: "shop"}, "guarded": tuitest.Ref("Pod", "demo", "shop-a")} {
			p := New()
			p.Show(ref)
			tuitest.Golden(t, fmt.Sprintf("%s-%d", name, size[0]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
		}
	}
}

// The way from a claim to its pods, asked from either end; and what is against each volume that a claim does not get.
func TestStorage(t *testing.T) {
	h := tuitest.Disks().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}, {158, 43}} {
		for name, ref := range map[string]trace.Ref{
			"claim":   {APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "demo", Name: "data"},
			"pending": {APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: "demo", Name: "more"},
			"volume":  {APIVersion: "v1", Kind: "PersistentVolume", Name: "old"},
			"db":      tuitest.Ref("Pod", "demo", "db-0"),
		} {
			p := New()
			p.Show(ref)
			tuitest.Golden(t, fmt.Sprintf("storage-%s-%d", name, size[0]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
		}
	}
}

// What was asked of the driver about a volume stays when the volume is deleted.
func TestStorageOfADeletedVolume(t *testing.T) {
	h := tuitest.DisksDeleted().History()
	p := New()
	p.Show(trace.Ref{APIVersion: "v1", Kind: "PersistentVolume", Name: "old"})
	tuitest.Golden(t, "storage-deleted", tuitest.Planes(tuitest.Pane(p, h, h.Latest(), 118, 38)))
}
