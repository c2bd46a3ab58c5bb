package fault

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Every fault has a name that can be typed, a sentence, a way to do it, words in the menu,
// and what mends it applies to the same target and wants no mending itself.
func TestEveryFaultIsWhole(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, f := range Catalogue() {
		pair := f.Name + " " + f.Target
		if seen[pair] {
			t.Errorf("%s is there twice", pair)
		}
		seen[pair] = true
		if !name.MatchString(f.Name) {
			t.Errorf("%q cannot be typed easily", f.Name)
		}
		if !strings.HasSuffix(f.Means, ".") || f.Means[:1] != strings.ToUpper(f.Means[:1]) {
			t.Errorf("%s means %q, which is no sentence", pair, f.Means)
		}
		row, ok := Find(f.Target, f.Name)
		if !ok || row.Means != f.Means || row.do == nil {
			t.Errorf("%s is not found, or cannot be done", pair)
		}
		if f.Ways == nil {
			t.Errorf("the fault menu has no words for %s", pair)
		}
		for _, w := range f.Ways {
			if w.Peer != strings.Contains(w.Say, "%s") || w.Ask != "" != strings.HasSuffix(w.Say, "…") {
				t.Errorf("%s: %+v", pair, w)
			}
			if f.Args == "" && (w.Ask != "" || len(w.Args) > 0) {
				t.Errorf("%s takes no further words, and %q gives some", pair, w.Say)
			}
		}
		if f.Heals == "" {
			continue
		}
		heals, ok := Find(f.Target, f.Heals)
		switch {
		case !ok:
			t.Errorf("%s is mended by %q, which does not apply to it", pair, f.Heals)
		case heals.Heals != "" || !heals.Repairs:
			t.Errorf("%s is mended by %s, which repairs nothing or wants mending itself", pair, f.Heals)
		}
		if f.Repairs {
			t.Errorf("%s repairs, and is mended by %s", pair, f.Heals)
		}
	}
	if _, ok := Find("member", "explode"); ok {
		t.Error("a fault that nobody knows is found")
	}
}

// What has no fault that mends it mends something itself, happens once, or is
// undone by what its own sentence, or this list, says.
func TestWhatHasNoWayBackIsNamed(t *testing.T) {
	mends := map[string]bool{}
	for _, f := range Catalogue() {
		mends[f.Heals+" "+f.Target] = true
	}
	back := map[string]string{
		"restart": "it is up again", "flush": "kube-proxy writes them again", "lead": "lead of another member", "corrupt": "rejoin", "wipe": "rejoin, kviz restore or reinstall",
		"rejoin": "it mends", "recover": "add-voter", "add-learner": "remove", "add-voter": "remove", "promote": "remove", "remove": "add-voter",
		"split-vote": "the next election", "snapshot": "nothing is lost", "defrag": "nothing is lost", "compact": "a backup", "quota": "quota of 2GiB, then disarm",
		"disarm": "it mends", "reinstall": "it mends", "rotate": "the plugin still has its former keys", "crash": "of a pod: its kubelet starts it again",
	}
	used := map[string]bool{}
	for _, f := range Catalogue() {
		if f.Heals != "" || mends[f.Name+" "+f.Target] {
			continue
		}
		if back[f.Name] == "" {
			t.Errorf("nothing says how %s of a %s is undone", f.Name, f.Target)
		}
		used[f.Name] = true
	}
	for name := range back {
		if !used[name] {
			t.Errorf("%s is in the list, and has a way back, or is no fault", name)
		}
	}
}

// What mends a fault ends it on the screen too: the fold of the two events has none left.
func TestWhatIsMendedIsShownAsMended(t *testing.T) {
	for _, f := range Catalogue() {
		if f.Heals == "" {
			continue
		}
		target := f.Target
		if target != "store" {
			target += "/x"
		}
		b := view.NewBuilder()
		broken, _ := Find(f.Target, f.Name)
		mended, _ := Find(f.Target, f.Heals)
		b.Apply(&trace.Event{ID: trace.ID{Seq: 1}, Kind: trace.FaultInjected, Payload: broken.Told(control.Fault{Name: f.Name, Target: target})})
		b.Apply(&trace.Event{ID: trace.ID{Seq: 2}, Kind: trace.FaultHealed, Payload: mended.Told(control.Fault{Name: f.Heals, Target: target})})
		if left := b.Live().Faults(); len(left) != 0 {
			t.Errorf("%s of %s, mended by %s, is still shown: %+v", f.Name, f.Target, f.Heals, left[0].Fault)
		}
	}
}

// A link is shown as mended at whichever end it was broken, and the others of the same fault as broken.
func TestMendedLinksAreShownAsMended(t *testing.T) {
	pairs := []string{"a-b", "a-c", "b-c"}
	for _, c := range []struct{ broken, mended, left string }{
		{"cut member/a", "heal member/a", ""},
		{"cut member/a", "heal member/a b", "a-c"},
		{"cut member/a", "heal member/b a", "a-c"},
		{"cut member/a", "heal member/b", "a-c"},
		{"cut member/a", "heal member/a b c", ""},
		{"cut member/a b", "heal member/b", ""},
		{"cut member/a member/b", "heal member/b", ""},
		{"cut member/a b", "heal member/c", "a-b"},
		{"mute member/a", "heal member/a member/c", "a-b"},
		{"deafen member/a", "heal member/c", "a-b"},
		{"delay member/a b 30ms", "heal member/b a", ""},
		{"drop member/a b 0.3", "heal member/b", ""},
		{"duplicate member/a b 0.3", "heal member/a c", "a-b"},
		{"reorder member/a b 0.3", "heal member/a b", ""},
		{"partition store a", "heal member/a b", "a-c"},
		{"partition store a", "heal member/a", ""},
		{"partition store a b c", "heal member/c", "a-b"},
		{"slow member/a 10ms", "heal member/a b", "slow"},
		{"fill member/a", "heal member/a b", "fill"},
		{"slow member/b 10ms", "heal member/a", "slow"},
		{"fill member/a", "heal member/a", ""},
	} {
		b, seq := view.NewBuilder(), uint64(0)
		apply := func(k trace.Kind, payload any) {
			seq++
			b.Apply(&trace.Event{ID: trace.ID{Seq: seq}, Kind: k, Payload: payload})
		}
		does := func(line string) *trace.Fault {
			w := strings.Fields(line)
			row, ok := Find(TargetKind(w[1]), w[0])
			if !ok {
				t.Fatalf("there is no %s", line)
			}
			return row.Told(control.Fault{Name: w[0], Target: w[1], Args: w[2:]})
		}
		for _, m := range []string{"a", "b", "c"} {
			apply(trace.MemberUp, &trace.MemberState{Member: m, Role: "follower"})
		}
		apply(trace.FaultInjected, does(c.broken))
		before := b.Mark()
		was := before.Faults()[0].Mended
		apply(trace.FaultHealed, does(c.mended))
		s := b.Live()
		var left []string
		for _, pair := range pairs {
			if x, y, _ := strings.Cut(pair, "-"); s.Link(x, y) != view.Sound || s.Link(y, x) != view.Sound {
				left = append(left, pair)
			}
		}
		for _, f := range s.Faults() {
			if f.Fault.Fault == "slow" || f.Fault.Fault == "fill" {
				left = append(left, f.Fault.Fault)
			}
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("%s, then %s: %q is shown as broken, want %q", c.broken, c.mended, got, c.left)
		}
		if n := len(s.Faults()); (n == 0) != (c.left == "") {
			t.Errorf("%s, then %s: %d faults are listed", c.broken, c.mended, n)
		}
		if len(was) > 0 || len(before.Faults()) != 1 || len(before.Faults()[0].Mended) > 0 {
			t.Errorf("%s, then %s: the state before the mending has changed", c.broken, c.mended)
		}
	}
}

// A fault that does not apply says which kinds of target it applies to.
func TestApplies(t *testing.T) {
	if got := Applies("stall"); !slices.Equal(got, []string{"informer", "watch"}) {
		t.Errorf("stall applies to %v", got)
	}
	if got := Applies("explode"); got != nil {
		t.Errorf("explode applies to %v", got)
	}
}

func TestTargetKind(t *testing.T) {
	for target, want := range map[string]string{"member/a": "member", "pod/demo/web": "pod", "scheduler": "scheduler", "": ""} {
		if got := TargetKind(target); got != want {
			t.Errorf("%q is a %q, want %q", target, got, want)
		}
	}
}

// What of a target is over with a fault, the table alone says.
func TestWhatAFaultUndoes(t *testing.T) {
	for _, c := range []struct{ name, target, undoes string }{
		{"start", "member/a", "crash power-cut stop"},
		{"restart", "node/node-1", "crash stop"},
		{"heal", "member/a", "cut deafen delay drop duplicate fill mute reorder slow"},
		{"heal", "store", "cut deafen delay drop duplicate fill mute partition reorder slow"},
		{"heal", "webhook/lying", "lie slow"},
		{"heal", "informer/scheduler/pods", "cut delay drop hold slow stall"},
		{"drop", "informer/scheduler/pods", "drop hold"},
		{"rejoin", "member/a", "corrupt crash cut deafen delay drop duplicate fill mute power-cut reorder slow stop wipe"},
		{"slow", "member/a", "slow"},
		{"cut", "member/a", ""},
	} {
		row, ok := Find(TargetKind(c.target), c.name)
		if !ok {
			t.Fatalf("there is no %s of %s", c.name, c.target)
		}
		if got := strings.Join(row.Told(control.Fault{Name: c.name, Target: c.target}).Undoes, " "); got != c.undoes {
			t.Errorf("%s of %s undoes %q, want %q", c.name, c.target, got, c.undoes)
		}
	}
	heal, _ := Find("member", "heal")
	told := heal.Told(control.Fault{Name: "heal", Target: "member/a", Args: []string{"member/b"}})
	if got := strings.Join(told.Undoes, " "); got != "cut deafen delay drop duplicate mute reorder" || !slices.Equal(told.Peers, []string{"b"}) {
		t.Errorf("heal of one link undoes %q with %v", got, told.Peers)
	}
}
