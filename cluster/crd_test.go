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

// identities are drawn from the seed and the store's revision.
var identities = regexp.MustCompile(`((?:uid|UID|resourceVersion|Resource Version)"?: *)"?[-0-9a-f]+"?`)

// moments are times: how many requests of its own kubectl makes side by side is
// nothing that this story tells.
var moments = regexp.MustCompile(`2026-01-01T00:\d\d:\d\dZ`)

// The CronTab of the Kubernetes documentation ("Extend the Kubernetes API with
// CustomResourceDefinitions"), from its definition to its end, in kubectl:
// testdata/crontab.txt is what is typed and what is seen. A command goes on over
// the lines that begin with "> ".
func TestKubectlCustomResources(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/crontab.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := boot(t, cluster.Config{Seed: 1, Bare: true})
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
		if strings.Contains(text, "internal error") || strings.Contains(text, "panic") {
			t.Errorf("%s: %s", command, text)
		}
		text = identities.ReplaceAllString(text, "$1…")
		text = moments.ReplaceAllString(text, "TIME")
		for _, v := range varying {
			text = v.what.ReplaceAllString(text, v.name)
		}
		told.WriteString(text)
		if text != "" && !strings.HasSuffix(text, "\n") {
			told.WriteString("\n")
		}
	}
	golden(t, "crontab", told.String())
}
