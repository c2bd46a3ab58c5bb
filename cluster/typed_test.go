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

// varies is something that is not the same in every run, or with another draw of the
// dice, and what it is called in a transcript.
type varies struct {
	what *regexp.Regexp
	name string
}

// typed runs the commands of a transcript ("$ command", which goes on over the lines
// that begin with "> ") and gives the transcript anew, with what varies replaced.
func typed(t *testing.T, c *cluster.Cluster, file string, vary ...[]varies) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
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
		c.Console().RunScript(t.Context(), "typed", "set +e\ncd "+dir+"\n"+command+"\n", control.Streams{Out: &out, Err: &out})
		text := out.String()
		if strings.Contains(text, "internal error") || strings.Contains(text, "panic") {
			t.Errorf("%s: %s", command, text)
		}
		for _, list := range vary {
			for _, v := range list {
				text = v.what.ReplaceAllString(text, v.name)
			}
		}
		told.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			told.WriteString("\n")
		}
	}
	return told.String()
}
