package cluster_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
)

// A team gets a quota, sizes for its pods, and a Pod Security Standard:
// testdata/admission.txt is what is typed and what is seen. The ReplicaSet that may
// not make its third pod says so, and makes it when the quota allows it.
func TestKubectlLimits(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/admission.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := boot(t, cluster.Config{Seed: 3, Bare: true})
	var told strings.Builder
	lines := strings.Split(string(b), "\n")
	for i := 0; i < len(lines); i++ {
		command, typed := strings.CutPrefix(lines[i], "$ ")
		if !typed {
			continue
		}
		told.WriteString(lines[i] + "\n")
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "> ") {
			i++
			command += "\n" + lines[i][2:]
			told.WriteString(lines[i] + "\n")
		}
		var out bytes.Buffer
		c.Console().RunScript(t.Context(), "typed", "set +e\n"+command+"\n", control.Streams{Out: &out, Err: &out})
		text := out.String()
		for _, v := range varying {
			text = v.what.ReplaceAllString(text, v.name)
		}
		told.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			told.WriteString("\n")
		}
	}
	golden(t, "admission", told.String())
}
