package bound

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// What the arithmetic of takes long is refused, and everything that real objects have is not.
func TestQuantity(t *testing.T) {
	long := strings.Repeat("1", 1000)
	for text, want := range map[string]error{
		"1": nil, "1.5Gi": nil, "100m": nil, "1e3": nil, "1E": nil, "1Ei": nil, "1e999": nil, "-1e-999": nil, "1e0000999": nil, "0.000000001": nil,
		"nonsense": nil, "1e": nil, "1e99999999999999999999": nil, // as the parser says
		"1e1000": resource.ErrSuffix, "1E+20000000": resource.ErrSuffix, "1e-20000000": resource.ErrSuffix, " -3e1000 ": resource.ErrSuffix, "1e4294967297": resource.ErrSuffix,
		long: resource.ErrNumeric, "0." + long: resource.ErrNumeric,
	} {
		if got := Quantity(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// A quantity is found wherever a type has one, however it is written, and nowhere else.
func TestQuantitiesAreFoundByType(t *testing.T) {
	pod := reflect.TypeFor[*corev1.Pod]()
	box := func(resources string) string {
		return `{"spec":{"containers":[{"name":"c","resources":` + resources + `}]}}`
	}
	for _, c := range []struct {
		name string
		of   reflect.Type
		doc  string
		bad  bool
	}{
		{"a request", pod, box(`{"requests":{"cpu":"1e20000000"}}`), true},
		{"a number", pod, box(`{"limits":{"cpu":1e20000000}}`), true},
		{"a small one", pod, box(`{"limits":{"cpu":1e2}}`), false},
		{"escaped", pod, box(`{"limits":{"cpu":"1\u0065200000\u00300"}}`), true},
		{"hidden by a second one", pod, box(`{"limits":{"cpu":"1e-20000000","cpu":"1"}}`), true},
		{"at the end of a cut text", pod, `{"spec":{"overhead":{"cpu":"1e20000000"}`, true},
		{"within a volume, by way of inlined fields", pod, `{"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1e20000"}}]}}`, true},
		{"the name of huge pages", pod, box(`{"limits":{"hugepages-1e-20000000":"1"}}`), true},
		{"their medium", pod, `{"spec":{"volumes":[{"emptyDir":{"medium":"HugePages-1e20000000"}}]}}`, true},
		{"real huge pages", pod, box(`{"limits":{"hugepages-2Mi":"1e1000x"}}`), false},
		{"a text of a Pod", pod, `{"metadata":{"annotations":{"a":"1e20000000"}},"spec":{"containers":[{"name":"1e20000000","args":["1e20000000"]}]}}`, false},
		{"a field that is none", pod, `{"spec":{"unknown":{"cpu":"1e20000000"}}}`, false},
		{"a ConfigMap", reflect.TypeFor[*corev1.ConfigMap](), `{"data":{"a":"1e20000000"}}`, false},
		{"a quota", reflect.TypeFor[*corev1.ResourceQuota](), `{"spec":{"hard":{"pods":"1e20000000"}}}`, true},
	} {
		if err := QuantitiesOf(c.of, []byte(c.doc)); (err != nil) != c.bad {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The text of UIDs and digests is not read twice.
func TestHashesAreNotSuspect(t *testing.T) {
	for _, text := range []string{`"3e1234-abcd"`, `"sha256:1e12345abcdef"`, `"6e9999f"`, `{"a":"12Mi","b":100}`} {
		if Suspect([]byte(text)) {
			t.Errorf("%s is read as if it could have a quantity", text)
		}
	}
}

// In protobuf quantities are found by the numbers of fields.
func TestQuantitiesInProtobuf(t *testing.T) {
	for text, bad := range map[string]bool{"1e20000000": true, "1e99": false} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{Name: "1e20000000", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse(text)}}}},
		}}
		data, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for name, judge := range map[string]func(reflect.Type, []byte) error{"sent": Wire, "stored": StoredWire} {
			if err := judge(reflect.TypeOf(pod), data); (err != nil) != bad {
				t.Errorf("%s, %s: %v", text, name, err)
			}
			if err := judge(reflect.TypeFor[*corev1.Secret](), data); err != nil {
				t.Errorf("%s, %s, as a Secret: %v", text, name, err)
			}
		}
	}
	page := &corev1.Pod{Spec: corev1.PodSpec{Overhead: corev1.ResourceList{"hugepages-1e-20000000": resource.MustParse("1")}}}
	data, _ := page.Marshal()
	if Wire(reflect.TypeOf(page), data) == nil {
		t.Error("the name of huge pages is not judged")
	}
}

// A stored object that nothing refused is read with smaller quantities, of the same sign.
func TestStoredQuantitiesAreCapped(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Overhead: corev1.ResourceList{"cpu": resource.MustParse("-1e20000000"), "memory": resource.MustParse("1Gi")},
		Volumes:  []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.Quantity)}}}},
	}}
	*pod.Spec.Volumes[0].EmptyDir.SizeLimit = resource.MustParse("3e30000000")
	Cap(pod)
	cpu, memory := pod.Spec.Overhead["cpu"], pod.Spec.Overhead["memory"]
	if got := fmt.Sprint(cpu.String(), " ", memory.String(), " ", pod.Spec.Volumes[0].EmptyDir.SizeLimit); got != "-1e999 1Gi 1e999" {
		t.Error(got)
	}
}

// Depth counts what a parser would descend into.
func TestDepth(t *testing.T) {
	for doc, want := range map[string]int{``: 0, `1`: 0, `{}`: 1, `{"a":[{}]}`: 3, `["[[[[", "\"[[", {}]`: 2, `[[],[[]]]`: 3} {
		if got := Depth([]byte(doc)); got != want {
			t.Errorf("%s is %d deep, want %d", doc, got, want)
		}
	}
	at := strings.Repeat(`{"a":`, MaxDepth) + "1" + strings.Repeat("}", MaxDepth)
	if err := Shallow([]byte(at)); err != nil {
		t.Error(err)
	}
	if err := Shallow([]byte("[" + at + "]")); !errors.Is(err, ErrDepth) || err.Error() != "invalid character '{' exceeded max depth" {
		t.Error(err)
	}
}

// A YAML text that is said to be level makes JSON that is not deep, whatever its levels are
// written with.
func TestLevelYAMLIsShallow(t *testing.T) {
	steps := func(n int, line func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(line(i))
		}
		return b.String()
	}
	for _, n := range []int{3, 100, 300} {
		for name, doc := range map[string]string{
			"flow":          strings.Repeat("[", n) + strings.Repeat("]", n),
			"flow maps":     strings.Repeat("{a: ", n) + strings.Repeat("}", n),
			"maps":          steps(n, func(i int) string { return strings.Repeat(" ", i) + "a:\n" }),
			"lists":         strings.Repeat("- ", n) + "a",
			"lists in maps": steps(n, func(i int) string { return strings.Repeat("  ", i) + "a:\n" + strings.Repeat("  ", i) + "-\n" }),
			"flat lists":    steps(n, func(i int) string { return strings.Repeat(" ", i) + "a:\n" + strings.Repeat(" ", i) + "-\n" }),
			"keys":          strings.Repeat("? ", n) + "a",
			"aliases":       "x0: &x0 [1]\n" + steps(n, func(i int) string { return fmt.Sprintf("x%d: &x%[1]d [*x%d]\n", i+1, i) }),
		} {
			out, err := yaml.YAMLToJSON([]byte(doc))
			if err != nil {
				continue
			}
			if deep := Depth(out); deep > MaxDepth && Level([]byte(doc)) {
				t.Errorf("%s, %d: it is %d deep, but was taken for level", name, n, deep)
			}
		}
	}
	if !Level([]byte("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    args: [b, {c: d}]\n")) {
		t.Error("a real object is not taken for level")
	}
	if Level([]byte("\xff\xfea\x00:\x00")) {
		t.Error("UTF-16 is taken for level")
	}
}

// The schema of a definition in protobuf is refused before its decoder, which follows it without
// end, sees it; so is what a decoder only skips.
func TestDeepProtobuf(t *testing.T) {
	definition := func(n int) []byte {
		s := &apiextensionsv1.JSONSchemaProps{Type: "string"}
		for range n {
			s = &apiextensionsv1.JSONSchemaProps{Not: s}
		}
		crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: s}}},
		}}
		data, err := crd.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	crd, pod := reflect.TypeFor[*apiextensionsv1.CustomResourceDefinition](), reflect.TypeFor[*corev1.Pod]()
	for name, judge := range map[string]func(reflect.Type, []byte) error{"sent": Wire, "stored": StoredWire} {
		if err := judge(crd, definition(100)); err != nil {
			t.Errorf("%s: a real schema: %v", name, err)
		}
		if err := judge(crd, definition(1000)); err != ErrDepth {
			t.Errorf("%s: a deep schema: %v", name, err)
		}
	}
	groups := bytes.Repeat([]byte{0x0b}, 1000)
	inField := func(number byte, inner []byte) []byte {
		head := []byte{number<<3 | 2, byte(len(inner)&0x7f) | 0x80, byte(len(inner) >> 7)}
		return append(head, inner...)
	}
	for name, data := range map[string][]byte{"groups": groups, "groups in metadata": inField(1, groups), "in a time of it": inField(1, inField(8, groups))} {
		if err := Wire(pod, data); err != ErrDepth {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Envelope(groups); err != ErrDepth {
		t.Error(err)
	}
	ok, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("k", 1000)}}).Marshal()
	if err := errors.Join(err, Wire(pod, ok)); err != nil {
		t.Errorf("a text that looks like groups: %v", err)
	}
}
