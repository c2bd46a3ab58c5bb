package kubectl

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"
)

// parsed are the flags of a kubectl command, read by kubectl's own definitions.
type parsed struct {
	set_ *pflag.FlagSet
	args []string // words that are no flags, without the subcommand's
}

// lookup says which subcommand args are for ("rollout status") and reads its
// flags. flags is nil when they cannot be read; kubectl itself will say why.
func lookup(args []string) (sub string, flags *parsed) {
	construction.Lock()
	defer construction.Unlock()
	defer forgetCompletions()
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	root := cmd.NewKubectlCommand(cmd.KubectlOptions{
		Arguments:   append([]string{"kubectl"}, args...),
		ConfigFlags: configFlags(os.TempDir(), "", nil), IOStreams: streams,
	})
	logFlags(root)
	c, rest, err := root.Find(args)
	if err != nil || c == root {
		return "", nil
	}
	sub = strings.TrimPrefix(c.CommandPath(), "kubectl ")
	c.InitDefaultHelpFlag() // as running the command does
	if err := quietly(c, rest); err != nil {
		return sub, nil
	}
	return sub, &parsed{c.Flags(), c.Flags().Args()}
}

// logFlags are those that the program kubectl has beside the flags of its commands
// (component-base/cli).
func logFlags(root *cobra.Command) {
	root.PersistentFlags().IntP("v", "v", 0, "number for the log level verbosity: 6 tells each request, 7 its headers, 8 its body and the answer's")
}

func quietly(c *cobra.Command, args []string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	return c.ParseFlags(args)
}

// set reports whether a flag was given.
func (p *parsed) set(name string) bool { return p != nil && p.set_.Changed(name) }

// on reports whether a boolean flag is true, given or by default.
func (p *parsed) on(name string) bool {
	f := p.set_.Lookup(name)
	return f != nil && f.Value.String() == "true"
}

func (p *parsed) value(name string) string {
	if p == nil {
		return ""
	}
	if f := p.set_.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// values are those of a flag that may be given often.
func (p *parsed) values(name string) []string {
	f := p.set_.Lookup(name)
	if f == nil {
		return nil
	}
	if s, ok := f.Value.(pflag.SliceValue); ok {
		return s.GetSlice()
	}
	return []string{f.Value.String()}
}

// timeout is a duration flag; zero if there is none.
func (p *parsed) timeout(name string) time.Duration {
	d, err := time.ParseDuration(p.value(name))
	if err != nil {
		return 0
	}
	return d
}

// without is args without the named flags, in any of their spellings.
// takesValue says of each whether its value may be the next word.
func without(args []string, takesValue map[string]bool) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		if args[i] == "--" {
			return append(kept, args[i:]...)
		}
		name, _, joined := strings.Cut(args[i], "=")
		value, drop := takesValue[name]
		if !drop {
			kept = append(kept, args[i])
			continue
		}
		if value && !joined {
			i++
		}
	}
	return kept
}

// with adds flags before a "--".
func with(args []string, more ...string) []string {
	for i, a := range args {
		if a == "--" {
			return append(append(append([]string{}, args[:i]...), more...), args[i:]...)
		}
	}
	return append(append([]string{}, args...), more...)
}
