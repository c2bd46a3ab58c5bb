package kubectl

import (
	"io"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"

	"kviz/cluster/control"
)

// Words are kubectl's commands and their subcommands, without those that are refused
// here, as its own tree has them.
var Words = sync.OnceValue(func() []control.Word {
	prepare()
	construction.Lock()
	defer construction.Unlock()
	defer forgetCompletions()
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	return wordsOf(cmd.NewKubectlCommand(cmd.KubectlOptions{
		Arguments: []string{"kubectl"}, ConfigFlags: configFlags(os.TempDir(), "", nil), IOStreams: streams,
	}))
})

func wordsOf(parent *cobra.Command) (all []control.Word) {
	for _, c := range parent.Commands() {
		path := strings.TrimPrefix(c.CommandPath(), "kubectl ")
		if c.Hidden || c.Deprecated != "" || refused(path, nil, true) != "" && !strings.HasPrefix(path, "config") {
			continue
		}
		if strings.HasPrefix(path, "config ") && path != "config set-context" {
			continue
		}
		all = append(all, control.Word{Name: c.Name(), Next: wordsOf(c)})
	}
	return all
}
