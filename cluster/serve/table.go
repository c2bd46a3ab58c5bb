package serve

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdtable "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	storageutil "k8s.io/kubernetes/pkg/apis/storage/util"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
)

// tables prints objects as kubectl get shows them, with Kubernetes' own
// printers (k8s.io/kubernetes/pkg/printers/internalversion).
type tables struct{ generator printers.TableGenerator }

func newTables() tables {
	return tables{printers.NewTableGenerator().With(internalversion.AddHandlers, addAPIServices)}
}

// table prints the items, one row each. The printers compute ages against the
// machine's clock, so each item is printed from a copy whose timestamps are as
// far from the machine's clock as the item's are from virtual now.
func (g tables) table(k *registry.Kind, items []runtime.Object, list metav1.ListMeta, single bool, out output, now time.Time) (runtime.Object, *metav1.Status) {
	table := &metav1.Table{ListMeta: list, Rows: []metav1.TableRow{}}
	if !out.table.NoHeaders {
		table.ColumnDefinitions = []metav1.TableColumnDefinition{}
	}
	table.SetGroupVersionKind(*out.convert)
	byDefault := ""
	if !single {
		byDefault = defaultClass(items)
	}
	for i, item := range items {
		if err := out.client.Err(); err != nil && i > 0 { // nobody would read the rest
			return nil, statusOf(err)
		}
		part, err := g.print(k, item, now, out.table.NoHeaders)
		if err != nil {
			return nil, statusOf(err)
		}
		if i == 0 && !out.table.NoHeaders {
			table.ColumnDefinitions = part.ColumnDefinitions
		}
		for _, row := range part.Rows {
			if class, ok := item.(*storagev1.StorageClass); ok && class.Name == byDefault && len(row.Cells) > 0 {
				row.Cells[0] = class.Name + " (default)"
			}
			if row.Object, err = rowObject(item, out); err != nil {
				return nil, statusOf(err)
			}
			table.Rows = append(table.Rows, row)
		}
	}
	if single && len(items) == 1 {
		if m, err := meta.Accessor(items[0]); err == nil {
			table.ResourceVersion = m.GetResourceVersion()
		}
	}
	return table, nil
}

// defaultClass is the StorageClass, among those in a list, that claims without a class get; "" where
// none says so (printers.go getEffectiveDefaultStorageClass). It is known of the whole list only,
// and items are printed one by one.
func defaultClass(items []runtime.Object) string {
	var first *storagev1.StorageClass
	for _, item := range items {
		class, ok := item.(*storagev1.StorageClass)
		if !ok || !storageutil.IsDefaultAnnotation(class.ObjectMeta) {
			continue
		}
		if first == nil || first.CreationTimestamp.Before(&class.CreationTimestamp) ||
			first.CreationTimestamp.Equal(&class.CreationTimestamp) && class.Name < first.Name {
			first = class
		}
	}
	if first == nil {
		return ""
	}
	return first.Name
}

// columns are those of a table without rows; own says that the kind has a printer
// of its own.
func (g tables) columns(k *registry.Kind) (columns []metav1.TableColumnDefinition, own bool) {
	if k == nil {
		return nil, true
	}
	if k.Custom != nil {
		if t, err := crd.Table(k, nil, time.Time{}); err == nil {
			return t.ColumnDefinitions, true
		}
		return nil, true
	}
	sample, err := legacyscheme.Scheme.New(k.GVK())
	if err != nil {
		return nil, true
	}
	t, err := g.print(k, sample, time.Time{}, false)
	if err != nil {
		return nil, true
	}
	own = !slices.ContainsFunc(t.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == createdAt })
	return t.ColumnDefinitions, own
}

func (g tables) print(k *registry.Kind, item runtime.Object, now time.Time, noHeaders bool) (*metav1.Table, error) {
	if _, ok := item.(*unstructured.Unstructured); ok && k != nil && k.Custom != nil {
		t, err := crd.Table(k, item, now)
		if err == nil && noHeaders {
			t.ColumnDefinitions = nil
		}
		return t, err
	}
	switch o := item.(type) {
	case *storagev1.CSIStorageCapacity: // its printer is not used (csistoragecapacity/storage NewStorage)
		return defaultTable(item), nil
	case *apiextensionsv1.CustomResourceDefinition:
		return definitionTable(o, noHeaders)
	}
	copied := item.DeepCopyObject()
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(copied, schema.GroupVersion{Group: groupOf(item), Version: runtime.APIVersionInternal})
	if err != nil {
		return defaultTable(item), nil
	}
	shiftTimes(internal, now, time.Now()) // the printers take ages from the machine's clock
	t, err := g.generator.GenerateTable(internal, printers.GenerateOptions{Wide: true, NoHeaders: noHeaders})
	if err != nil {
		return defaultTable(item), nil
	}
	return t, nil
}

func groupOf(obj runtime.Object) string {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(obj)
	if err != nil || len(kinds) == 0 {
		return ""
	}
	return kinds[0].Group
}

// definitionTable is apiextensions' own.
func definitionTable(crd *apiextensionsv1.CustomResourceDefinition, noHeaders bool) (*metav1.Table, error) {
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd.DeepCopy(), &internal, nil); err != nil {
		return nil, err
	}
	return crdtable.New().ConvertToTable(context.Background(), &internal, &metav1.TableOptions{NoHeaders: noHeaders})
}

// createdAt is a column of kinds without a printer among Kubernetes' own.
const createdAt = "Created At"

// defaultTable is the table of kinds that have no printer of their own
// (apiserver pkg/registry/rest/table.go defaultTableConvertor).
func defaultTable(item runtime.Object) *metav1.Table {
	t := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
		{Name: createdAt, Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
	}}
	if m, err := meta.Accessor(item); err == nil {
		t.Rows = []metav1.TableRow{{Cells: []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)}}}
	}
	return t
}

func rowObject(item runtime.Object, out output) (runtime.RawExtension, error) {
	switch out.table.IncludeObject {
	case metav1.IncludeNone:
		return runtime.RawExtension{}, nil
	case metav1.IncludeObject:
		return runtime.RawExtension{Object: named(item)}, nil
	}
	p, status := partial(item, out.convert.GroupVersion())
	if status != nil {
		return runtime.RawExtension{}, &apierrors.StatusError{ErrStatus: *status}
	}
	return runtime.RawExtension{Object: p}, nil
}

// agedFor reports whether kubectl will compute ages from the answer against
// the machine's clock and not show the timestamps themselves: the events and a
// node's pods in kubectl describe, kubectl events, and the pods of which kubectl top
// finds no metrics. kubectl says which command it runs in a header of its own (SIG CLI KEP 859).
func agedFor(r *http.Request, req *request.Request) bool {
	command := r.Header.Get("Kubectl-Command")
	switch {
	case strings.HasPrefix(command, "kubectl top"):
		return req.Resource.Resource == "pods" && req.Proxied == nil
	case req.Verb != "list":
		return false
	case strings.HasPrefix(command, "kubectl events"):
		return req.Resource.Resource == "events"
	case strings.HasPrefix(command, "kubectl describe"):
		return req.Resource.Resource == "events" ||
			req.Resource.Resource == "pods" && strings.Contains(req.List.FieldSelector, "spec.nodeName=")
	}
	return false
}

// shiftTimes moves every timestamp in obj from virtual to wall time, so that
// its age, in whole seconds, reads the same. Rounding the age down first keeps
// what is printed independent of how long the printing takes.
func shiftTimes(obj runtime.Object, now, wall time.Time) {
	shift := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		age := now.Sub(at)
		whole := age.Truncate(time.Second)
		if age < 0 && whole != age {
			whole -= time.Second
		}
		return wall.Add(-whole)
	}
	walkTimes(reflect.ValueOf(obj), shift)
}

var (
	timeType  = reflect.TypeFor[metav1.Time]()
	microType = reflect.TypeFor[metav1.MicroTime]()
)

func walkTimes(v reflect.Value, shift func(time.Time) time.Time) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walkTimes(v.Elem(), shift)
		}
	case reflect.Slice:
		if mayHoldTimes(v.Type().Elem().Kind()) {
			for i := range v.Len() {
				walkTimes(v.Index(i), shift)
			}
		}
	case reflect.Struct:
		switch v.Type() {
		case timeType:
			if v.CanSet() {
				v.Set(reflect.ValueOf(metav1.Time{Time: shift(v.Interface().(metav1.Time).Time)}))
			}
			return
		case microType:
			if v.CanSet() {
				v.Set(reflect.ValueOf(metav1.MicroTime{Time: shift(v.Interface().(metav1.MicroTime).Time)}))
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() && mayHoldTimes(f.Kind()) {
				walkTimes(f, shift)
			}
		}
	}
}

func mayHoldTimes(k reflect.Kind) bool {
	return k == reflect.Struct || k == reflect.Pointer || k == reflect.Slice || k == reflect.Interface
}
