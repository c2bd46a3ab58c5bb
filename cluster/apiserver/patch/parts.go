package patch

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// partFields are the Go fields of an object's parts.
var partFields = map[string]string{"metadata": "ObjectMeta", "spec": "Spec", "status": "Status"}

// parts applies a component's merge or strategic merge patch to those
// parts of the object that it names: metadata, spec, status. Neither kind of
// patch looks at a part it does not name, and most name the small ones: a taint
// is not worth the JSON of a node's status. ok is false for any other patch.
// Its result is the same: TestPatchOfPartsIsThePatchOfTheWhole compares.
func (p *Patch) parts(old runtime.Object) (patched runtime.Object, ok bool, err error) {
	if !p.System || old == nil || p.Type != types.MergePatchType && p.Type != types.StrategicMergePatchType {
		return nil, false, nil
	}
	if pod, ok := p.podStatus(old); ok {
		return pod, true, nil
	}
	var touched map[string]json.RawMessage
	if json.Unmarshal(p.Data, &touched) != nil || len(touched) == 0 {
		return nil, false, nil
	}
	part := p.Kind.New()
	from, to := reflect.ValueOf(old).Elem(), reflect.ValueOf(part).Elem()
	for name := range touched {
		field := from.FieldByName(partFields[name])
		if !field.IsValid() {
			return nil, false, nil
		}
		to.FieldByName(partFields[name]).Set(field)
	}
	part.GetObjectKind().SetGroupVersionKind(p.Kind.GVK())
	if part, err = p.whole(part); err != nil {
		return nil, true, err
	}
	patched = old.DeepCopyObject()
	from, to = reflect.ValueOf(part).Elem(), reflect.ValueOf(patched).Elem()
	for name := range touched {
		to.FieldByName(partFields[name]).Set(from.FieldByName(partFields[name]))
	}
	patched.GetObjectKind().SetGroupVersionKind(p.Kind.GVK())
	return patched, true, nil
}
