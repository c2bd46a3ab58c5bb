package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubectl/pkg/polymorphichelpers"

	"kviz/cluster/load"
	"kviz/cluster/nearest"
	"kviz/cluster/trace"
)

// Loads is what pods have to do, as people set it.
type Loads interface {
	// Load sets it, because of an event.
	Load(p trace.Load, cause trace.ID) error
	// Loads is all that is set; on the kernel's goroutine, as Sharing.
	Loads() []*load.Figure
	// Sharing is how many pods share the load of a target now.
	Sharing(kind, namespace, name string) int
}

// loadFlags are the flags of kviz load.
type loadFlags struct {
	namespace, container, labels string
	cpu, memory                  string
	metrics, externals           []string
	each, off                    bool
}

// loadVerb is kviz load: what is set, and setting it.
func loadVerb(_ context.Context, inv *use, args []string) int {
	var f loadFlags
	flags := pflag.NewFlagSet("load", pflag.ContinueOnError)
	flags.SetOutput(inv.Err)
	flags.Usage = func() {}
	flags.StringVarP(&f.namespace, "namespace", "n", orDefault(inv.cfg.Namespace()), "")
	flags.StringVarP(&f.container, "container", "c", "", "")
	flags.StringVar(&f.labels, "labels", "", "")
	flags.StringVar(&f.cpu, "cpu", "", "")
	flags.StringVar(&f.memory, "memory", "", "")
	flags.StringArrayVar(&f.metrics, "metric", nil, "")
	flags.StringArrayVar(&f.externals, "external", nil, "")
	flags.BoolVar(&f.each, "each", false, "")
	flags.BoolVar(&f.off, "off", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 1 {
		return inv.badUse()
	}
	if inv.cfg.Cluster.Loads == nil {
		return inv.did(errors.New("this console has no pods that could be given load"))
	}
	if flags.NArg() == 0 && flags.NFlag() == 0 || flags.NArg() == 0 && flags.NFlag() == 1 && flags.Changed("namespace") {
		return inv.listLoads(flags.Changed("namespace"), f.namespace)
	}
	p, err := f.load(flags.Arg(0))
	if err != nil {
		return inv.did(err)
	}
	if err := inv.cfg.Cluster.Loads.Load(p, inv.Cause); err != nil {
		return inv.did(err)
	}
	return inv.tellLoad(&p)
}

// load is what the flags say of a target; "" is none.
func (f *loadFlags) load(text string) (trace.Load, error) {
	p := trace.Load{Container: f.container, Each: f.each, Off: f.off}
	if err := f.figures(&p); err != nil {
		return p, err
	}
	switch {
	case f.off && len(p.Figures) > 0:
		return p, errors.New("--off takes away all that is set of the target; to take one figure away say --cpu off, --memory off or --metric NAME=off")
	case text == "" && len(f.externals) > 0 && len(f.externals) == len(p.Figures):
		p.Target = trace.Ref{Namespace: f.namespace}
		return p, nil
	case text == "" && f.off:
		if f.container != "" {
			return p, errors.New("name the target whose container it is")
		}
		return p, nil
	case len(f.externals) > 0:
		return p, errors.New("an external metric is about nothing in the cluster: set it in a command of its own, without a target")
	case text == "":
		return p, errors.New("name what has the load: kviz load deployment/web --cpu 0.5")
	}
	var err error
	p.Target, err = f.target(text)
	return p, err
}

// figures reads the curves that are given.
func (f *loadFlags) figures(p *trace.Load) error {
	add := func(what, name, curve string) {
		if curve == "off" {
			curve = ""
		}
		g := trace.LoadFigure{What: what, Name: name, Curve: curve}
		if what == load.OfExternal {
			g.Labels = f.labels
		}
		p.Figures = append(p.Figures, g)
	}
	if f.cpu != "" {
		add(load.OfCPU, "", f.cpu)
	}
	if f.memory != "" {
		add(load.OfMemory, "", f.memory)
	}
	for _, given := range []struct {
		what  string
		texts []string
	}{{load.OfMetric, f.metrics}, {load.OfExternal, f.externals}} {
		for _, text := range given.texts {
			name, curve, ok := strings.Cut(text, "=")
			if !ok || curve == "" {
				return fmt.Errorf("--%s %q: want NAME=CURVE, such as requests-per-second=120", given.what, text)
			}
			add(given.what, name, curve)
		}
	}
	if f.labels != "" && len(f.externals) == 0 {
		return errors.New("--labels are those of an external metric: kviz load --external queue-length=30 --labels queue=orders")
	}
	return nil
}

// target reads deployment/web, in kubectl's words.
func (f *loadFlags) target(text string) (trace.Ref, error) {
	name := parseName(text, f.namespace)
	if name.name == "" || name.written == "" {
		return trace.Ref{}, fmt.Errorf("want a target such as pod/web-1 or deployment/web, not %q", text)
	}
	for _, resource := range name.could {
		kind, ok := load.KindOf(resource)
		if !ok || name.group != "" && name.group != kind.Group {
			continue
		}
		ref := trace.Ref{APIVersion: kind.APIVersion(), Kind: kind.Kind, Namespace: name.namespace, Name: name.name}
		if kind.Cluster {
			ref.Namespace = ""
		}
		return ref, nil
	}
	var known []string
	for _, k := range load.Kinds {
		known = append(known, strings.ToLower(k.Kind))
	}
	if near := nearest.To(name.written, known); near != "" {
		return trace.Ref{}, fmt.Errorf("a %s can have no load; did you mean %s/%s?", name.written, near, name.name)
	}
	return trace.Ref{}, fmt.Errorf("a %s can have no load; these can: %s", name.written, strings.Join(known, ", "))
}

// loadNow is what is set, at a moment.
func (inv *use) loadNow() (all []*load.Figure, now time.Duration, err error) {
	err = inv.Kernel.Do(func() { all, now = inv.cfg.Cluster.Loads.Loads(), inv.Kernel.Elapsed() })
	return all, now, err
}

// tellLoad says what has been set, and what will come of it.
func (inv *use) tellLoad(p *trace.Load) int {
	all, now, err := inv.loadNow()
	if err != nil {
		return inv.did(err)
	}
	what := "nothing is set any more"
	if t := p.Target; t.Kind != "" {
		what = fmt.Sprintf("%s %s has no load of its own any more", strings.ToLower(t.Kind), t.Key())
	}
	if p.Off {
		fmt.Fprintln(inv.Out, what)
		return 0
	}
	read, err := load.Figures(p, 0, trace.ID{})
	if err != nil {
		return inv.did(err)
	}
	sets := false
	for _, r := range read {
		sets = sets || r.Curve != nil
		if r.Curve == nil {
			fmt.Fprintln(inv.Out, r.Words()+" is not set any more")
		}
	}
	for _, f := range all {
		if !slices.ContainsFunc(read, func(r load.Figure) bool { return r.Key == f.Key && r.Curve != nil }) {
			continue
		}
		line := f.Words() + " " + f.Curve.String()
		if f.Kind != "" {
			line = fmt.Sprintf("%s %s: %s", strings.ToLower(f.Kind), p.Target.Key(), line)
		}
		if f.Curve.Changes(now - f.Since) {
			line += ", now " + f.Text(now)
		}
		if says := f.Meaning(); says != "" {
			line += ", " + says
		}
		if f.Shared() {
			line += fmt.Sprintf(" (%d now)", inv.sharing(f))
		}
		fmt.Fprintln(inv.Out, line)
	}
	t := p.Target
	if !sets || t.Kind == "" {
		return 0
	}
	obj := inv.latest().ObjectOf(t)
	if obj == nil {
		fmt.Fprintf(inv.Out, "there is no %s %s yet; the load waits for it\n", strings.ToLower(t.Kind), t.Key())
		return 0
	}
	if names := containersOf(obj.Value); p.Container != "" && !slices.Contains(names, p.Container) {
		fmt.Fprintf(inv.Out, "%s %s has no container %q, it has %s; the load waits for one\n", strings.ToLower(t.Kind), t.Key(), p.Container, strings.Join(names, ", "))
	}
	return 0
}

// containersOf are the names of the containers in a pod, or in a workload's template.
func containersOf(obj runtime.Object) (names []string) {
	_, _ = polymorphichelpers.UpdatePodSpecForObjectFn(obj, func(spec *corev1.PodSpec) error { // it fails for other kinds, which have none
		for i := range spec.Containers {
			names = append(names, spec.Containers[i].Name)
		}
		return nil
	})
	return names
}

func (inv *use) sharing(f *load.Figure) (n int) {
	_ = inv.Kernel.Do(func() { n = inv.cfg.Cluster.Loads.Sharing(f.Kind, f.Namespace, f.Name) }) // a stopped cluster has none
	return n
}

// listLoads tells all that is set, or what is of one namespace.
func (inv *use) listLoads(one bool, namespace string) int {
	all, now, err := inv.loadNow()
	if err != nil {
		return inv.did(err)
	}
	if one {
		all = slices.DeleteFunc(all, func(f *load.Figure) bool { return f.Namespace != namespace })
	}
	if len(all) == 0 {
		fmt.Fprintln(inv.Out, "no load is set: kviz load deployment/web --cpu 0.5 sets one")
		return 0
	}
	w := tabwriter.NewWriter(inv.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "NAMESPACE\tTARGET\tWHAT\tNOW\tCURVE\tOF")
	for _, f := range all {
		target := f.Target()
		if f.Container != "" {
			target += " -c " + f.Container
		}
		means := f.Meaning()
		if f.Shared() {
			means += fmt.Sprintf(" (%d)", inv.sharing(f))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", orDash(f.Namespace), orDash(target), f.Words(), f.Text(now), f.Curve, orDash(means))
	}
	_ = w.Flush()
	return 0
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
