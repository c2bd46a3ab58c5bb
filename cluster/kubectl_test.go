package cluster_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
)

// varying is what another draw of the dice would change, and what it is called
// in the transcript.
var varying = []struct {
	what *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`(-[0-9a-f]{8,10})-[b-z0-9]{5}\b`), "$1-xxxxx"},
	{regexp.MustCompile(`\bhello-svc-[b-z0-9]{5}\b`), "hello-svc-xxxxx"},
	{regexp.MustCompile(`\b10\.96(\.\d+){2}\b`), "10.96.x.x"},
	{regexp.MustCompile(`\b10\.244(\.\d+){2}\b`), "10.244.x.x"},
	{regexp.MustCompile(`(?m)(^|\s)(\d+[smh])+(\s|$)`), "${1}AGE$3"},
	{regexp.MustCompile(`(\S)  +`), "$1  "},
	{regexp.MustCompile(`(?m) +$`), ""},
}

// Every verb of kubectl that people use in their first weeks, on a whole
// cluster: testdata/kubectl.txt is what they type and what they see.
func TestKubectlVerbs(t *testing.T) {
	b, err := os.ReadFile("testdata/kubectl.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := boot(t, cluster.Config{Seed: 1, Bare: true})
	var told strings.Builder
	for line := range strings.Lines(string(b)) {
		command, typed := strings.CutPrefix(line, "$ ")
		if !typed {
			continue
		}
		var out bytes.Buffer
		c.Console().RunScript(t.Context(), "typed", "set +e\n"+command, control.Streams{Out: &out, Err: &out})
		text := out.String()
		if strings.Contains(text, "internal error") || strings.Contains(text, "panic") {
			t.Errorf("%s: %s", line, text)
		}
		for _, v := range varying {
			text = v.what.ReplaceAllString(text, v.name)
		}
		told.WriteString("$ " + command + text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			told.WriteString("\n")
		}
	}
	golden(t, "kubectl", told.String())
}
