// Package legacytoken compares the cleaner of legacy service account tokens with upstream's.
package legacytoken

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controlplane/controller/legacytokentracking"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/legacytoken"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const (
	lastUsedLabel     = serviceaccount.LastUsedLabelKey
	invalidSinceLabel = serviceaccount.InvalidSinceLabelKey
	trackingName      = legacytokentracking.ConfigMapName
	dateFormat        = "2006-01-02"
	day               = 24 * time.Hour
)

func start(b *clienttest.Bench) {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	legacytoken.New(reconcile.NewEnv(p, legacytoken.Name, legacytoken.Name, c, f, 1)).Start()
	f.Start()
}

func tracking(since string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: trackingName}, Data: map[string]string{legacytokentracking.ConfigMapDataKey: since}}
}

func token(name string, labels map[string]string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: labels, Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	}
}

func robot(secrets ...string) *corev1.ServiceAccount {
	sa := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "robot"}}
	for _, s := range secrets {
		sa.Secrets = append(sa.Secrets, corev1.ObjectReference{Name: s})
	}
	return sa
}

func pod(name, secret string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{{Name: "token", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}},
	}}
}

// story is some tokens and what happens to them. Days are counted from its beginning, which is
// another date here than there.
type story struct {
	tokens []labels
	listed []int
	since  string // "" is no ConfigMap
	steps  []step
}

// labels is the labels of a token.
type labels struct{ used, invalid string }

// step is something that happens after some days.
type step struct {
	after int
	what  string
	token int
	day   string
}

// ago is a label: a day before the beginning, or something else.
func ago(r *rapid.T, what string) string {
	switch rapid.IntRange(0, 5).Draw(r, what+" is") {
	case 0, 1:
		return ""
	case 2:
		return "soon"
	}
	return fmt.Sprintf("day %d", -rapid.SampledFrom([]int{1, 10, 364, 365, 366, 367, 700}).Draw(r, what))
}

func anyStory(r *rapid.T) (s story) {
	for i := range rapid.IntRange(1, 4).Draw(r, "tokens") {
		s.tokens = append(s.tokens, labels{ago(r, "used"), ago(r, "invalid")})
		if rapid.IntRange(0, 3).Draw(r, "listed") > 0 {
			s.listed = append(s.listed, i)
		}
	}
	s.since = ago(r, "since")
	for range rapid.IntRange(0, 8).Draw(r, "steps") {
		s.steps = append(s.steps, step{
			rapid.SampledFrom([]int{1, 2, 30, 200, 364, 365, 366}).Draw(r, "after"),
			rapid.SampledFrom([]string{"use", "unmark", "pod", "no pod", "list", "unlist", "track", "delete"}).Draw(r, "what"),
			rapid.IntRange(0, len(s.tokens)-1).Draw(r, "of"), ago(r, "to"),
		})
	}
	return s
}

// world is what a step changes: an API server, here's or there's.
type world interface {
	get(obj runtime.Object, name string) (runtime.Object, bool)
	create(obj runtime.Object)
	update(obj runtime.Object)
	remove(obj runtime.Object, name string)
	secrets() []*corev1.Secret
}

// days are dates by their distance from the beginning.
type days struct{ began time.Time }

func (d days) date(text string) string {
	var n int
	if _, err := fmt.Sscanf(text, "day %d", &n); err != nil {
		return text
	}
	return d.began.AddDate(0, 0, n).Format(dateFormat)
}

func (d days) day(text string) string {
	at, err := time.Parse(dateFormat, text)
	if err != nil {
		return text
	}
	return fmt.Sprintf("day %d", int(at.Sub(d.began.Truncate(day)).Hours()/24))
}

func name(i int) string { return fmt.Sprint("token-", i) }

func (s story) objects(d days) (objs []runtime.Object) {
	var listed []string
	for _, i := range s.listed {
		listed = append(listed, name(i))
	}
	objs = append(objs, robot(listed...))
	for i, is := range s.tokens {
		have := map[string]string{}
		for key, text := range map[string]string{lastUsedLabel: is.used, invalidSinceLabel: is.invalid} {
			if text != "" {
				have[key] = d.date(text)
			}
		}
		objs = append(objs, token(name(i), have))
	}
	if s.since != "" {
		objs = append(objs, tracking(d.date(s.since)))
	}
	return objs
}

// do does a step at a time.
func (st step) do(w world, d days, now time.Time) {
	edit := func(change func(*corev1.Secret)) {
		if obj, ok := w.get(&corev1.Secret{}, name(st.token)); ok {
			s := obj.DeepCopyObject().(*corev1.Secret)
			if s.Labels == nil {
				s.Labels = map[string]string{}
			}
			change(s)
			w.update(s)
		}
	}
	list := func(change func([]corev1.ObjectReference) []corev1.ObjectReference) {
		obj, _ := w.get(&corev1.ServiceAccount{}, "robot")
		sa := obj.DeepCopyObject().(*corev1.ServiceAccount)
		sa.Secrets = change(sa.Secrets)
		w.update(sa)
	}
	without := func(refs []corev1.ObjectReference) (out []corev1.ObjectReference) {
		for _, ref := range refs {
			if ref.Name != name(st.token) {
				out = append(out, ref)
			}
		}
		return out
	}
	switch st.what {
	case "use":
		edit(func(s *corev1.Secret) { s.Labels[lastUsedLabel] = now.Format(dateFormat) })
	case "unmark":
		edit(func(s *corev1.Secret) { delete(s.Labels, invalidSinceLabel) })
	case "pod":
		if _, ok := w.get(&corev1.Pod{}, name(st.token)); !ok {
			w.create(pod(name(st.token), name(st.token)))
		}
	case "no pod":
		w.remove(&corev1.Pod{}, name(st.token))
	case "list":
		list(func(refs []corev1.ObjectReference) []corev1.ObjectReference {
			return append(without(refs), corev1.ObjectReference{Name: name(st.token)})
		})
	case "unlist":
		list(without)
	case "delete":
		w.remove(&corev1.Secret{}, name(st.token))
	case "track":
		w.remove(&corev1.ConfigMap{}, trackingName)
		if st.day != "" {
			w.create(tracking(d.date(st.day)))
		}
	}
}

func text(w world, d days) string {
	var lines []string
	for _, s := range w.secrets() {
		lines = append(lines, fmt.Sprintf("%s used %q invalid since %q", s.Name, d.day(s.Labels[lastUsedLabel]), d.day(s.Labels[invalidSinceLabel])))
	}
	return strings.Join(lines, "\n") + "\n---\n"
}

// Whatever tokens there are and whatever happens to them in years, both controllers mark and
// delete the same ones on the same days.
func TestTokensGoAsUpstreams(tt *testing.T) {
	upstreamtest.Check(tt, "20", func(r *rapid.T) {
		s := anyStory(r)
		here, there := s.here(r), s.there(tt)
		if diff := cmp.Diff(strings.Split(there, "\n"), strings.Split(here, "\n")); diff != "" {
			r.Fatalf("%+v\n-upstream +here:\n%s", s, diff)
		}
	})
}

// tell runs the story between the daily looks, which begin an hour after it.
func (s story) tell(w world, now func() time.Time, sleep func(time.Duration)) (out string) {
	d := days{now()}
	for _, obj := range s.objects(d) {
		w.create(obj)
	}
	sleep(day / 2)
	for _, st := range s.steps {
		sleep(time.Duration(st.after) * day)
		out += text(w, d)
		st.do(w, d, now())
	}
	sleep(2 * day)
	out += text(w, d)
	sleep(366 * day)
	out += text(w, d)
	sleep(367 * day)
	return out + text(w, d)
}

type hereWorld struct {
	b *clienttest.Bench
	t *sim.Task
	c client.Interface
}

func kindOf(obj runtime.Object) client.Resource {
	switch obj.(type) {
	case *corev1.Secret:
		return client.Secrets
	case *corev1.ServiceAccount:
		return client.ServiceAccounts
	case *corev1.Pod:
		return client.Pods
	}
	return client.ConfigMaps
}

func namespaceOf(obj runtime.Object) string {
	if _, ok := obj.(*corev1.ConfigMap); ok {
		return "kube-system"
	}
	return "demo"
}

func (w hereWorld) get(obj runtime.Object, name string) (runtime.Object, bool) {
	is, err := w.c.Get(w.t, kindOf(obj), namespaceOf(obj), name)
	return is, err == nil
}

func (w hereWorld) create(obj runtime.Object) {
	clienttest.Must(w.c.Create(w.t, kindOf(obj), namespaceOf(obj), obj))
}

func (w hereWorld) update(obj runtime.Object) {
	clienttest.Must(w.c.Update(w.t, kindOf(obj), namespaceOf(obj), obj, ""))
}

func (w hereWorld) remove(obj runtime.Object, name string) {
	if err := w.c.Delete(w.t, kindOf(obj), namespaceOf(obj), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		panic(err)
	}
}

func (w hereWorld) secrets() (all []*corev1.Secret) {
	for _, o := range w.b.Objects(client.Secrets) {
		all = append(all, o.(*corev1.Secret))
	}
	return all
}

func (s story) here(r *rapid.T) (out string) {
	clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
		b.Kernel.NewProcess(t.Process().Lane).Go("later", func(t *sim.Task) {
			t.Sleep(time.Hour)
			start(b)
		})
		out = s.tell(hereWorld{b, t, b.Client()}, t.Now, t.Sleep)
	})
	return out
}

type thereWorld struct {
	ctx context.Context
	c   *fake.Clientset
}

func (w thereWorld) get(obj runtime.Object, name string) (runtime.Object, bool) {
	is, err := w.c.Tracker().Get(kindOf(obj).GroupVersionResource, namespaceOf(obj), name)
	return is, err == nil
}

func (w thereWorld) create(obj runtime.Object) {
	obj.(metav1.Object).SetCreationTimestamp(metav1.Now())
	clienttest.Must(0, w.c.Tracker().Create(kindOf(obj).GroupVersionResource, obj, namespaceOf(obj)))
}

func (w thereWorld) update(obj runtime.Object) {
	clienttest.Must(0, w.c.Tracker().Update(kindOf(obj).GroupVersionResource, obj, namespaceOf(obj)))
}

func (w thereWorld) remove(obj runtime.Object, name string) {
	_ = w.c.Tracker().Delete(kindOf(obj).GroupVersionResource, namespaceOf(obj), name) // it may be gone
}

func (w thereWorld) secrets() (all []*corev1.Secret) {
	list := clienttest.Must(w.c.CoreV1().Secrets("demo").List(w.ctx, metav1.ListOptions{}))
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

func (s story) there(t *testing.T) (out string) {
	upstreamtest.Bubble(t, nil, func(_ context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		n := f.Core().V1()
		controller := clienttest.Must(upstream.NewLegacySATokenCleaner(n.ServiceAccounts(), n.Secrets(), n.Pods(), c, clock.RealClock{},
			upstream.LegacySATokenCleanerOptions{CleanUpPeriod: legacytoken.CleanUpPeriod, SyncInterval: upstream.DefaultCleanerSyncInterval}))
		return func(ctx context.Context) {
			select {
			case <-time.After(time.Hour):
				controller.Run(ctx)
			case <-ctx.Done():
			}
		}
	}, func(ctx context.Context, c *fake.Clientset) {
		out = s.tell(thereWorld{ctx, c}, func() time.Time { return time.Now().UTC() }, time.Sleep)
	})
	return out
}
