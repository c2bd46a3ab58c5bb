package crd

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// What a column shows is found by a JSONPath, whose evaluation nothing interrupts, and which can
// visit the same values again and again: with five recursive descents one after another an object
// of a kilobyte takes a gigabyte. So it is counted first.

const (
	// longestPath is how long a column's path may be. Its parser descends at each step.
	longestPath = 4096
	// mostVisits is how many values a column's path may visit in one object.
	mostVisits = 1e5
	// mostDescents is how many descents are counted; more visit too many values of anything.
	mostDescents = 16
	// plainColumns are so many that showing the same large value in each is no concern.
	plainColumns = 32
	// mostShown is how many bytes the cells of one row may have where there are more columns.
	mostShown = 4 << 20
)

// path is what the cost of a column's JSONPath depends on.
type path struct {
	descents int     // and filters and ranges, which go over the values in between again
	unions   float64 // by how many times they multiply the values
	wild     bool
}

var unionOf = regexp.MustCompile(`\[[^\]]*,[^\]]*\]`)

func pathOfColumn(text string) path {
	p := path{unions: 1, wild: strings.ContainsAny(text, "*:")}
	for _, again := range []string{"..", "[?(", "range"} {
		p.descents += strings.Count(text, again)
	}
	for _, union := range unionOf.FindAllString(text, -1) {
		p.unions *= float64(1 + strings.Count(union, ","))
	}
	return p
}

// plain reports whether the path visits each value once, at most.
func (p path) plain() bool { return p.descents == 0 && p.unions == 1 }

// visits is how many values the path visits in an object, at most.
func (p path) visits(object any) float64 {
	if p.descents > mostDescents {
		return math.Inf(1)
	}
	return p.unions * p.through(object)[p.descents]
}

// through is how many values are visited from a value by 0, 1, 2 … descents one after another:
// by none the value, or, with wildcards, everything in it; by one more, as many as from each value
// in it by one less.
func (p path) through(value any) []float64 {
	n := make([]float64, p.descents+1)
	n[0] = 1
	add := func(part any) {
		for k, more := range p.through(part) {
			if k > 0 || p.wild {
				n[k] += more
			}
		}
	}
	switch x := value.(type) {
	case map[string]any:
		for _, part := range x {
			add(part)
		}
	case []any:
		for _, part := range x {
			add(part)
		}
	}
	for k := 1; k < len(n); k++ {
		n[k] += n[k-1]
	}
	return n
}

// columns show an object by the columns of a definition.
type columns struct {
	rest.TableConvertor                       // all of them; where they are many or not plain, none
	each                []rest.TableConvertor // then one for each
	paths               []path
}

// newColumns reads the paths. One that cannot be read ends the columns, as upstream.
func newColumns(of []apiextensionsv1.CustomResourceColumnDefinition) *columns {
	cs := &columns{}
	plain := len(of) <= plainColumns
	for i, column := range of {
		if len(column.JSONPath) > longestPath {
			of = of[:i]
			break
		}
		p := pathOfColumn(column.JSONPath)
		cs.paths, plain = append(cs.paths, p), plain && p.plain()
	}
	if plain {
		cs.TableConvertor, _ = tableconvertor.New(of)
		return cs
	}
	cs.TableConvertor, _ = tableconvertor.New(nil)
	for i := range of {
		one, err := tableconvertor.New(of[i : i+1])
		if err != nil {
			break
		}
		cs.each = append(cs.each, one)
	}
	return cs
}

// ConvertToTable is [rest.TableConvertor], for one object. A cell whose path visits too many values
// is empty, like one whose path fails.
func (cs *columns) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	t, err := cs.TableConvertor.ConvertToTable(ctx, obj, options)
	u := MapOf(obj)
	if err != nil || u == nil || len(t.Rows) != 1 {
		return t, err
	}
	shown := 0
	for i, one := range cs.each {
		var cell any
		if shown <= mostShown && (cs.paths[i].plain() || cs.paths[i].visits(u.Object) <= mostVisits) {
			of, err := one.ConvertToTable(ctx, obj, options)
			if err != nil {
				return nil, err
			}
			cell = of.Rows[0].Cells[1]
			text, _ := cell.(string)
			shown += len(text)
		}
		t.Rows[0].Cells = append(t.Rows[0].Cells, cell)
	}
	for _, one := range cs.each {
		if len(t.ColumnDefinitions) > 0 { // the headers are asked for
			of, err := one.ConvertToTable(ctx, &metav1.PartialObjectMetadata{}, options)
			if err != nil {
				return nil, err
			}
			t.ColumnDefinitions = append(slices.Clip(t.ColumnDefinitions), of.ColumnDefinitions[1])
		}
	}
	return t, nil
}
