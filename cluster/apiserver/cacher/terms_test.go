package cacher

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// TestTermsSelectAsUpstream: what the requirements on a label come to selects what they
// select one after another, of random selectors over few labels and values.
func TestTermsSelectAsUpstream(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	kind := registry.KindFor(client.ConfigMaps.GroupVersionResource)
	key := func() string { return string(rune('a' + r.IntN(5))) }
	value := func() string { return []string{"", "x", "y", "z", "1", "2", "3", "007"}[r.IntN(8)] }
	compiled, chosen := 0, 0
	for range 20_000 {
		var parts []string
		for range r.IntN(4) + 1 {
			k, v := key(), value()
			switch r.IntN(9) {
			case 0, 1:
				var many []string
				for range 6 + r.IntN(6) {
					many = append(many, value())
				}
				parts = append(parts, k+[]string{" in ", " notin "}[r.IntN(2)]+"("+strings.Join(many, ",")+")")
			case 2:
				parts = append(parts, k)
			case 3:
				parts = append(parts, "!"+k)
			case 4:
				parts = append(parts, fmt.Sprintf("%s>%d", k, r.IntN(3)))
			case 5:
				parts = append(parts, fmt.Sprintf("%s<%d", k, 1+r.IntN(3)))
			case 6:
				parts = append(parts, k+"="+v)
			default:
				parts = append(parts, k+"!="+v)
			}
		}
		for i := range r.IntN(12) { // so that the terms are more than the labels, now and then
			parts = append(parts, fmt.Sprintf("!other%d", i))
		}
		text := strings.Join(parts, ",")
		want, err := NewSelector(kind, "", "", &metav1.ListOptions{LabelSelector: text})
		if err != nil {
			t.Fatal(text, err)
		}
		plain, err := labels.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if want.labels != nil {
			compiled++
		}
		for range 8 {
			has := map[string]string{}
			for range r.IntN(7) {
				has[key()] = value()
			}
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: has}}
			got, should := want.Matches(obj), plain.Matches(labels.Set(has))
			if got != should {
				t.Fatalf("%q selects %v: %v, upstream's %v", text, has, got, should)
			}
			if should {
				chosen++
			}
		}
	}
	if compiled < 5000 || chosen < 5000 {
		t.Errorf("only %d selectors had terms, only %d objects were selected", compiled, chosen)
	}
}

// TestFieldTermsSelectAsUpstream: the same of fields.
func TestFieldTermsSelectAsUpstream(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	kind := registry.KindFor(client.ConfigMaps.GroupVersionResource)
	value := func() string { return string(rune('a' + r.IntN(3))) }
	chosen := 0
	for range 5000 {
		var parts []string
		for range r.IntN(3) {
			parts = append(parts, []string{"metadata.name", "metadata.namespace"}[r.IntN(2)]+[]string{"=", "==", "!="}[r.IntN(3)]+value())
		}
		for i := range fewTerms + 1 {
			parts = append(parts, fmt.Sprintf("metadata.name!=other%d", i))
		}
		text := strings.Join(parts, ",")
		want, err := NewSelector(kind, "", "", &metav1.ListOptions{FieldSelector: text})
		if err != nil {
			t.Fatal(text, err)
		}
		if want.fields == nil {
			t.Fatal("no terms were made of", text)
		}
		plain, err := fields.ParseSelector(text)
		if err != nil {
			t.Fatal(text, err)
		}
		name, namespace := value(), value()
		got := want.Matches(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
		should := plain.Matches(fields.Set{"metadata.name": name, "metadata.namespace": namespace})
		if got != should {
			t.Fatalf("%q selects %s/%s: %v, upstream's %v", text, namespace, name, got, should)
		}
		if should {
			chosen++
		}
	}
	if chosen < 500 {
		t.Errorf("only %d objects were selected", chosen)
	}
}
