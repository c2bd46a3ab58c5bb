package scheduler_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"kviz/cluster/scheduler"
	"kviz/cluster/view"
)

// The panes know the profile of a scheduler without a file, though no event tells of it.
// KVIZ_REWRITE=1 writes it down again.
func TestThePanesKnowTheUsualProfile(t *testing.T) {
	_, told, err := scheduler.Configured(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(told.Changed) > 0 || len(told.Profiles[0].Args) > 0 {
		t.Errorf("the defaults differ from themselves: %q %q", told.Changed, told.Profiles[0].Args)
	}
	want, err := json.MarshalIndent(told.Profiles[0], "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	const file = "../view/scheduling_profile.json"
	if os.Getenv("KVIZ_REWRITE") != "" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != string(want) {
		t.Errorf("%s is not what a scheduler without a file has (KVIZ_REWRITE=1 rewrites it), %v", file, err)
	}
}

// What a file changes is told: plugins, weights, arguments, settings.
func TestWhatAFileChanges(t *testing.T) {
	file, err := os.ReadFile("../../assets/manifests/scheduler/most-allocated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, told, err := scheduler.Configured(append(file, "podMaxBackoffSeconds: 30\n"...))
	if err != nil {
		t.Fatal(err)
	}
	p := &told.Profiles[0]
	if want := []string{"podMaxBackoffSeconds 30"}; !slices.Equal(told.Changed, want) {
		t.Errorf("changed %q, want %q", told.Changed, want)
	}
	if want := []string{`NodeResourcesFit scoringStrategy {"type":"MostAllocated","resources":[{"name":"cpu","weight":3},{"name":"memory","weight":1}]}`}; !slices.Equal(p.Args, want) {
		t.Errorf("arguments %q, want %q", p.Args, want)
	}
	var said []string
	all, moved := view.ComparePoint(p, "Score")
	for _, x := range all {
		switch {
		case x.Gone:
			said = append(said, "without "+x.Name)
		case x.Added || x.Was != "":
			said = append(said, x.String())
		}
	}
	if want := []string{"NodeResourcesFit ×5 (by default ×1)", "without NodeResourcesBalancedAllocation"}; !slices.Equal(said, want) || !moved {
		t.Errorf("of the scores %q, another order: %v; want %q and another order", said, moved, want)
	}
	if all, moved := view.ComparePoint(p, "Filter"); moved || slices.ContainsFunc(all, func(x view.ProfilePlugin) bool { return x.Added || x.Gone || x.Was != "" }) {
		t.Errorf("the file changes no filter: %v", all)
	}
}
