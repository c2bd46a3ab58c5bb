package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/auth"
	kubectldiff "k8s.io/kubectl/pkg/cmd/diff"
	kubectlexec "k8s.io/kubectl/pkg/cmd/exec"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	utilexec "k8s.io/utils/exec"
	"sigs.k8s.io/yaml"

	"kviz/cluster/serve"
)

// This file has the kubectl commands of which one part is replaced: exec (upgrades its
// connection, which has no socket here), diff (runs the program diff),
// auth can-i (ends the process) and version (known only to Kubernetes' own
// build scripts).

// execCommand mirrors kubectl pkg/cmd/exec NewCmdExec.
func execCommand(f cmdutil.Factory, streams genericiooptions.IOStreams, k *kubectlRun) *cobra.Command {
	streams.In = k.inv.In
	o := &kubectlexec.ExecOptions{StreamOptions: kubectlexec.StreamOptions{IOStreams: streams}, Executor: podExecutor{k}}
	c := &cobra.Command{
		Use:                   "exec (POD | TYPE/NAME) [-c CONTAINER] [flags] -- COMMAND [args...]",
		DisableFlagsInUseLine: true,
		Short:                 "Execute a command in a container",
		Long:                  "Execute a command in a container.",
		Run: func(cmd *cobra.Command, args []string) {
			cmdutil.CheckErr(o.Complete(f, cmd, args, cmd.ArgsLenAtDash()))
			o.TTY = false // there is no terminal in a simulated container
			cmdutil.CheckErr(o.Validate())
			if o.Stdin && !k.inv.Piped && isShell(o.Command) {
				cmdutil.CheckErr(errNoKeys)
			}
			cmdutil.CheckErr(o.Run())
		},
	}
	cmdutil.AddPodRunningTimeoutFlag(c, time.Second)
	cmdutil.AddJsonFilenameFlag(c.Flags(), &o.FilenameOptions.Filenames, "to use to exec into the resource")
	cmdutil.AddContainerVarFlags(c, &o.ContainerName, o.ContainerName)
	c.Flags().BoolVarP(&o.Stdin, "stdin", "i", o.Stdin, "Pass stdin to the container")
	c.Flags().BoolVarP(&o.TTY, "tty", "t", o.TTY, "Stdin is a TTY")
	c.Flags().BoolVarP(&o.Quiet, "quiet", "q", o.Quiet, "Only print output from the remote session")
	return c
}

// errNoKeys is why the console does not open a shell in a container.
var errNoKeys = errors.New("the console has no terminal for a shell in a container: give it the commands, as in kubectl exec POD -- sh -c 'hostname; env' (a kubectl outside has one: kviz serve)")

// podExecutor runs a command in a container. The real one upgrades its connection; here
// the streams go beside the request.
type podExecutor struct{ k *kubectlRun }

// Execute is ExecuteWithContext without a way to stop.
func (p podExecutor) Execute(u *url.URL, c *rest.Config, stdin io.Reader, stdout, stderr io.Writer, tty bool, q remotecommand.TerminalSizeQueue) error {
	return p.ExecuteWithContext(p.k.transport.ctx, u, c, stdin, stdout, stderr, tty, q)
}

// ExecuteWithContext asks with GET first, as over a WebSocket; if that is refused, then
// with POST, as over SPDY, and tells why that was (remotecommand NewFallbackExecutor).
func (p podExecutor) ExecuteWithContext(ctx context.Context, u *url.URL, c *rest.Config, stdin io.Reader, stdout, stderr io.Writer, _ bool, _ remotecommand.TerminalSizeQueue) error {
	with := serve.Streams{In: stdin, Out: stdout, Err: stderr}
	err := p.ask(ctx, http.MethodGet, u, c, with)
	if refused := (apierrors.APIStatus)(nil); errors.As(err, &refused) {
		err = p.ask(ctx, http.MethodPost, u, c, with)
	}
	return err
}

func (p podExecutor) ask(ctx context.Context, method string, u *url.URL, c *rest.Config, with serve.Streams) error {
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return err
	}
	rt, err := rest.HTTPWrappersForConfig(c, p.k.transport)
	if err != nil {
		return err
	}
	p.k.transport.with = with
	defer func() { p.k.transport.with = serve.Streams{} }()
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var st metav1.Status
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		return fmt.Errorf("%s: %w", resp.Status, err)
	}
	switch {
	case st.Status == metav1.StatusSuccess:
		return nil
	case st.Reason == remotecommandconsts.NonZeroExitCodeReason && st.Details != nil && len(st.Details.Causes) > 0:
		code, err := strconv.Atoi(st.Details.Causes[0].Message)
		if err != nil {
			return err
		}
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	case resp.StatusCode < http.StatusBadRequest: // what went wrong after the upgrade (remotecommand errorDecoderV4)
		return errors.New(st.Message)
	}
	return &apierrors.StatusError{ErrStatus: st}
}

// canICommand mirrors kubectl pkg/cmd/auth NewCmdCanI, which ends the process
// when the answer is no.
func canICommand(f cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	o := &auth.CanIOptions{IOStreams: streams}
	c := &cobra.Command{
		Use:                   "can-i VERB [TYPE | TYPE/NAME | NONRESOURCEURL]",
		DisableFlagsInUseLine: true,
		Short:                 "Check whether an action is allowed",
		Long:                  "Check whether an action is allowed. This command pairs nicely with impersonation: see --as.",
		Run: func(cmd *cobra.Command, args []string) {
			cmdutil.CheckErr(o.Complete(f, args))
			cmdutil.CheckErr(o.Validate())
			if o.List {
				cmdutil.CheckErr(o.RunAccessList())
				return
			}
			allowed, err := o.RunAccessCheck()
			cmdutil.CheckErr(err)
			if !allowed {
				cmdutil.CheckErr(cmdutil.ErrExit)
			}
		},
	}
	c.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", o.AllNamespaces, "If true, check the specified action in all namespaces.")
	c.Flags().BoolVarP(&o.Quiet, "quiet", "q", o.Quiet, "If true, suppress output and just return the exit code.")
	c.Flags().StringVar(&o.Subresource, "subresource", o.Subresource, "SubResource such as pod/log or deployment/scale")
	c.Flags().BoolVar(&o.List, "list", o.List, "If true, prints all allowed actions.")
	c.Flags().BoolVar(&o.NoHeaders, "no-headers", o.NoHeaders, "If true, prints allowed actions without headers")
	return c
}

// ReplaceVersion makes a kubectl say which version it is: the one that it was
// built from knows only Kubernetes' own build scripts' answer.
func ReplaceVersion(root *cobra.Command, flags genericclioptions.RESTClientGetter, streams genericiooptions.IOStreams) {
	replace(root, versionCommand(cmdutil.NewFactory(flags), streams), "version")
}

// versions are what kubectl version says.
type versions struct {
	ClientVersion    *apimachineryversion.Info `json:"clientVersion,omitempty"`
	KustomizeVersion string                    `json:"kustomizeVersion,omitempty"`
	ServerVersion    *apimachineryversion.Info `json:"serverVersion,omitempty"`
}

// versionCommand mirrors kubectl pkg/cmd/version NewCmdVersion.
func versionCommand(f cmdutil.Factory, streams genericiooptions.IOStreams) *cobra.Command {
	clientOnly, format := false, ""
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the client and server version information",
		Long:    "Print the client and server version information for the current context.",
		Example: "  # Print the client and server versions for the current context\n  kubectl version",
		Run: func(cmd *cobra.Command, args []string) {
			if len(args) != 0 {
				cmdutil.CheckErr(fmt.Errorf("extra arguments: %v", args))
			}
			if format != "" && format != "yaml" && format != "json" {
				cmdutil.CheckErr(errors.New("--output must be 'yaml' or 'json'"))
			}
			said := versions{KustomizeVersion: kustomizeVersion, ClientVersion: &apimachineryversion.Info{
				Major: "1", Minor: "37", GitVersion: clientVersion, GitTreeState: "clean",
				GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
			}}
			var serverErr error
			if !clientOnly {
				client, err := f.ToDiscoveryClient()
				cmdutil.CheckErr(err)
				client.Invalidate() // always the server that is there now
				said.ServerVersion, serverErr = client.ServerVersion()
			}
			cmdutil.CheckErr(said.print(streams.Out, format))
			cmdutil.CheckErr(serverErr) // as kubectl: what is known is said first
		},
	}
	c.Flags().BoolVar(&clientOnly, "client", false, "If true, shows client version only (no server required).")
	c.Flags().StringVarP(&format, "output", "o", "", "One of 'yaml' or 'json'.")
	return c
}

// kustomizeVersion is that of the kustomize in kubectl v1.37.
const kustomizeVersion = "v5.8.1"

func (v *versions) print(w io.Writer, format string) error {
	switch format {
	case "json":
		b, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			fmt.Fprintln(w, string(b))
		}
		return err
	case "yaml":
		b, err := yaml.Marshal(v)
		if err == nil {
			fmt.Fprint(w, string(b))
		}
		return err
	}
	fmt.Fprintf(w, "Client Version: %s\nKustomize Version: %s\n", v.ClientVersion.GitVersion, v.KustomizeVersion)
	if v.ServerVersion != nil {
		fmt.Fprintf(w, "Server Version: %s\n", v.ServerVersion.GitVersion)
	}
	return nil
}

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
