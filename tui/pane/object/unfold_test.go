package object

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"kviz/raftstore/steady"
)

// However long its texts are, an object has a line for each of its fields, with the text
// as it is; and what changed is named by the field.
func TestLongTextsAreOneLine(t *testing.T) {
	word := rapid.StringMatching(`[a-z"':\\#-]{1,12}`)
	steady.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 1, 60).Draw(t, "text"), " ")
		pod := func(message string) *corev1.Pod {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
			p.Spec.Containers = []corev1.Container{{Name: "c", Command: []string{message, "end"}}}
			p.Status.Message, p.Status.Reason = message, "Because"
			return p
		}
		lines := unfold(yamlOf(pod(text)))
		found := 0
		for _, l := range lines {
			body := strings.TrimLeft(l, " ")
			if value, ok := strings.CutPrefix(body, "message: "); ok {
				found++
				var read string
				if err := yaml.Unmarshal([]byte(value), &read); err != nil || read != text {
					t.Fatalf("%q reads %q, %v, in:\n%s", text, read, err, strings.Join(lines, "\n"))
				}
			}
		}
		if found != 1 {
			t.Fatalf("%d lines with a message in:\n%s", found, strings.Join(lines, "\n"))
		}
		for _, d := range diff(lines, yamlOf(pod("short"))) {
			if d.path != "status.message" && d.path != "spec.containers[0].command[0]" {
				t.Fatalf("%q changed, it says, in %q:\n%s", d.path, fmt.Sprint(d), strings.Join(lines, "\n"))
			}
		}
	})
}
