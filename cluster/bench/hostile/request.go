package hostile

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Request is one request of the weak client.
type Request struct {
	N      uint64 // its number
	Part   string // what it is built from
	Detail string // how much of it
	Method string
	Path   string
	Type   string // of the body
	Accept string
	Body   []byte
	Unread bool // the client reads nothing of the answer and waits until its patience ends
}

// String is the request in a line: "#214 pattern (51,200 characters) POST /apis/…".
func (r Request) String() string {
	path := r.Path
	if len(path) > 100 {
		path = path[:100] + "…"
	}
	return fmt.Sprintf("#%d %s (%s) %s %s", r.N, r.Part, r.Detail, r.Method, path)
}

// At is the request with a number: the same for the same seed, whatever was sent before. only names
// the part that it is built from; "" leaves the choice to the seed.
func At(seed, n uint64, only string) Request {
	d := &draw{rand.New(rand.NewPCG(seed, n)), n} //nolint // not a secret
	chosen := parts[d.IntN(len(parts))]
	for _, p := range parts {
		if p.name == only {
			chosen = p
		}
	}
	r := chosen.build(d)
	r.N, r.Part = n, chosen.name
	return r
}

// Parts are the names of what requests are built from.
func Parts() []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

// draw is the randomness of one request.
type draw struct {
	*rand.Rand
	n uint64
}

// upTo draws a size from 1 to most, small ones as often as big ones.
func (d *draw) upTo(most int) int {
	return min(most, int(math.Exp(d.Float64()*math.Log(float64(most)+1))))
}

// name is one that no other request has.
func (d *draw) name() string { return fmt.Sprintf("x%d", d.n) }

func one[T any](d *draw, all ...T) T { return all[d.IntN(len(all))] }

type (
	object = map[string]any
	list   = []any
)

const (
	core   = "/api/v1/namespaces/" + Namespace + "/"
	rbac   = "/apis/rbac.authorization.k8s.io/v1/"
	custom = "/apis/example.com/v1/namespaces/" + Namespace + "/"

	jsonType  = "application/json"
	yamlType  = "application/yaml"
	cborType  = "application/cbor"
	applyType = "application/apply-patch+yaml"
	mergeType = "application/merge-patch+json"
	smpType   = "application/strategic-merge-patch+json"
	patchType = "application/json-patch+json"
	tableType = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps, lists and strings
	}
	return b
}

func text(n int) string { return strings.Repeat("kilobyte", n/8+1)[:n] }

// nested is an object so many levels deep.
func nested(n int) any {
	var v any = 1
	for range n {
		v = object{"a": v}
	}
	return v
}

// deepJSON is the same as text: a value of Go that deep cannot be encoded.
func deepJSON(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
