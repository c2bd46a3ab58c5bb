package kubectl

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
)

// Every flag of kubectl that its own help says is about a file is known to be one.
func TestFlagsThatReachFiles(t *testing.T) {
	about := regexp.MustCompile(`(?i)\b(files?|filename|path|director(y|ies)|folder)\b`)
	others := []string{ // that speak of files, and take none; output is looked at by its value, and kustomize is refused
		"output", "merge", "raw", "rule", "helm-command", "load-restrictor", "tail", "patch", "www-prefix",
	}
	root := cmd.NewKubectlCommand(cmd.KubectlOptions{ConfigFlags: configFlags(os.TempDir(), "", nil), IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}})
	seen := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		look := func(f *pflag.Flag) {
			seen[f.Name] = true
			if about.MatchString(f.Usage) && f.Value.Type() != "bool" && !slices.Contains(byPath, f.Name) && !slices.Contains(others, f.Name) {
				t.Errorf("%s --%s (%s): %s", c.CommandPath(), f.Name, f.Value.Type(), f.Usage)
				others = append(others, f.Name)
			}
		}
		c.Flags().VisitAll(look)
		c.PersistentFlags().VisitAll(look)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for _, name := range byPath {
		if !seen[name] {
			t.Errorf("kubectl has no flag --%s any more", name)
		}
	}
}
