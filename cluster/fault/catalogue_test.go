package fault

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every fault has a name that can be typed, a sentence, targets, and a way back:
// another fault that applies to the same targets, or words that say what ends it.
func TestEveryFaultIsWhole(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	seen := map[string]bool{}
	for _, f := range Catalogue() {
		if seen[f.Name] {
			t.Errorf("%s is there twice", f.Name)
		}
		seen[f.Name] = true
		if !name.MatchString(f.Name) {
			t.Errorf("%q cannot be typed easily", f.Name)
		}
		if !strings.HasSuffix(f.Means, ".") || f.Means[:1] != strings.ToUpper(f.Means[:1]) {
			t.Errorf("%s means %q, which is no sentence", f.Name, f.Means)
		}
		if len(f.Targets) == 0 || len(slices.Compact(slices.Sorted(slices.Values(f.Targets)))) != len(f.Targets) {
			t.Errorf("%s applies to %v", f.Name, f.Targets)
		}
		if got, ok := Lookup(f.Name); !ok || got.Means != f.Means {
			t.Errorf("%s is not found by its name", f.Name)
		}
		if f.Heals == "" {
			continue
		}
		heals, ok := Lookup(f.Heals)
		if !ok {
			t.Errorf("%s is mended by %q, which is no fault", f.Name, f.Heals)
			continue
		}
		if heals.Heals != "" {
			t.Errorf("%s is mended by %s, which wants mending itself", f.Name, f.Heals)
		}
		for _, kind := range f.Targets {
			if kind != "pod" && !slices.Contains(heals.Targets, kind) { // a pod's kubelet mends it
				t.Errorf("%s of a %s is mended by %s, which does not apply to it", f.Name, kind, f.Heals)
			}
		}
	}
	if _, ok := Lookup("explode"); ok {
		t.Error("a fault that nobody knows is found")
	}
}

// What has no fault that mends it mends something itself, happens once, or is
// undone by what its own sentence, or this list, says.
func TestWhatHasNoWayBackIsNamed(t *testing.T) {
	mends := map[string]bool{}
	for _, f := range Catalogue() {
		mends[f.Heals] = true
	}
	back := map[string]string{
		"restart": "it is up again", "flush": "kube-proxy writes them again", "lead": "lead of another member", "corrupt": "rejoin", "wipe": "rejoin, kviz restore or reinstall",
		"rejoin": "it mends", "recover": "add-voter", "add-learner": "remove", "add-voter": "remove", "promote": "remove", "remove": "add-voter",
		"split-vote": "the next election", "snapshot": "nothing is lost", "defrag": "nothing is lost", "compact": "a backup", "quota": "quota of 2GiB, then disarm",
		"disarm": "it mends", "reinstall": "it mends", "rotate": "the plugin still has its former keys",
	}
	for _, f := range Catalogue() {
		if f.Heals == "" && !mends[f.Name] && back[f.Name] == "" {
			t.Errorf("nothing says how %s is undone", f.Name)
		}
		if (f.Heals != "" || mends[f.Name]) && back[f.Name] != "" {
			t.Errorf("%s has a way back, or is one, and stands in the list of those without", f.Name)
		}
		delete(back, f.Name)
	}
	for name := range back {
		t.Errorf("%s is in the list, and is no fault", name)
	}
}

func TestTargetKind(t *testing.T) {
	for target, want := range map[string]string{"member/a": "member", "pod/demo/web": "pod", "scheduler": "scheduler", "": ""} {
		if got := TargetKind(target); got != want {
			t.Errorf("%q is a %q, want %q", target, got, want)
		}
	}
}
