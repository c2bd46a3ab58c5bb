package kubectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	remotecommandconsts "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	kubectlexec "k8s.io/kubectl/pkg/cmd/exec"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	utilexec "k8s.io/utils/exec"

	"kviz/cluster/serve"
)

// execCommand mirrors kubectl pkg/cmd/exec NewCmdExec.
func execCommand(f cmdutil.Factory, streams genericiooptions.IOStreams, k *run) *cobra.Command {
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
type podExecutor struct{ k *run }

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
