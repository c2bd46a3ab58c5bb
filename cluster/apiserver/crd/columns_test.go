package crd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func columnsOf(paths ...string) []apiextensionsv1.CustomResourceColumnDefinition {
	out := make([]apiextensionsv1.CustomResourceColumnDefinition, len(paths))
	for i, p := range paths {
		out[i] = apiextensionsv1.CustomResourceColumnDefinition{Name: fmt.Sprint("c", i), Type: "string", JSONPath: p}
	}
	return out
}

func objectOf(t *testing.T, spec string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"example.com/v1","kind":"X","metadata":{"name":"x"},"spec":`+spec+`}`), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// A column whose path would visit the same values again and again is empty, and the others are
// shown as upstream shows them.
func TestColumnsThatVisitTooMuchAreEmpty(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 60) + `"x"` + strings.Repeat("}", 60)
	lists := strings.Repeat(`[`, 30) + `"x"` + strings.Repeat("]", 30)
	for _, c := range []struct {
		name, path, spec string
		empty            bool
	}{
		{"one descent", ".spec..b", `{"a":{"b":"found"}}`, false},
		{"two descents", "..a..b", `{"a":{"b":"found"}}`, false},
		{"five descents into a deep object", ".spec..a..a..a..a..a", deep, true},
		{"many descents", strings.Repeat("..a", 40), `{}`, true},
		{"unions of unions", ".spec" + strings.Repeat("[0,0]", 30), lists, true},
		{"one union", ".spec[0,1]", `["found","b"]`, false},
		{"ranges within one another", ".spec}" + strings.Repeat("{range ..a}", 10) + "{.b" + strings.Repeat("}{end", 10), deep, true},
		{"too long a path", ".spec" + strings.Repeat(".a", 3000), deep, true},
	} {
		cs := newColumns(columnsOf(".metadata.name", c.path))
		table, err := cs.ConvertToTable(t.Context(), objectOf(t, c.spec), &metav1.TableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cells := table.Rows[0].Cells
		switch {
		case cells[1] != "x":
			t.Errorf("%s: %v", c.name, cells)
		case c.empty && len(cells) > 2 && cells[2] != nil, !c.empty && fmt.Sprint(cells[2]) == "<nil>":
			t.Errorf("%s: %v", c.name, cells)
		}
	}
}

// Columns that are evaluated one by one show what upstream shows of all at once.
func TestColumnsOneByOneAreUpstreams(t *testing.T) {
	paths := columnsOf(".metadata.name", ".spec..b", ".spec.list[0,1]", ".spec.list[?(@ == 'x')]", ".spec.none", ".spec.list[*]", ".spec")
	u := objectOf(t, `{"a":{"b":"found"},"list":["x","y"]}`)
	theirs, err := tableconvertor.New(paths)
	if err != nil {
		t.Fatal(err)
	}
	want, err := theirs.ConvertToTable(t.Context(), u, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cs := newColumns(paths)
	if len(cs.each) != len(paths) {
		t.Fatalf("%d of %d columns are evaluated one by one", len(cs.each), len(paths))
	}
	got, err := cs.ConvertToTable(t.Context(), u, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(got.Rows[0].Cells), fmt.Sprint(want.Rows[0].Cells); a != b {
		t.Errorf("%s, want %s", a, b)
	}
	if a, b := fmt.Sprint(got.ColumnDefinitions), fmt.Sprint(want.ColumnDefinitions); a != b {
		t.Errorf("%s, want %s", a, b)
	}
}

// A large value that many columns show is not shown by all of them.
func TestManyColumnsOfALargeValue(t *testing.T) {
	paths := make([]string, 100)
	for i := range paths {
		paths[i] = ".spec"
	}
	table, err := newColumns(columnsOf(paths...)).ConvertToTable(t.Context(), objectOf(t, `"`+strings.Repeat("x", 1<<20)+`"`), &metav1.TableOptions{NoHeaders: true})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, c := range table.Rows[0].Cells {
		text, _ := c.(string)
		shown += len(text)
	}
	if shown > mostShown+1<<21 || len(table.Rows[0].Cells) != 101 {
		t.Errorf("%d bytes in %d cells", shown, len(table.Rows[0].Cells))
	}
}
