package trace

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/fxamacker/cbor/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// An event is written as CBOR with its fields by name, so that a recording
// stays readable when payloads grow fields. An object is written once a block,
// as the protobuf that Kubernetes itself would write, and events name it by
// its place.

var (
	encMode = must(cbor.EncOptions{Sort: cbor.SortCoreDeterministic, Time: cbor.TimeRFC3339Nano}.EncMode())
	decMode = must(cbor.DecOptions{MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 20}.DecMode())
)

// Definitions of custom resources and APIServices are kinds with a protobuf too.
func init() {
	must(0, apiextensionsv1.AddToScheme(scheme.Scheme))
	must(0, apiregistration.AddToScheme(scheme.Scheme))
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// wireEvent is an event in a block.
type wireEvent struct {
	_       struct{} `cbor:",toarray"`
	Seq     uint64
	Sub     uint32
	At      time.Duration
	Lane    [2]string
	Kind    Kind
	Object  *Ref
	Causes  []wireID
	Payload cbor.RawMessage
}

type wireID struct {
	_   struct{} `cbor:",toarray"`
	Seq uint64
	Sub uint32
}

// wireObject is an object in a block.
type wireObject struct {
	_       struct{} `cbor:",toarray"`
	Group   string
	Version string
	Kind    string
	Typed   bool // its TypeMeta was filled in
	JSON    bool // Data is JSON, for objects without a protobuf
	Data    []byte
}

// MarshalCBOR writes the object's place among the objects of its block.
func (o *Object) MarshalCBOR() ([]byte, error) { return encMode.Marshal(o.place) }

// UnmarshalCBOR reads what MarshalCBOR wrote.
func (o *Object) UnmarshalCBOR(data []byte) error { return decMode.Unmarshal(data, &o.place) }

// objectFields are the places of a payload that hold objects. A test holds
// that there are no others.
func objectFields(payload any) []**Object {
	switch p := payload.(type) {
	case *Request:
		return []**Object{&p.Body}
	case *Response:
		return []**Object{&p.Object}
	case *WatchEvent:
		return []**Object{&p.Object}
	case *Commit:
		fields := make([]**Object, len(p.Changes))
		for i := range p.Changes {
			fields[i] = &p.Changes[i].Value
		}
		return fields
	}
	return nil
}

// detach copies a payload far enough that its objects can be exchanged.
func detach(payload any) any {
	switch p := payload.(type) {
	case *Request:
		c := *p
		return &c
	case *Response:
		c := *p
		return &c
	case *WatchEvent:
		c := *p
		return &c
	case *Commit:
		c := *p
		c.Changes = append([]KeyChange(nil), p.Changes...)
		return &c
	}
	return payload
}

// encodeEvent writes an event; place gives the number of an object.
func encodeEvent(e *Event, place func(runtime.Object) (uint32, error)) ([]byte, error) {
	w := wireEvent{Seq: e.ID.Seq, Sub: e.ID.Sub, At: e.At, Lane: [2]string{e.Lane.Component, e.Lane.Instance}, Kind: e.Kind}
	if e.Object != (Ref{}) {
		w.Object = &e.Object
	}
	for _, c := range e.Causes {
		w.Causes = append(w.Causes, wireID{Seq: c.Seq, Sub: c.Sub})
	}
	payload, err := encodePayload(e.Payload, place)
	if err != nil {
		return nil, fmt.Errorf("event %s (%s): %w", e.ID, e.Kind, err)
	}
	w.Payload = payload
	return encMode.Marshal(&w)
}

var null = cbor.RawMessage{0xf6}

func encodePayload(payload any, place func(runtime.Object) (uint32, error)) (cbor.RawMessage, error) {
	if payload == nil || reflect.ValueOf(payload).IsNil() {
		return null, nil
	}
	payload = detach(payload)
	for _, f := range objectFields(payload) {
		if *f == nil {
			continue
		}
		if (*f).Value == nil {
			*f = nil
			continue
		}
		n, err := place((*f).Value)
		if err != nil {
			return nil, err
		}
		*f = &Object{place: n}
	}
	return encMode.Marshal(payload)
}

// decodeEvent reads what encodeEvent wrote. A kind that this version does not
// know keeps everything but its payload.
func decodeEvent(data []byte, objects []*Object) (e *Event, rest []byte, err error) {
	var w wireEvent
	rest, err = decMode.UnmarshalFirst(data, &w)
	if err != nil {
		return nil, nil, err
	}
	e = &Event{ID: ID{w.Seq, w.Sub}, At: w.At, Lane: Lane{w.Lane[0], w.Lane[1]}, Kind: w.Kind}
	if w.Object != nil {
		e.Object = *w.Object
	}
	for _, c := range w.Causes {
		e.Causes = append(e.Causes, ID{c.Seq, c.Sub})
	}
	payload := e.Kind.Info().NewPayload()
	if payload == nil || len(w.Payload) == 0 || w.Payload[0] == null[0] {
		return e, rest, nil
	}
	if err := decMode.Unmarshal(w.Payload, payload); err != nil {
		return nil, nil, fmt.Errorf("event %s (%s): %w", e.ID, e.Kind, err)
	}
	for _, f := range objectFields(payload) {
		if *f == nil {
			continue
		}
		n := (*f).place
		if int(n) >= len(objects) {
			return nil, nil, fmt.Errorf("event %s (%s): names object %d of %d", e.ID, e.Kind, n, len(objects))
		}
		*f = objects[n]
	}
	e.Payload = payload
	return e, rest, nil
}

type marshaler interface{ Marshal() ([]byte, error) }

type unmarshaler interface{ Unmarshal([]byte) error }

// encodeObject writes an object as Kubernetes' protobuf, or as JSON where it
// has none.
func encodeObject(o runtime.Object) (*wireObject, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	w := &wireObject{Typed: !gvk.Empty()}
	if gvk.Empty() {
		kinds, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil || len(kinds) == 0 {
			return nil, fmt.Errorf("object of type %T: %w", o, err)
		}
		gvk = kinds[0]
	}
	w.Group, w.Version, w.Kind = gvk.Group, gvk.Version, gvk.Kind
	var err error
	if m, ok := o.(marshaler); ok && scheme.Scheme.Recognizes(gvk) {
		w.Data, err = m.Marshal()
	} else {
		w.JSON = true
		w.Data, err = json.Marshal(o)
	}
	if err != nil {
		return nil, fmt.Errorf("object of type %T: %w", o, err)
	}
	return w, nil
}

func decodeObject(w *wireObject) (runtime.Object, error) {
	gvk := schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind}
	o, err := scheme.Scheme.New(gvk)
	if err != nil {
		if !w.JSON {
			return nil, fmt.Errorf("object of unknown kind %s", gvk)
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(w.Data, &u.Object); err != nil {
			return nil, fmt.Errorf("object of kind %s: %w", gvk, err)
		}
		return u, nil
	}
	if m, ok := o.(unmarshaler); ok && !w.JSON {
		err = m.Unmarshal(w.Data)
	} else {
		err = json.Unmarshal(w.Data, o)
	}
	if err != nil {
		return nil, fmt.Errorf("object of kind %s: %w", gvk, err)
	}
	if w.Typed {
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
	return o, nil
}
