package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"kviz/cluster/trace"
)

// cached is an informer, and what its handler was told.
type cached struct {
	s        *soak
	name     string
	informer cache.SharedIndexInformer

	mu   sync.Mutex
	seen map[string]uint64 // the last version, by UID
	gone map[string]bool   // UIDs that were deleted

	listed int // objects that a new list had as they were
	wrong  []string
}

// caches are informers of every sort there is: typed ones, in JSON and protobuf, that
// begin with a WatchList or with a list, and a dynamic one.
func (s *soak) caches() []*cached {
	typed := func(watchList bool, contentType string) cache.SharedIndexInformer {
		c := s.client(func(c *rest.Config) { c.ContentType, c.AcceptContentTypes = contentType, contentType })
		lw := cache.NewListWatchFromClient(c.CoreV1().RESTClient(), "configmaps", soakSpace, fields.Everything())
		return cache.NewSharedIndexInformer(semantics{lw, !watchList}, &corev1.ConfigMap{}, 0, nil)
	}
	all := []*cached{
		{name: "watch list, JSON", informer: typed(true, "application/json")},
		{name: "list and watch, protobuf", informer: typed(false, "application/vnd.kubernetes.protobuf")},
		{name: "watch list, protobuf", informer: typed(true, "application/vnd.kubernetes.protobuf")},
		{name: "dynamic", informer: dynamicinformer.NewFilteredDynamicInformer(s.dynamic(), configMaps, soakSpace, 0, nil, nil).Informer()},
	}
	for _, c := range all {
		c.s, c.seen, c.gone = s, map[string]uint64{}, map[string]bool{}
		if _, err := c.informer.AddEventHandler(c); err != nil {
			s.t.Fatal(err)
		}
	}
	return all
}

// semantics says whether a reflector may begin with a WatchList.
type semantics struct {
	cache.ListerWatcher
	no bool
}

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (l semantics) IsWatchListSemanticsUnSupported() bool { return l.no }

// OnAdd, OnUpdate and OnDelete hear of the objects (cache.ResourceEventHandler).
func (c *cached) OnAdd(obj any, _ bool) { c.saw("added", obj) }

// OnUpdate hears of a change; and, after each new list, of what has not changed.
func (c *cached) OnUpdate(old, obj any) {
	if was, now := versionOf(old), versionOf(obj); was == now {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listed++
		return
	}
	c.saw("changed", obj)
}

func versionOf(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return m.GetResourceVersion()
}

// OnDelete hears of a deletion. Of one that was missed it hears at the next list.
func (c *cached) OnDelete(obj any) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
		c.mark(obj, false)
		return
	}
	c.mark(obj, true)
}

// mark notes that an object is gone; a watch tells so with a newer version.
func (c *cached) mark(obj any, newer bool) {
	if newer {
		c.saw("deleted", obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone[string(m.GetUID())] = true
}

// saw holds that the versions of an object are each newer than the one before, and
// that nothing is heard of it after its end.
func (c *cached) saw(what string, obj any) {
	m, err := meta.Accessor(obj)
	if err != nil {
		c.wrong = append(c.wrong, err.Error())
		return
	}
	rv, err := strconv.ParseUint(m.GetResourceVersion(), 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	id := string(m.GetUID())
	if last := c.seen[id]; err != nil || rv <= last || c.gone[id] {
		c.wrong = append(c.wrong, fmt.Sprintf("%s %s at version %s after %d (deleted: %v)", what, m.GetName(), m.GetResourceVersion(), last, c.gone[id]))
	}
	c.seen[id] = rv
}

// differs is what the cache has otherwise than the store; "" for nothing.
func (c *cached) differs(truth map[string]string) string {
	has := map[string]string{}
	for _, obj := range c.informer.GetStore().List() {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err.Error()
		}
		has[m.GetName()] = m.GetResourceVersion()
	}
	return apart(has, truth)
}

func apart(has, truth map[string]string) string {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(truth)) {
		if has[name] != truth[name] {
			wrong = append(wrong, fmt.Sprintf("%s at %q, in the store at %s", name, has[name], truth[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if truth[name] == "" {
			wrong = append(wrong, name+" is not in the store")
		}
	}
	return strings.Join(wrong, "; ")
}

// judge tells what was wrong on the way, and that the last versions are those in the
// cache.
func (c *cached) judge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wrong) > 0 {
		c.s.t.Errorf("%s: %s", c.name, strings.Join(c.wrong, "\n"))
	}
	if len(c.seen) == 0 {
		c.s.t.Errorf("%s has seen nothing", c.name)
	}
}

// resumed is a watch that goes on where its connection broke off
// (client-go's RetryWatcher), and begins anew from a list only when it is told 410. From
// one beginning to the next it must see every change that the store made.
type resumed struct {
	s        *soak
	mu       sync.Mutex
	resumes  int
	segments []*segment

	reading sync.Mutex
	at      uint64 // the next event of the trace
	known   map[string]bool
	made    []commit
}

// segment is what was seen after one list.
type segment struct {
	from uint64
	saw  []string          // "revision type name"
	last uint64            // the newest revision
	has  map[string]string // names and versions
}

func (r *resumed) run(ctx context.Context) {
	api := r.s.client(nil).CoreV1().ConfigMaps(soakSpace)
	for ctx.Err() == nil {
		list, err := api.List(ctx, metav1.ListOptions{})
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		from, _ := strconv.ParseUint(list.ResourceVersion, 10, 64)
		seg := &segment{from: from, last: from, has: map[string]string{}}
		for _, cm := range list.Items {
			seg.has[cm.Name] = cm.ResourceVersion
		}
		r.mu.Lock()
		r.segments = append(r.segments, seg)
		r.mu.Unlock()
		w, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			r.mu.Lock()
			r.resumes++
			r.mu.Unlock()
			return api.Watch(ctx, o)
		}})
		if err != nil {
			r.s.t.Error(err)
			return
		}
		for e := range w.ResultChan() {
			if e.Type == watch.Error {
				if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
					r.s.t.Logf("the resumed watch was told %v", err)
				}
				break
			}
			r.take(seg, e.Type, e.Object)
		}
		w.Stop()
	}
}

func (r *resumed) take(seg *segment, what watch.EventType, obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		r.s.t.Error(err)
		return
	}
	rv, err := strconv.ParseUint(m.GetResourceVersion(), 10, 64)
	if err != nil {
		r.s.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seg.saw = append(seg.saw, fmt.Sprintf("%d %s %s", rv, what, m.GetName()))
	seg.last = rv
	if what == watch.Deleted {
		delete(seg.has, m.GetName())
	} else {
		seg.has[m.GetName()] = m.GetResourceVersion()
	}
}

// behind is what it has not seen yet.
func (r *resumed) behind(truth map[string]string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.segments) == 0 {
		return "it has not begun"
	}
	return apart(r.segments[len(r.segments)-1].has, truth)
}

// judge compares every segment with what was committed.
func (r *resumed) judge() {
	made := r.commits()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, seg := range r.segments {
		var want []string
		for _, c := range made {
			if c.revision > seg.from && c.revision <= seg.last {
				want = append(want, c.text)
			}
		}
		if !slices.Equal(seg.saw, want) {
			r.s.t.Errorf("the watch from %d to %d saw\n%s\nbut what happened is\n%s", seg.from, seg.last, strings.Join(seg.saw, "\n"), strings.Join(want, "\n"))
		}
	}
}

// follow reads the trace, which forgets what is old, for what is committed.
func (r *resumed) follow(ctx context.Context) {
	for ctx.Err() == nil {
		r.commits()
		time.Sleep(100 * time.Millisecond)
	}
}

// commits are what the store has done to the ConfigMaps.
func (r *resumed) commits() []commit {
	r.reading.Lock()
	defer r.reading.Unlock()
	stream := r.s.c.Trace()
	if first := stream.First(); first > r.at && r.at > 0 {
		r.s.t.Errorf("the trace has forgotten the events from %d to %d before they were read", r.at, first)
	}
	events, next, _ := stream.Read(max(r.at, stream.First()), 1<<20)
	r.at = next
	if r.known == nil {
		r.known = map[string]bool{}
	}
	for _, e := range events {
		p, ok := e.Payload.(*trace.Commit)
		if !ok {
			continue
		}
		for _, ch := range p.Changes {
			name, ok := strings.CutPrefix(ch.Key, "/registry/configmaps/"+soakSpace+"/")
			if !ok {
				continue
			}
			what := watch.Modified
			switch {
			case ch.Deleted:
				what = watch.Deleted
			case !r.known[name]:
				what = watch.Added
			}
			r.known[name] = what != watch.Deleted
			r.made = append(r.made, commit{uint64(p.Revision), fmt.Sprintf("%d %s %s", p.Revision, what, name)})
		}
	}
	return r.made
}

type commit struct {
	revision uint64
	text     string
}
