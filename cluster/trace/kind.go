package trace

import (
	"fmt"
	"reflect"
	"sort"
)

// Kind is what sort of thing happened: one of a closed, documented set. A
// kind's name is "area.verb"; its [Info] has the glossary entry.
type Kind string

// Info documents a kind: for the screen's glossary, for stepping, and for
// reading recordings back.
type Info struct {
	Kind    Kind
	Grain   Grain
	Outside bool   // raft or wall-clock lane
	Means   string // one sentence in plain words
	Look    string // what to look at when it happens
	Source  string // where the real thing lives: a symbol in Kubernetes or etcd

	payload reflect.Type // the struct type; nil when the kind has no payload
}

// NewPayload returns a pointer to a zero payload of the kind, or nil.
func (in Info) NewPayload() any {
	if in.payload == nil {
		return nil
	}
	return reflect.New(in.payload).Interface()
}

// PayloadType is the payload's Go type name, or "" where there is none.
func (in Info) PayloadType() string {
	if in.payload == nil {
		return ""
	}
	return in.payload.Name()
}

var kinds = map[Kind]Info{}

// define enters a kind into the closed set. It is called only from this
// package's variable declarations, so the set is complete before main.
func define[P any](k Kind, g Grain, means, look, source string) Kind {
	return enter[P](Info{Kind: k, Grain: g, Means: means, Look: look, Source: source})
}

// outside is [define] for the raft and wall-clock lanes.
func outside[P any](k Kind, means, look, source string) Kind {
	return enter[P](Info{Kind: k, Grain: GrainRaft, Outside: true, Means: means, Look: look, Source: source})
}

func enter[P any](in Info) Kind {
	if _, dup := kinds[in.Kind]; dup {
		panic(fmt.Sprintf("trace: kind %q is defined twice", in.Kind))
	}
	if t := reflect.TypeFor[P](); t != reflect.TypeFor[none]() {
		in.payload = t
	}
	kinds[in.Kind] = in
	return in.Kind
}

// none is the payload type of kinds that have no payload.
type none struct{}

// Info returns the kind's documentation. An unknown kind (from a newer
// recording) answers with itself as its meaning.
func (k Kind) Info() Info {
	if in, ok := kinds[k]; ok {
		return in
	}
	return Info{Kind: k, Means: "an event kind this version of kviz does not know"}
}

// Known reports whether k is in the closed set.
func (k Kind) Known() bool { _, ok := kinds[k]; return ok }

// Kinds lists the closed set, sorted by name.
func Kinds() []Info {
	all := make([]Info, 0, len(kinds))
	for _, in := range kinds {
		all = append(all, in)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Kind < all[j].Kind })
	return all
}
