package record

// lru keeps the values used last, at most as many as it is big; the zero value
// with a limit is empty. It is k8s.io/utils/lru with keys and values in the
// entries themselves: a thousand kubelets have three each.
type lru[V any] struct {
	limit   int
	entries map[key]*used[V]
	newest  *used[V]
	oldest  *used[V]
}

type used[V any] struct {
	key          key
	newer, older *used[V]
	value        V
}

// get is the value of k, which is the newest from now on, and whether it was
// there; if not it is the zero value, and in place of the oldest one if there
// was no room.
func (l *lru[V]) get(k key) (v *V, had bool) {
	u := l.entries[k]
	switch {
	case u == nil:
		u = l.add(k)
	case u != l.newest:
		had = true
		l.unlink(u)
		l.link(u)
	default:
		had = true
	}
	return &u.value, had
}

func (l *lru[V]) add(k key) *used[V] {
	if l.entries == nil {
		l.entries = map[key]*used[V]{}
	}
	if len(l.entries) >= l.limit {
		delete(l.entries, l.oldest.key)
		l.unlink(l.oldest)
	}
	u := &used[V]{key: k}
	l.entries[k] = u
	l.link(u)
	return u
}

// link makes an entry the newest.
func (l *lru[V]) link(u *used[V]) {
	u.older, u.newer = l.newest, nil
	if l.newest != nil {
		l.newest.newer = u
	} else {
		l.oldest = u
	}
	l.newest = u
}

func (l *lru[V]) unlink(u *used[V]) {
	if u.newer != nil {
		u.newer.older = u.older
	} else {
		l.newest = u.older
	}
	if u.older != nil {
		u.older.newer = u.newer
	} else {
		l.oldest = u.newer
	}
}
