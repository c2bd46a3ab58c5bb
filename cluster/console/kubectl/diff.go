package kubectl

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/apply"
	kubectldiff "k8s.io/kubectl/pkg/cmd/diff"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	utilexec "k8s.io/utils/exec"
)

// diffCommand mirrors kubectl pkg/cmd/diff NewCmdDiff, without the program diff.
func diffCommand(f cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := kubectldiff.NewDiffOptions(streams)
	o.Diff.Exec = differ{utilexec.New()}
	c := &cobra.Command{
		Use:                   "diff -f FILENAME",
		DisableFlagsInUseLine: true,
		Short:                 "Diff the live version against a would-be applied version",
		Long:                  "Diff configurations specified by file name or stdin between the current online configuration, and the configuration as it would be if applied.\n\nExit status: 0 no differences, 1 differences, >1 an error.",
		Run: func(cmd *cobra.Command, args []string) {
			cmdutil.CheckDiffErr(o.Complete(f, cmd, args))
			cmdutil.CheckDiffErr(o.Validate())
			err := o.Run()
			var exit utilexec.ExitError
			if errors.As(err, &exit) && exit.ExitStatus() <= 1 {
				cmdutil.CheckErr(cmdutil.ErrExit)
			}
			cmdutil.CheckDiffErr(err)
		},
	}
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		cmdutil.CheckDiffErr(cmdutil.UsageErrorf(cmd, "%s", err.Error()))
		return nil
	})
	c.Flags().StringArray("prune-allowlist", []string{}, "Overwrite the default allowlist with <group/version/kind> for --prune")
	c.Flags().Bool("prune", false, "Include resources that would be deleted by pruning. Can be used with -l and default shows all resources would be pruned")
	c.Flags().BoolVar(&o.ShowManagedFields, "show-managed-fields", o.ShowManagedFields, "If true, include managed fields in the diff.")
	c.Flags().BoolVar(&o.ShowSecrets, "show-secrets", false, "If true, do not mask secret values in the diff.")
	c.Flags().IntVar(&o.Concurrency, "concurrency", 1, "Number of objects to process in parallel when diffing against the live version.")
	cmdutil.AddFilenameOptionFlags(c, &o.FilenameOptions, "contains the configuration to diff")
	cmdutil.AddServerSideApplyFlags(c)
	cmdutil.AddFieldManagerFlagVar(c, &o.FieldManager, apply.FieldManagerClientSideApply)
	cmdutil.AddLabelSelectorFlagVar(c, &o.Selector)
	return c
}

// differ stands in for running the program diff.
type differ struct{ utilexec.Interface }

// Command compares the two directories that are the last arguments.
func (d differ) Command(name string, args ...string) utilexec.Cmd {
	return &diffRun{args: args}
}

type diffRun struct {
	utilexec.Cmd
	args []string
	out  io.Writer
}

func (d *diffRun) SetStdout(w io.Writer) { d.out = w }
func (d *diffRun) SetStderr(io.Writer)   {}

// Run writes unified diffs, as diff -u -N does of two directories.
func (d *diffRun) Run() error {
	from, to := d.args[len(d.args)-2], d.args[len(d.args)-1]
	names := map[string]bool{}
	for _, dir := range []string{from, to} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			names[e.Name()] = true
		}
	}
	sorted := make([]string, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	sort.Strings(sorted)
	differs := false
	for _, n := range sorted {
		a, err := readIfThere(filepath.Join(from, n))
		if err != nil {
			return err
		}
		b, err := readIfThere(filepath.Join(to, n))
		if err != nil {
			return err
		}
		if bytes.Equal(a, b) {
			continue
		}
		differs = true
		// "LIVE-1234/name" reads "LIVE/name": the number is the temporary directory's.
		_, _ = d.out.Write(diff.Diff(dirWord(from)+"/"+n, a, dirWord(to)+"/"+n, b))
	}
	if differs {
		return utilexec.CodeExitError{Err: errors.New("exit status 1"), Code: 1}
	}
	return nil
}

func dirWord(dir string) string {
	word, _, _ := strings.Cut(filepath.Base(dir), "-")
	return word
}

func readIfThere(name string) ([]byte, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
