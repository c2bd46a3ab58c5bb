// Package kubectl is kubectl v1.37 in the console: its own code, built into this
// program, run in this process, connected to the simulated cluster and to
// nothing else.
//
// Simplified: kubectl knows nothing of virtual time, so whatever would wait by the
// machine's clock is run again in its check-once form each time something has changed
// (wait.go, follow.go, logs.go, drain.go); and in commands that need a terminal or
// another program, or range over a map, one part is replaced (exec.go, diff.go, edit.go,
// logs.go). What needs a port
// or a container's real bytes is refused with a sentence that says why (refused.go).
//
// Start reading at [Kubectl.Run], then transport.go: the way of a request.
package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/console/command"
	"kviz/raftstore/host"
)

// clientVersion is the version of the embedded kubectl, which a program that is
// not built by Kubernetes' own scripts does not know by itself.
const clientVersion = "v1.37.2"

// userAgent is constant, so that it cannot make two traces differ.
const userAgent = "kubectl/" + clientVersion + " (kviz)"

// construction serialises the building of kubectl command trees, which write
// to flags of the whole process.
var construction sync.Mutex

// prepare sets, once, what kubectl keeps in globals of the process.
var prepare = sync.OnceFunc(func() {
	os.Setenv("KUBECTL_KUBERC", "false") // no ~/.kube/kuberc
	os.Setenv("LANG", "C")               // no translations
	klog.LogToStderr(false)              // the terminal belongs to the explorer
	klog.SetOutput(io.Discard)
	cmdutil.BehaviorOnFatal(func(message string, code int) { panic(fatal{message, code}) })
})

// fatal is kubectl wanting to end the process.
type fatal struct {
	message string
	code    int
}

// Config is what kubectl is connected to.
type Config struct {
	API http.RoundTripper
	// Server is the way to one of several API servers, by its name or address: --server.
	// Nil: there is only API.
	Server func(name string) (http.RoundTripper, error)
	// Manifests are files that -f finds when there is no such file on the disk; may be nil.
	Manifests fs.FS
	User      authn.User // who kubectl is, unless it shows credentials
}

// Kubectl is the kubectl of one console.
type Kubectl struct {
	cfg Config

	mu    sync.Mutex
	cache string // directory for discovery, "" before it is needed
	ns    string // the namespace of kubectl config set-context --current
}

// New makes a kubectl.
func New(cfg Config) *Kubectl { return &Kubectl{cfg: cfg} }

// run is one use of kubectl: a command tree, temporary files, and a
// transport that knows which event is the cause of the requests.
type run struct {
	kubectl   *Kubectl
	inv       *command.Invocation
	transport *transport
	files     *files
	cache     string
	// heard is, of each container whose logs are followed beside others', the log that was
	// fetched last; nil if none is.
	heard  map[corev1.ObjectReference][]byte
	secure bool // it shows credentials of its own, and not who the console is
}

// Run is the command: the embedded kubectl, run once, or, where it would
// wait, in its check-once form until what it waits for has come.
func (c *Kubectl) Run(ctx context.Context, inv *command.Invocation) int {
	prepare()
	args := inv.Args[1:]
	sub, flags := lookup(args)
	if refusal := refused(sub, flags, inv.Lend != nil); refusal != "" {
		fmt.Fprintf(inv.Err, "kubectl %s\n", refusal)
		return 1
	}
	if sub == "config set-context" {
		return c.setContext(inv, flags)
	}
	if !inv.MayWait() {
		return 1
	}
	cache, err := c.cacheDir()
	if err != nil {
		fmt.Fprintf(inv.Err, "kubectl: %v\n", err)
		return 1
	}
	k := &run{kubectl: c, inv: inv, cache: cache, files: &files{inv: inv, manifests: c.cfg.Manifests}}
	defer k.files.clean()
	api := c.cfg.API
	if flags != nil && flags.set("server") && c.cfg.Server != nil {
		if api, err = c.cfg.Server(flags.value("server")); err != nil {
			fmt.Fprintf(inv.Err, "error: %v\n", err)
			return 1
		}
		args = without(args, map[string]bool{"--server": true, "-s": true})
	}
	k.transport = &transport{ctx: ctx, kernel: inv.Kernel, user: c.cfg.User, base: api, cause: inv.Cause}
	if args, err = k.files.substitute(args); err != nil {
		fmt.Fprintf(inv.Err, "error: %v\n", err)
		return 1
	}
	if inv.Within != nil {
		if err := k.files.confined(sub, flags); err != nil {
			fmt.Fprintf(inv.Err, "error: %v\n", err)
			return 1
		}
	}
	if n, err := strconv.Atoi(flags.value("v")); err == nil && n >= 6 {
		k.transport.base = &verbose{base: k.transport.base, level: n, out: inv.Err, clock: inv.Kernel}
	}
	k.transport.raw = flags != nil && flags.set("raw")
	k.secure = flags != nil && (flags.set("token") || flags.set("client-certificate") || flags.set("kubeconfig"))
	switch {
	case flags == nil, flags.set("help"):
	case sub == "rollout status" && flags.on("watch"):
		return k.rolloutStatus(ctx, args, flags)
	case sub == "wait" && len(flags.values("for")) > 0:
		return k.wait(ctx, args, flags)
	case sub == "delete" && flags.on("wait") && !flags.set("dry-run") && !flags.set("raw"):
		return k.delete(ctx, args, flags)
	case sub == "get" && (flags.on("watch") || flags.on("watch-only")):
		return k.follow(ctx, args, flags)
	case sub == "events" && flags.on("watch"):
		return k.followEvents(ctx, args, flags)
	case sub == "replace" && flags.on("force") && !flags.set("dry-run") && !flags.set("raw"):
		return k.replaceForce(ctx, args, flags)
	case sub == "run" && attached(flags) && len(flags.args) > 1 && !flags.set("dry-run"):
		return k.runAttached(ctx, args, flags)
	case sub == "drain" && !flags.set("dry-run"):
		exit := k.execute(args, inv.Out, inv.Err)
		if ctx.Err() != nil {
			return 130
		}
		return exit
	case sub == "logs" && flags.on("follow"):
		return k.followLogs(ctx, args, flags)
	case edits(sub, flags): // what is wrong with the first attempt is said before the second
		return k.execute(args, restoring{k.files, inv.Out}, restoring{k.files, inv.Err})
	}
	r := k.once(args)
	if r.exit != 0 {
		r.errOut = append(r.errOut, k.files.missing(r.errOut)...)
	}
	return k.print(r)
}

// result is one run of the embedded kubectl.
type result struct {
	out, errOut []byte
	exit        int
}

// print hands a result on and gives its exit status.
func (k *run) print(r result) int {
	_, _ = k.inv.Out.Write(r.out)
	_, _ = k.inv.Err.Write(r.errOut)
	return r.exit
}

// once runs the embedded kubectl with these arguments.
func (k *run) once(args []string) result {
	var out, errOut bytes.Buffer
	exit := k.execute(args, &out, &errOut)
	return result{k.files.restore(out.Bytes()), k.files.restore(errOut.Bytes()), exit}
}

// execute runs the embedded kubectl, which says what it says while it runs, and gives
// its exit status.
func (k *run) execute(args []string, out, errOut io.Writer) (exit int) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case fatal:
			if v.message != "" {
				fmt.Fprintln(errOut, strings.TrimSuffix(v.message, "\n"))
			}
			exit = v.code
		default:
			fmt.Fprintf(errOut, "kubectl: internal error: %v\n", v)
			exit = 1
		}
	}()
	root := k.tree(args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut})
	root.SetArgs(args)
	cmdutil.CheckErr(root.Execute())
	return 0
}

// tree builds kubectl's commands, connected to this cluster and nothing else.
func (k *run) tree(args []string, streams genericiooptions.IOStreams) *cobra.Command {
	construction.Lock()
	defer construction.Unlock()
	defer forgetCompletions()
	flags := configFlags(k.cache, k.kubectl.Namespace(), k.transport).WithWarningPrinter(streams)
	if k.secure { // client-go shows credentials only to servers that prove themselves
		*flags.APIServer = "https://kviz"
	}
	// kubectl's own handler is one for the whole process: two that run at once would
	// tell one what the other is warned of.
	warnings := rest.NewWarningWriter(streams.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	wrap := flags.WrapConfigFn
	flags.WrapConfigFn = func(c *rest.Config) *rest.Config {
		c = wrap(c)
		c.WarningHandler = warnings
		return c
	}
	root := cmd.NewKubectlCommand(cmd.KubectlOptions{Arguments: append([]string{"kubectl"}, args...), ConfigFlags: flags, IOStreams: streams})
	logFlags(root)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SilenceErrors = true // the caller prints them
	begin := root.PersistentPreRunE
	root.PersistentPreRunE = func(c *cobra.Command, args []string) error {
		construction.Lock() // it reads what building another tree writes
		defer construction.Unlock()
		return begin(c, args)
	}
	end := root.PersistentPostRunE
	root.PersistentPostRunE = func(c *cobra.Command, args []string) error {
		if err := end(c, args); err != nil {
			return err
		}
		asErrors, err := c.Flags().GetBool("warnings-as-errors")
		if n := warnings.WarningCount(); err == nil && asErrors && n > 0 {
			return fmt.Errorf("%d %s received", n, map[bool]string{true: "warning", false: "warnings"}[n == 1])
		}
		return nil
	}
	f := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(flags))
	replace(root, execCommand(f, streams, k), "exec")
	replace(root, diffCommand(f, streams), "diff")
	replace(root, canICommand(f, streams), "auth", "can-i")
	replace(root, versionCommand(f, streams), "version")
	replace(root, logsCommand(f, streams, k), "logs")
	replace(root, drainCommand(f, streams, k), "drain")
	replaceEditors(root, f, streams, k)
	return root
}

// configFlags leads kubectl to a server through transport, whatever kubeconfig
// the machine has. The client-side rate limits are off: they sleep by the
// machine's clock.
func configFlags(cache, namespace string, rt http.RoundTripper) *genericclioptions.ConfigFlags {
	none, server := os.DevNull, "http://kviz"
	flags := genericclioptions.NewConfigFlags(true).WithDiscoveryQPS(-1).WithDiscoveryBurst(1000)
	flags.KubeConfig, flags.APIServer, flags.CacheDir = &none, &server, &cache
	if namespace != "" {
		flags.Namespace = &namespace
	}
	return flags.WithWrapConfigFn(func(c *rest.Config) *rest.Config {
		if t, ok := rt.(*transport); ok {
			t.present(c)
		}
		c.TLSClientConfig = rest.TLSClientConfig{}
		c.Transport, c.QPS, c.UserAgent = rt, -1, userAgent
		return c
	})
}

// replace puts a command in the place of the one at path.
func replace(root, with *cobra.Command, path ...string) {
	old, _, err := root.Find(path)
	if err != nil || old.Name() != with.Name() {
		return
	}
	with.GroupID = old.GroupID
	parent := old.Parent()
	parent.RemoveCommand(old)
	parent.AddCommand(with)
}

// cacheDir is where kubectl keeps discovery between commands.
func (c *Kubectl) cacheDir() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cache == "" {
		dir, err := os.MkdirTemp("", "kviz-kubectl-")
		if err != nil {
			return "", fmt.Errorf("cache directory: %w", err)
		}
		c.cache = dir
	}
	return c.cache, nil
}

// Close removes its temporary files.
func (c *Kubectl) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cache == "" {
		return nil
	}
	dir := c.cache
	c.cache = ""
	var err error
	for range 100 { // a kubectl that was interrupted may still be writing there
		if err = os.RemoveAll(dir); !host.NotEmpty(err) {
			break
		}
	}
	return err
}

// Namespace is where kubectl acts when no -n is given.
func (c *Kubectl) Namespace() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ns
}

// setContext is kubectl config set-context --current --namespace=NAME.
func (c *Kubectl) setContext(inv *command.Invocation, flags *parsed) int {
	c.mu.Lock()
	c.ns = flags.value("namespace")
	c.mu.Unlock()
	fmt.Fprintln(inv.Out, `Context "kviz" modified.`)
	return 0
}
