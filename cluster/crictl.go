package cluster

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"kviz/cluster/runtime"
)

// crictl asks a node's container runtime, as the program of the name does: without the
// kubelet, and without the API server.
func crictl(n *node, argv []string, out, errOut io.Writer) int {
	verbs := map[string]func(*node, *crictlFlags, io.Writer) error{
		"ps": crictlPS, "pods": crictlPods, "images": crictlImages, "logs": crictlLogs,
	}
	f := &crictlFlags{FlagSet: pflag.NewFlagSet("crictl", pflag.ContinueOnError)}
	f.SetOutput(io.Discard)
	f.BoolVarP(&f.all, "all", "a", false, "")
	f.BoolVarP(&f.quiet, "quiet", "q", false, "")
	f.StringVar(&f.name, "name", "", "")
	f.StringVar(&f.namespace, "namespace", "", "")
	if err := f.Parse(argv[1:]); err != nil {
		fmt.Fprintf(errOut, "crictl: %v: of its flags -a, -q, --name and --namespace are simulated\n", err)
		return 1
	}
	run := verbs[f.Arg(0)]
	if run == nil {
		fmt.Fprintln(errOut, "usage: crictl ps [-a] | pods | images | logs CONTAINER   (of what crictl can do, these are simulated)")
		return 1
	}
	if err := run(n, f, out); err != nil {
		fmt.Fprintf(errOut, "FATA[0000] %v\n", err)
		return 1
	}
	return 0
}

type crictlFlags struct {
	*pflag.FlagSet
	all, quiet      bool
	name, namespace string
}

func (f *crictlFlags) wants(namespace, name string) bool {
	return strings.Contains(name, f.name) && (f.namespace == "" || f.namespace == namespace)
}

// idWidth is how much of an id is shown.
const idWidth = 13

func shortened(id string) string {
	id = id[strings.LastIndexByte(id, ':')+1:]
	return id[:min(idWidth, len(id))]
}

func table(out io.Writer, columns ...string) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 8, 4, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	return w
}

func ago(n *node, at time.Time) string { return humanize.RelTime(at, n.runtime.Now(), "ago", "") }

func crictlPods(n *node, f *crictlFlags, out io.Writer) error {
	pods, err := n.runtime.Pods()
	if err != nil {
		return err
	}
	if f.quiet {
		for _, s := range pods {
			fmt.Fprintln(out, s.ID)
		}
		return nil
	}
	w := table(out, "POD ID", "CREATED", "STATE", "NAME", "NAMESPACE", "ATTEMPT", "RUNTIME")
	for _, s := range pods {
		state := "NotReady"
		if s.Ready {
			state = "Ready"
		}
		if f.wants(s.Namespace, s.Name) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t(default)\n", shortened(s.ID), ago(n, s.CreatedAt), state, s.Name, s.Namespace, s.Attempt)
		}
	}
	return w.Flush()
}

// placed is a container with the pod it is in.
type placed struct {
	runtime.Container
	pod runtime.Sandbox
}

// containers are those of all pods, the newest first.
func (n *node) containers() ([]placed, error) {
	pods, err := n.runtime.Pods()
	if err != nil {
		return nil, err
	}
	var all []placed
	for _, s := range pods {
		st, err := n.runtime.PodStatus(s.PodUID)
		if err != nil {
			return nil, err
		}
		for _, c := range st.Containers {
			all = append(all, placed{c, s})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	return all, nil
}

func crictlPS(n *node, f *crictlFlags, out io.Writer) error {
	all, err := n.containers()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(c placed) bool {
		return c.State != runtime.Running && !f.all || !f.wants(c.pod.Namespace, c.Name)
	})
	if f.quiet {
		for _, c := range all {
			fmt.Fprintln(out, c.ID)
		}
		return nil
	}
	states := map[runtime.State]string{runtime.Created: "Created", runtime.Running: "Running", runtime.Exited: "Exited"}
	w := table(out, "CONTAINER", "IMAGE", "CREATED", "STATE", "NAME", "ATTEMPT", "POD ID", "POD", "NAMESPACE")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n",
			shortened(c.ID), shortened(c.ImageRef), ago(n, c.CreatedAt), states[c.State], c.Name, c.Attempt, shortened(c.pod.ID), c.pod.Name, c.pod.Namespace)
	}
	return w.Flush()
}

func crictlImages(n *node, f *crictlFlags, out io.Writer) error {
	if !n.runtime.Running() {
		_, err := n.runtime.Pods()
		return err
	}
	images := n.runtime.Images()
	if f.quiet {
		for _, img := range images {
			fmt.Fprintln(out, img.Digest)
		}
		return nil
	}
	w := table(out, "IMAGE", "TAG", "IMAGE ID", "SIZE")
	for _, img := range images {
		name, tag := img.Name, "<none>"
		if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
			name, tag = name[:at], name[at+1:]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, tag, shortened(img.Digest), strings.ReplaceAll(humanize.Bytes(uint64(img.Size)), " ", ""))
	}
	return w.Flush()
}

func crictlLogs(n *node, f *crictlFlags, out io.Writer) error {
	all, err := n.containers()
	if err != nil {
		return err
	}
	if id := f.Arg(1); id != "" {
		for _, c := range all {
			if !strings.HasPrefix(c.ID, id) {
				continue
			}
			lines, err := n.runtime.Logs(c.ID)
			for _, l := range lines {
				fmt.Fprintln(out, l.Text)
			}
			return err
		}
	}
	return fmt.Errorf("container %q is not found: crictl ps -a lists them", f.Arg(1))
}
