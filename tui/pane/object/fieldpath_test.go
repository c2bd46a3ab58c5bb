package object

import (
	"slices"
	"strings"
	"testing"
)

func TestFieldPath(t *testing.T) {
	const text = `data:
  color: red
metadata:
  finalizers:
  - kviz/keep
  labels:
    app: web
spec:
  containers:
  - image: nginx
    ports:
    - containerPort: 80
    resources:
      limits: {}
  nodeName: node-1
status: {}`
	var p fieldPath
	var got []string
	for _, l := range strings.Split(text, "\n") {
		if f := p.next(l); f != "" {
			got = append(got, f)
		}
	}
	want := []string{
		"data", "data.color", "metadata", "metadata.finalizers", "metadata.labels", "metadata.labels.app",
		"spec", "spec.containers", "spec.nodeName", "status",
	}
	if !slices.Equal(got, want) {
		t.Errorf("fields %q, want %q", got, want)
	}
}
