package verbs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/nearest"
	"kviz/cluster/view"
)

// objectName is an object as people name it, who copy what kubectl prints: pod/web,
// deployment.apps/web, deployments.v1.apps/web; or with the namespace between the two,
// pod/demo/web.
type objectName struct {
	written   string // the kind, as it was written
	kind      string // without group and version
	group     string // "" where none was written
	namespace string
	name      string

	could []string // the resources that the kind may mean
}

var version = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

func parseName(text, namespace string) objectName {
	kind, name, _ := strings.Cut(text, "/")
	n := objectName{written: kind, namespace: namespace, name: name}
	if in, rest, ok := strings.Cut(name, "/"); ok {
		n.namespace, n.name = in, rest
	}
	n.kind, n.group, _ = strings.Cut(kind, ".")
	if first, rest, _ := strings.Cut(n.group, "."); version.MatchString(first) {
		n.group = rest
	}
	lower := strings.ToLower(n.kind)
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: lower})
	n.could = []string{view.ResourceOf(lower), plural.Resource} // a word may be a short name, or a kind that is not known by its plural
	return n
}

// in finds the object, in its namespace or without one; nil if there is none.
func (n objectName) in(s *view.State) *view.Object {
	for _, namespace := range []string{n.namespace, ""} {
		for _, resource := range n.could {
			if o := s.Object(resource, namespace, n.name); o != nil && n.means(o) {
				return o
			}
		}
	}
	return nil
}

// means reports whether an object is of the group that was written, if one was.
func (n objectName) means(o *view.Object) bool {
	gv, err := schema.ParseGroupVersion(o.Ref.APIVersion)
	return err != nil || n.group == "" || gv.Group == n.group
}

// missing says that there is none, and which was likely meant: one of a name that is
// nearly the same, or one of another namespace.
func (n objectName) missing(s *view.State) string {
	text := fmt.Sprintf("there is no %s %q, in namespace %s or without one", n.written, n.name, n.namespace)
	var names, elsewhere []string
	for _, resource := range n.could {
		for _, o := range s.Objects(resource, "") {
			switch {
			case !n.means(o):
			case o.Name() == n.name && o.Namespace() != n.namespace:
				elsewhere = append(elsewhere, o.Namespace())
			default:
				names = append(names, o.Name())
			}
		}
	}
	if len(elsewhere) > 0 {
		slices.Sort(elsewhere)
		return text + fmt.Sprintf("; there is one in namespace %s: -n %s", strings.Join(slices.Compact(elsewhere), ", "), elsewhere[0])
	}
	if near := nearest.To(n.name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}
