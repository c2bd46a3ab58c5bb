package proof

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

var (
	stories = flag.Int("stories", 6, "how many stories to tell, of each kind that -kind names without a number")
	first   = flag.Uint64("seed", 1, "the seed of the first story, of each kind; the others follow")
	atOnce  = flag.Int("at-once", 8, "how many stories to tell at the same time, each in a namespace and on nodes of its own")
	slow    = flag.Bool("slow", false, "tell also of dead nodes and of schedules, which takes minutes")
	only    = flag.String("kind", "", "tell only stories of these kinds, and how many: claim, or budget=40,claim=40,hpa=20")
)

// tale is a story to be told: of a kind, or of any.
type tale struct {
	kind string
	seed uint64
}

func (t tale) ns() string { return cmp.Or(t.kind, "s") + fmt.Sprint(t.seed) }

// tales are those that the flags ask for.
func tales() (all []tale, err error) {
	for _, of := range strings.Split(*only, ",") {
		kind, number, found := strings.Cut(of, "=")
		n := *stories
		if found {
			if n, err = strconv.Atoi(number); err != nil {
				return nil, fmt.Errorf("-kind: %w", err)
			}
		}
		if kind != "" && !slices.ContainsFunc(tellers, func(t teller) bool { return t.kind == kind }) {
			return nil, fmt.Errorf("-kind: there are no stories of the kind %q", kind)
		}
		for i := range n {
			all = append(all, tale{kind, *first + uint64(i)})
		}
	}
	return all, nil
}

// nodesOfStory is how many nodes a story has for itself.
const nodesOfStory = 3

// kube-controller-manager's binary and kviz' controllers go through the same stories. After each step both sides come to
// rest with the same objects and the same Events, and workloads had the same most and least of each number.
func TestTheSameStories(t *testing.T) {
	steady.RealTime(t, "kube-controller-manager is a process")
	all, err := tales()
	if err != nil {
		t.Fatal(err)
	}
	binary := program(t)
	many := min(*atOnce, len(all))
	var ours, real *side
	ours, real = boot(t, "kviz", many*nodesOfStory+1), boot(t, "kube-controller-manager", many*nodesOfStory+1, trace.CompKCM)
	real.Run(t, trace.CompKCM, binary, flags(t)...)
	if measured(all) {
		for _, s := range []*side{ours, real} {
			s.metrics(t, fmt.Sprintf("node-%d", many*nodesOfStory+1))
		}
	}
	next := make(chan tale, len(all))
	for _, one := range all {
		next <- one
	}
	close(next)
	var sum tally
	var wg sync.WaitGroup
	for slot := range many {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var nodes []string
			for i := range nodesOfStory {
				nodes = append(nodes, fmt.Sprintf("node-%d", slot*nodesOfStory+i+1))
			}
			for one := range next {
				g := &stage{ours: ours, real: real, ns: one.ns(), nodes: nodes, all: &sum}
				kind, err := g.tell(t.Context(), one)
				switch {
				case t.Context().Err() != nil:
					return
				case err != nil:
					t.Errorf("story %d (%s):\n%s\n%v", one.seed, kind, strings.Join(g.told, "\n"), err)
				case testing.Verbose():
					t.Logf("story %d (%s):\n%s", one.seed, kind, strings.Join(g.told, "\n"))
				}
			}
		}()
	}
	wg.Wait()
	t.Logf("%d stories: %d steps, %d objects and Events compared, %d updates whose numbers of pods were compared", len(all), sum.steps, sum.lines, sum.numbers)
	if sum.lines == 0 {
		t.Error("nothing was compared")
	}
}

// measured reports whether a story needs metrics-server.
func measured(all []tale) bool {
	return slices.ContainsFunc(all, func(one tale) bool { return draw(one, make([]string, nodesOfStory)).kind == "hpa" })
}

type tally struct {
	mu                    sync.Mutex
	steps, lines, numbers int
}

// stage is both sides, and what a story has there.
type stage struct {
	ours, real *side
	ns         string
	nodes      []string
	all        *tally
	told       []string
}

// tell tells a story to both sides.
func (g *stage) tell(ctx context.Context, one tale) (kind string, err error) {
	st := draw(one, g.nodes)
	if err := g.both(func(s *side) error { return s.enter(ctx, g.ns, g.nodes) }); err != nil {
		return st.kind, err
	}
	defer func() { err = errors.Join(err, g.leave(context.WithoutCancel(ctx))) }()
	for _, next := range st.steps {
		g.told = append(g.told, "  "+next.says)
		began := time.Now()
		if err := g.step(ctx, next); err != nil {
			return st.kind, err
		}
		g.told[len(g.told)-1] += fmt.Sprintf(" (%.0fs)", time.Since(began).Seconds())
	}
	return st.kind, nil
}

func (g *stage) both(f func(s *side) error) error {
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i, s := range []*side{g.ours, g.real} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := f(s); err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.Name, err)
			}
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

// A step ends when nothing has changed for calm and both sides show the same; it fails when they do not after so long.
const (
	calm    = 2500 * time.Millisecond
	patient = 60 * time.Second
	look    = 200 * time.Millisecond
)

func (g *stage) step(ctx context.Context, next step) error {
	if err := g.both(func(s *side) error {
		s.begin(g.ns)
		return next.do(ctx, s)
	}); err != nil {
		return err
	}
	end := time.Now().Add(max(next.patience, patient))
	for {
		late := time.Now().After(end)
		missing := g.missing(next, late)
		if missing == nil {
			g.all.mu.Lock()
			defer g.all.mu.Unlock()
			g.all.steps++
			return g.numbers(next)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if late {
			return missing
		}
		time.Sleep(look)
	}
}

// missing is what keeps both sides from being at rest with the same; in full at the last look.
func (g *stage) missing(next step, last bool) error {
	var missing []string
	for _, s := range []*side{g.ours, g.real} {
		if text := s.behind(g.ns); text != "" {
			missing = append(missing, s.Name+": "+text)
		}
		if next.until != nil {
			if text := next.until(s); text != "" {
				missing = append(missing, s.Name+": "+text)
			}
		}
		if s.quiet(g.ns) < calm {
			missing = append(missing, s.Name+": does not come to rest")
		}
	}
	if len(missing) > 0 && !last {
		return errors.New("not at rest")
	}
	open := append(g.ours.open(g.ns), g.real.open(g.ns)...)
	a, b := next.kept(g.ours.picture(g.ns, g.nodes), open), next.kept(g.real.picture(g.ns, g.nodes), open)
	different := apart(a, b, g.ours.Name, g.real.Name)
	if len(missing) > 0 {
		return fmt.Errorf("%s\n%s", strings.Join(missing, "\n"), different)
	}
	if different == "" {
		g.all.mu.Lock()
		defer g.all.mu.Unlock()
		g.all.lines += len(a)
		return nil
	}
	return fmt.Errorf("DIFFERENT\n%s", different)
}

// begin begins a step.
func (s *side) begin(ns string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[ns]
	r.changed = time.Now()
	r.extent = newExtent(s.all("pods", ns))
}

// behind is what of a namespace the controllers have not seen yet.
func (s *side) behind(ns string) string {
	for _, resource := range []string{"deployments", "replicasets", "replicationcontrollers", "statefulsets", "daemonsets"} {
		for _, o := range s.all(resource, ns) {
			if status, ok := o.Object["status"].(map[string]any); ok {
				if seen, ok := status["observedGeneration"].(int64); ok && seen != o.GetGeneration() {
					return fmt.Sprintf("%s %s has not been seen", o.GetKind(), o.GetName())
				}
			}
		}
	}
	return ""
}

// numbers compares how far the numbers of pods went in a step.
func (g *stage) numbers(next step) error {
	if next.firm == "" {
		return nil
	}
	g.all.numbers++
	if a, b := g.ours.extent(g.ns, next.firm), g.real.extent(g.ns, next.firm); a != b {
		return fmt.Errorf("NUMBERS\nkviz: %s\nkube-controller-manager: %s", a, b)
	}
	return nil
}

// extent is how far the numbers of pods of a kind of workload went.
func (s *side) extent(ns, of string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.rooms[ns].extent
	if of == "deployments" {
		// The new ReplicaSet may have its pod before the old one's is deleted: a worker of its own looks at each.
		return fmt.Sprintf("at least %d pods ready", e.readyLeast)
	}
	return e.String()
}

// leave takes the story's namespace off both sides.
func (g *stage) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*patient)
	defer cancel()
	return g.both(func(s *side) error {
		if err := s.mend(ctx, g.nodes); err != nil {
			return err
		}
		if err := s.delete(ctx, "namespaces", "", g.ns, "Background"); err != nil {
			return err
		}
		for len(s.all("pods", g.ns)) > 0 || len(s.all("persistentvolumeclaims", g.ns)) > 0 || !s.ready(g.nodes) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: the namespace does not become empty: %w", g.ns, ctx.Err())
			case <-time.After(look):
			}
		}
		for _, v := range s.all("persistentvolumes", g.ns) {
			if err := s.delete(ctx, "persistentvolumes", "", v.GetName(), "Background"); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.rooms, g.ns)
		return nil
	})
}
