package crd

import (
	"context"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/registry/rest"

	"kviz/cluster/apiserver/registry"
)

// printer prints a custom kind's objects as kubectl get shows them: the columns of
// additionalPrinterColumns, or the age. It is used by the callers' goroutines.
type printer struct {
	mu      sync.Mutex
	rows    rest.TableConvertor
	columns []metav1.TableColumnDefinition
}

var ageColumn = []apiextensionsv1.CustomResourceColumnDefinition{{
	Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
}}

// Table is the table of one object of a custom kind, whose ages are by now;
// of none if obj is nil. Safe for concurrent use.
func Table(k *registry.Kind, obj runtime.Object, now time.Time) (*metav1.Table, error) {
	v := Of(k)
	v.printer.mu.Lock()
	defer v.printer.mu.Unlock()
	if v.printer.rows == nil {
		if err := v.makePrinter(); err != nil {
			return nil, err
		}
	}
	t := &metav1.Table{}
	if obj != nil {
		var err error
		if t, err = v.printer.rows.ConvertToTable(context.Background(), obj, &metav1.TableOptions{NoHeaders: true}); err != nil {
			return nil, err
		}
	}
	t.ColumnDefinitions = v.printer.columns
	for _, row := range t.Rows {
		for i, cell := range row.Cells {
			if at, ok := cell.(string); ok && i > 0 && v.printer.columns[i].Type == "date" {
				row.Cells[i] = age(at, now)
			}
		}
	}
	return t, nil
}

// makePrinter makes upstream's converter, which computes ages by the machine's
// clock: it is told that dates are text, and age reads that by the virtual one.
func (v *Version) makePrinter() error {
	columns := v.spec.AdditionalPrinterColumns
	if len(columns) == 0 {
		columns = ageColumn
	}
	plain := make([]apiextensionsv1.CustomResourceColumnDefinition, len(columns))
	copy(plain, columns)
	for i := range plain {
		if plain[i].Type == "date" {
			plain[i].Type = "string"
		}
	}
	rows := newColumns(plain)
	none, err := rows.ConvertToTable(context.Background(), v.of.kinds[0].New(), nil)
	if err != nil {
		return err
	}
	v.printer.rows, v.printer.columns = rows, append([]metav1.TableColumnDefinition(nil), none.ColumnDefinitions...)
	for i := range v.printer.columns[1:] {
		v.printer.columns[i+1].Type = columns[i].Type
	}
	return nil
}

// age is metatable.ConvertToHumanReadableDateType by another clock.
func age(at string, now time.Time) any {
	var stamp metav1.Time
	if stamp.UnmarshalQueryParameter(at) != nil {
		return nil
	}
	if stamp.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(stamp.Time))
}
