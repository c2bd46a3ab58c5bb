package informer

import (
	"slices"
	"strings"

	"github.com/tidwall/btree"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// store is the objects of one kind, sorted by key, with indexes
// (tools/cache thread_safe_store.go).
type store struct {
	items   objects
	indexes map[string]*index
	names   []string // of the indexes, in the order they were added
}

type index struct {
	name   string
	fn     IndexFunc
	values map[string]objects
}

func newStore() *store { return &store{items: newObjects(0), indexes: map[string]*index{}} }

// objects are some of a kind, sorted by key: a [btree.Map], behind an interface so that
// the packages that import this one do not each compile its methods again.
type objects interface {
	Len() int
	Get(key string) (runtime.Object, bool)
	Set(key string, obj runtime.Object) (old runtime.Object, had bool)
	Delete(key string) (old runtime.Object, had bool)
	Ascend(from string, visit func(key string, obj runtime.Object) bool)
	Scan(visit func(key string, obj runtime.Object) bool)
	Keys() []string
	Values() []runtime.Object
}

//go:noinline
func newObjects(degree int) objects { return btree.NewMap[string, runtime.Object](degree) }

// KeyOf is an object's key: "namespace/name" or "name".
func KeyOf(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic("informer: KeyOf an object without metadata: " + err.Error())
	}
	return Key(m.GetNamespace(), m.GetName())
}

// Key is "namespace/name", or "name" where there is no namespace.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitKey is the inverse of Key.
func SplitKey(key string) (namespace, name string) {
	if ns, n, ok := strings.Cut(key, "/"); ok {
		return ns, n
	}
	return "", key
}

func (s *store) len() int { return s.items.Len() }

func (s *store) get(key string) (runtime.Object, bool) { return s.items.Get(key) }

// of is under which values an object is found: none where the function panics at it, which must not
// keep the others out (upstream's threadSafeMap ends its process).
func (in *index) of(t *sim.Task, obj runtime.Object) (values []string) {
	if broken := t.HandleCrash(func() { values = in.fn(obj) }); broken != nil {
		t.TellCrash(client.RefOf(obj), "index "+in.name, broken)
	}
	return values
}

// set puts the object in and gives the one it replaces.
func (s *store) set(t *sim.Task, key string, obj runtime.Object) (old runtime.Object, had bool) {
	old, had = s.items.Set(key, obj)
	for _, name := range s.names {
		in := s.indexes[name]
		values := in.of(t, obj)
		if had {
			if was := in.of(t, old); !slices.Equal(was, values) { // else it takes the old one's place
				in.remove(key, was)
			}
		}
		in.insert(key, obj, values)
	}
	return old, had
}

func (s *store) remove(t *sim.Task, key string) (old runtime.Object, had bool) {
	old, had = s.items.Delete(key)
	if had {
		for _, name := range s.names {
			in := s.indexes[name]
			in.remove(key, in.of(t, old))
		}
	}
	return old, had
}

func (s *store) list(prefix string) []runtime.Object {
	if prefix == "" {
		return s.items.Values()
	}
	var out []runtime.Object
	s.items.Ascend(prefix, func(key string, obj runtime.Object) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		out = append(out, obj)
		return true
	})
	return out
}

func (s *store) keys() []string { return s.items.Keys() }

func (s *store) addIndex(name string, fn IndexFunc) {
	if slices.Contains(s.names, name) {
		return
	}
	in := &index{name: name, fn: fn, values: map[string]objects{}}
	s.indexes[name], s.names = in, append(s.names, name)
	s.items.Scan(func(key string, obj runtime.Object) bool {
		in.insert(key, obj, fn(obj))
		return true
	})
}

func (s *store) byIndex(name, value string) []runtime.Object {
	in := s.indexes[name]
	if in == nil {
		panic("informer: no index " + name + "; call AddIndex first")
	}
	if m := in.values[value]; m != nil {
		return m.Values()
	}
	return nil
}

func (s *store) eachByIndex(name, value string, fn func(runtime.Object)) {
	in := s.indexes[name]
	if in == nil {
		panic("informer: no index " + name + "; call AddIndex first")
	}
	if m := in.values[value]; m != nil {
		m.Scan(func(_ string, obj runtime.Object) bool {
			fn(obj)
			return true
		})
	}
}

func (in *index) insert(key string, obj runtime.Object, values []string) {
	for _, v := range values {
		m := in.values[v]
		if m == nil {
			// Small nodes: most values of an index have a handful of objects.
			m = newObjects(8)
			in.values[v] = m
		}
		m.Set(key, obj)
	}
}

func (in *index) remove(key string, values []string) {
	for _, v := range values {
		m := in.values[v]
		if m == nil {
			continue
		}
		m.Delete(key)
		if m.Len() == 0 {
			delete(in.values, v)
		}
	}
}
