package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/layout"
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name string
		w, h int
		n    int
		keys []string
	}{
		{"80x24-map", 80, 24, -1, nil},
		{"80x24-events", 80, 24, 600, []string{"4"}},
		{"80x24-past", 80, 24, -1, []string{"3", "{", "{"}},
		{"80x24-help", 80, 24, -1, []string{"6", "?"}},
		{"80x24-console", 80, 24, -1, []string{":"}},
		{"120x40-overview", 120, 40, -1, nil},
		{"120x40-main", 120, 40, -1, []string{"p", "2"}},
		{"120x40-why", 120, 40, -1, []string{"8", "down", "down", "down", "w"}},
		{"120x40-why-open", 120, 40, -1, []string{"8", "down", "down", "down", "w", "up", "a"}},
		{"80x24-why-open", 80, 24, -1, []string{"8", "down", "down", "down", "w", "up", "a"}},
		{"120x40-faults", 120, 40, -1, []string{"down", "up", "f"}},
		{"120x40-palette", 120, 40, -1, []string{"ctrl+p"}},
		{"120x40-glossary", 120, 40, -1, []string{"g"}},
		{"120x40-breakpoints", 120, 40, -1, []string{"8", "down", "down", "down", "b", "enter", "b"}},
		{"120x40-scrubbed", 120, 40, -1, []string{"m", "[", "[", "[", "[", "[", "[", ",", "3"}},
		{"120x40-in-apply", 120, 40, 300, []string{"3"}},
		{"200x60-all", 200, 60, -1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := explore(t, c.w, c.h, c.n).press(c.keys...)
			tuitest.Golden(t, c.name, d.planes())
		})
	}
}

// Two of three members are down: whatever is on the screen says that nothing can
// be written any more.
func TestFrameWithoutAQuorum(t *testing.T) {
	tape := tuitest.Story()
	stopped := tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{Kind: "Member", Name: "c"}, &trace.Fault{Fault: "stop", Target: "member/c"})
	tape.Down("c", "stopped by a fault", stopped)
	tape.After(500 * time.Millisecond)
	tape.Emit(trace.CompMember, "b", trace.MemberRole, trace.Ref{Kind: "Member", Name: "b"}, &trace.MemberState{Member: "b", Role: "follower", Term: 2}, stopped)
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := explore(t, size[0], size[1], -1, func(c *Config) {
			cluster := tuitest.NewCluster(tape, -1)
			c.Cluster, c.History = cluster, view.NewHistory(cluster.Trace())
		})
		d.press("2")
		d.shows("1/3 NO")
		tuitest.Golden(t, fmt.Sprintf("%dx%d-no-quorum", size[0], size[1]), d.planes())
	}
}

// The header counts the members that there are, not those of the start.
func TestTheHeaderCountsMembersThatComeAndGo(t *testing.T) {
	tape := tuitest.StoreStory() // a learner joins
	header := func(want string) {
		t.Helper()
		d := explore(t, 120, 40, -1, func(c *Config) {
			cluster := tuitest.NewCluster(tape, -1)
			c.Cluster, c.History = cluster, view.NewHistory(cluster.Trace())
		})
		d.shows("kviz  " + want + ", 3 nodes")
	}
	header("4 members")
	for i, left := range []string{"d", "a"} {
		tape.After(time.Second)
		tape.Emit(trace.CompMember, left, trace.MemberLeft, trace.Ref{Kind: "Member", Name: left}, &trace.Membership{Member: left, Members: []string{"a", "b", "c"}[i:], Voters: 3 - i})
	}
	header("2 members")
}

// From the queues, which are long, to the chart of what made them so; a second time too,
// when the chart is what the store pane shows already.
func TestQueuesLeadToTheChartOfSlowness(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := explore(t, size[0], size[1], -1).press("5", "c")
		d.shows("▸cascade", "fsync p99")
		d.press("5", "c")
		d.shows("▸cascade", "fsync p99")
		if size[0] == 120 {
			d.press("5")
			d.shows("c why slow")
			d.press("?", "pgdown")
			d.shows("In the store pane, the chart of how slowness climbs")
		}
	}
}

// While the members have a quorum and nobody leads yet, the header says so; a lost quorum says
// more than that.
func TestTheHeaderSaysThatNobodyLeads(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		for tape, want := range map[*tuitest.Tape]bool{tuitest.LeaderDead(): true, tuitest.QuorumLost(time.Second): false, tuitest.Calm(3, 3): false} {
			d := exploreTape(t, tape, size[0], size[1])
			head, _, _ := strings.Cut(d.screen(), "\n")
			if strings.Contains(head, "☆ no leader") != want {
				t.Errorf("%d columns: %s", size[0], head)
			}
		}
	}
}

// It is during a fault that the leader and the quorum matter: they keep their place
// beside the names of what is broken, or their number.
func TestTheHeaderKeepsTheLeaderDuringFaults(t *testing.T) {
	tape := tuitest.Story()
	for i, size := range [][2]int{{60, 24}, {80, 24}, {120, 40}} {
		for _, fault := range []string{"slow", "fill", "delay"}[:i+1] {
			tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{Kind: "Member", Name: "c"}, &trace.Fault{Fault: fault, Target: "member/c"})
		}
		d := explore(t, size[0], size[1], -1, func(c *Config) {
			cluster := tuitest.NewCluster(tape, -1)
			c.Cluster, c.History = cluster, view.NewHistory(cluster.Trace())
		})
		head, _, _ := strings.Cut(d.screen(), "\n")
		if !strings.Contains(head, "★ "+d.m.travel.State().Store.Leader) || !strings.Contains(head, "2/3") || !strings.Contains(head, "!") {
			t.Errorf("%d columns: the leader, the quorum or the faults are missing: %s", size[0], head)
		}
	}
}

// The first sight is a cluster that comes to life, with the start screen beside it.
func TestStartScreenStandsBesideTheBootingCluster(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		d := explore(t, size[0], size[1], 12, func(c *Config) {
			c.Preset, c.StartScreen = "", true
			c.Scenarios = []Scenario{{Name: "rollout", Means: "a rolling update", Line: "kviz scenario rollout"}}
		})
		d.shows("Explore", "Scenarios", "Declarative", "Convergence", "Distributed", "Quit", "◇ a")
		tuitest.Golden(t, fmt.Sprintf("%dx%d-start", size[0], size[1]), d.planes())
		d.press("enter")
		d.hides("a debugger for Kubernetes")
	}
}

// Where the start screen has not a row for each choice they stand in columns, through which the
// arrows go, each with what it does; a click goes to one, another chooses it.
func TestStartScreenInColumns(t *testing.T) {
	d := explore(t, 80, 24, 12, func(c *Config) {
		c.Preset, c.StartScreen = "", true
		c.Scenarios = []Scenario{{Name: "rollout", Means: "a rolling update", Line: "kviz scenario rollout"}}
	})
	d.shows("▸ Watch       apply, step by step", "Distributed members are killed    f4", "A whole cluster runs here.").press("right").shows("▸ Distributed")
	d.press("up").shows("▸ Convergence").press("home").shows("▸ Watch")
	d.press("right", "left").shows("▸ Watch")
	x, y := d.at("Distributed")
	d.mouse(x+1, y).shows("▸ Distributed")
	d.mouse(x+1, y).hides("a debugger for Kubernetes")
}

// The living map is the first layout: alone, with another pane below it where there is room,
// and in a smaller form above the console.
func TestThePictureIsTheFirstLayout(t *testing.T) {
	for _, size := range [][2]int{{120, 40}, {80, 24}, {200, 60}} {
		name := fmt.Sprintf("%dx%d-picture", size[0], size[1])
		d := explore(t, size[0], size[1], -1, func(c *Config) { c.Preset = "" })
		d.shows("1 Cluster", "API server")
		tuitest.Golden(t, name, d.planes())
		d.press("4")
		d.shows("Events")
		tuitest.Golden(t, name+"-events", d.planes())
		d.press("1", ":")
		d.shows("Console", "API")
		tuitest.Golden(t, name+"-console", d.planes())
		d.press("esc", "esc", "tab", "tab")
		if got := d.m.frame.Focused().Name; size[0] < 200 && got != "api" {
			t.Errorf("%s: two tabs lead to %s, want api", name, got)
		}
		d.press("z")
		if n := len(d.m.frame.Layout().Slots); n != 1 {
			t.Errorf("%s: %d panes are shown though one is zoomed", name, n)
		}
	}
}

func TestPauseStepAndSpeedReachTheCluster(t *testing.T) {
	d := explore(t, 120, 40, 300)
	d.shows("PAUSED", "space run")
	before := d.m.travel.State().Last
	d.press(".")
	d.asked("step stage")
	if d.m.travel.State().Last == before {
		t.Fatal("a step did not move the screen")
	}
	d.press("n")
	d.asked("step decision")
	d.press("s", "down", "enter", ".")
	d.asked("step watch")
	d.press("+", "space")
	d.asked("speed 2")
	d.asked("resume")
	d.shows("RUNNING", "space pause")
}

// What the trace says of the pace stands beside the speed while the cluster runs live:
// not while it stands, not in the past, and not any more when it is over.
func TestVirtualTimeThatFallsBehindIsSaid(t *testing.T) {
	for w, want := range map[int]string{120: "1x 0.62x: the machine is busy  ▶ RUNNING", 80: "1x 0.62x: busy  ▶ RUNNING"} {
		tape := tuitest.Story()
		tape.Emit(trace.CompSimulation, "", trace.ClockPace, trace.Ref{}, &trace.Pace{Speed: 1, Actual: 0.617, Why: "the machine is busy"})
		cut := int(tape.Stream.Len())
		tape.Emit(trace.CompSimulation, "", trace.ClockPace, trace.Ref{}, &trace.Pace{Speed: 1, Actual: 1})
		d := explore(t, w, 24, -1, func(c *Config) {
			cluster := tuitest.NewCluster(tape, cut)
			c.Cluster, c.History = cluster, view.NewHistory(cluster.Trace())
		})
		says := func(when string, wanted bool) {
			t.Helper()
			status, _, _ := strings.Cut(d.screen(), "\n")
			if strings.Contains(status, want) != wanted || strings.Contains(status, "0.62x") != wanted {
				t.Errorf("%d columns, %s: %s", w, when, status)
			}
		}
		says("while it stands", false)
		if err := d.m.cluster.Resume(); err != nil {
			t.Fatal(err)
		}
		d.look()
		says("while it runs", true)
		d.press(",")
		says("in the past", false)
		d.press("end")
		says("back in the present", true)
		d.m.cluster.(*tuitest.Cluster).Play(1)
		d.look()
		says("when it is over", false)
	}
}

func TestGoingBackIsSaidAndEndComesBack(t *testing.T) {
	d := explore(t, 120, 40, -1)
	last := d.m.travel.State().Last
	d.press(",", ",", ",")
	d.shows("◀ PAST", "of #"+last.String(), "end now")
	if d.m.travel.State().Last.Compare(last) >= 0 {
		t.Fatalf("three steps back from #%s lead to #%s", last, d.m.travel.State().Last)
	}
	d.press("#").typed("60").press("enter")
	if got := d.m.travel.State().Last.String(); got != "60" {
		t.Fatalf("# 60 went to #%s", got)
	}
	d.press("m", "end")
	d.hides("PAST")
	d.press("'")
	if got := d.m.travel.State().Last.String(); got != "60" {
		t.Fatalf("' went to #%s", got)
	}
	d.press("#").typed("x").press("enter")
	d.shows("want a number such as 214")
}

func TestMarksLeadToCommandsFaultsAndElections(t *testing.T) {
	d := explore(t, 120, 40, -1)
	var seen []string
	for i := 0; i < 8; i++ {
		d.press("{")
		seen = append(seen, string(d.m.travel.State().Event.Kind))
	}
	want := "[raft.role fault.inject console.command console.command console.command run.ready raft.role raft.role]"
	if got := fmt.Sprint(seen); got != want {
		t.Fatalf("marks, newest first:\n got %s\nwant %s", got, want)
	}
}

func TestWhyOnARuleLeadsToTheCommand(t *testing.T) {
	d := explore(t, 120, 40, -1).press("8", "down", "down", "down", "w")
	d.shows("Why #", "kubectl expose deployment web --port 80", "you   API  store  ctl  proxy", "╰─────┼────▶●", "●◀────╯", "▶◉")
	d.press("v").shows("← #").press("esc", "w") // as a list, and back
	for i := 0; i < 30 && !strings.Contains(d.m.history().Event(chosenID(d)).Lane.String(), "console"); i++ {
		d.press("up")
	}
	d.press("enter")
	if k := d.m.travel.State().Event.Kind; k != "console.command" {
		t.Fatalf("enter on the first cause went to %s", k)
	}
}

func chosenID(d *driver) (id traceID) {
	if j, ok := d.m.open.Top().(interface{ Under() action.Action }).Under().(action.Goto); ok {
		return j.ID
	}
	return d.m.travel.State().Last
}

func TestFaultMenuIsAboutTheThingUnderTheCursor(t *testing.T) {
	d := explore(t, 120, 40, -1).press("right", "f")
	d.shows("Break or mend member b", "Stop it in an orderly way", "Slow its disk: 400 ms more a write", "Slow its disk by …")
	d.hides("Start it again") // it runs
	d.press("enter").settle()
	d.asked("fault stop member/b []")
	d.shows("done: stop member/b")
	d.press("f", "end", "up", "enter")
	d.shows("how much longer each write takes")
	d.typed("20ms").press("enter").settle()
	d.asked("fault slow member/b [20ms]")
	d.press("f", "end", "enter")
	d.shows("Break or mend what?", "The store", "member a", "broken: stop", "kubelet of node-1")
	d.press("down", "up", "enter")
	d.shows("Break or mend member a", "Broken since", "Start it again")
	d.hides("Crash it")
}

func TestConsoleRunsAndCompletes(t *testing.T) {
	d := explore(t, 120, 40, -1).press(":").typed("kubectl get po")
	d.press("tab").typed("-A").press("enter")
	d.m.safe.Wait()
	d.look()
	d.asked("exec kubectl get pods -A")
	d.shows("CrashLoopBackOff   3")
	d.typed("nonsense").press("enter")
	d.m.safe.Wait()
	d.look()
	d.shows(`unknown command "nonsense"`, "exit status 1")
	d.press("esc", "esc")
	d.hides("Console")
}

// The keys that the start screen shows are the keys it has.
func TestStartScreenHasTheKeysItShows(t *testing.T) {
	d := explore(t, 120, 40, 12, func(c *Config) { c.StartScreen = true })
	d.press("?")
	d.shows("Help · ")
	d.press("esc")
	d.shows("a debugger for Kubernetes")
	if _, cmd := d.m.Update(tuitest.Press("q")); cmd == nil || !quits(cmd) {
		t.Fatal("q does not leave, though the start screen says so")
	}
}

// quits runs a command, and those in a batch, to see whether one of them leaves.
func quits(cmd tea.Cmd) bool {
	if cmd == nil {
		return false
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		return true
	case tea.BatchMsg:
		for _, c := range msg {
			if quits(c) {
				return true
			}
		}
	}
	return false
}

// From wherever one is, ctrl+c again and again leads out.
func TestControlCLeavesFromEverywhere(t *testing.T) {
	for name, keys := range map[string][]string{
		"the panes": nil, "the past": {"[", "["}, "zoom": {"z"}, "help": {"?"}, "the palette": {"ctrl+p"}, "a prompt": {"/"},
		"a prompt over a list": {"b", "end", "enter"}, "the console": {":"}, "a line half typed": {":", "a", "b"}, "the glossary": {"g"},
		"a playing past": {"home", "space"}, "why": {"w"}, "the fault menu": {"f"},
	} {
		d := explore(t, 120, 40, -1).press(keys...)
		left := false
		for i := 0; i < 4 && !left; i++ {
			left = d.leaves("ctrl+c")
		}
		if !left {
			t.Errorf("ctrl+c four times does not leave from %s:\n%s", name, d.screen())
		}
	}
}

func TestControlDLeavesTheConsole(t *testing.T) {
	d := explore(t, 120, 40, -1).press(":").typed("ab").press("ctrl+d")
	d.shows("esc back to the panes") // a line is not thrown away
	d.press("backspace", "backspace", "ctrl+d")
	d.hides("esc back to the panes")
}

// The glossary opens at the kind of what the cursor is on.
func TestGlossaryOpensAtTheKindUnderTheCursor(t *testing.T) {
	d := explore(t, 120, 40, -1).press("8", "down", "down", "down", "g")
	d.shows("▸ proxy.rule")
	d = explore(t, 120, 40, -1).press("4", "up", "up")
	kind := string(d.m.history().Event(d.m.frame.Focused().Under().Event).Kind)
	d.press("g")
	d.shows("▸ " + kind)
}

func TestEveryKindHasAGlossaryEntry(t *testing.T) {
	for _, k := range trace.Kinds() {
		if k.Means == "" || k.Look == "" || k.Source == "" {
			t.Errorf("the glossary says too little about %s: %+v", k.Kind, k)
		}
	}
}

func TestUntilTellsWhatIsWrong(t *testing.T) {
	d := explore(t, 120, 40, -1).press("u", "end", "enter").typed("bad").press("enter")
	d.shows("undeclared reference", "Run until")
	d.press("esc")
	d.hides("Run until ")
}

func TestFilterNarrowsThePane(t *testing.T) {
	d := explore(t, 120, 40, -1).press("4", "z")
	d.shows("authentication")
	d.press("/").typed("kubectl").press("enter")
	d.shows("kubectl expose", "/kubectl")
	d.hides("authentication (x509)\n")
	d.press("esc")
	d.hides("/kubectl")
}

func TestOneUsersRequestsAlone(t *testing.T) {
	d := explore(t, 120, 40, -1).press("3", "z", "v", "v", "v")
	d.shows("who asked for what", "kubernetes-admin", "system:kube-scheduler")
	for i := 0; i < 30 && d.m.frame.Focused().Under().ID != "asker/system:kube-scheduler"; i++ {
		d.press("down")
	}
	d.press("o")
	d.shows("/system:kube-scheduler")
	d.hides("kubernetes-admin  ")
	d.press("o")
	d.hides("/system:kube-scheduler")
}

func TestEnterOnAPodShowsTheObject(t *testing.T) {
	d := explore(t, 120, 40, -1)
	for i := 0; i < 30 && d.m.frame.Focused().Under().Pod == ""; i++ {
		d.press("down")
	}
	pod := d.m.frame.Focused().Under().Ref
	d.press("enter")
	if d.m.frame.Focused().Name != "object" {
		t.Fatalf("enter on a pod focuses pane %s", d.m.frame.Focused().Name)
	}
	d.shows("Pod "+pod.Key(), "owners")
}

func TestRecordingPlaysItselfAndRefusesCommands(t *testing.T) {
	d := explore(t, 120, 40, -1, func(c *Config) { c.Recording = "x.kvrun"; c.Cluster = nil })
	d.shows("recording x.kvrun", "PAST", "space play")
	d.hides(": console")
	at := d.m.travel.Where().At
	d.press("space")
	for i := 0; i < 200; i++ {
		d.look()
	}
	if d.m.travel.Where().At <= at {
		t.Fatal("playing does not move on")
	}
}

func TestClicksAndWheel(t *testing.T) {
	d := explore(t, 120, 40, -1)
	d.screen()
	var slot layout.Slot
	for _, s := range d.m.frame.Layout().Slots {
		if s.Pane == "queues" {
			slot = s
		}
	}
	d.m.Update(tea.MouseClickMsg{X: slot.Rect.X + 4, Y: slot.Rect.Y + 2, Button: tea.MouseLeft})
	if d.m.frame.Focused().Name != "queues" {
		t.Fatalf("a click on pane 5 focuses %s", d.m.frame.Focused().Name)
	}
	d.m.Update(tea.MouseWheelMsg{X: slot.Rect.X + 4, Y: slot.Rect.Y + 2, Button: tea.MouseWheelDown})
	d.screen()
	d.m.Update(tea.MouseClickMsg{X: d.m.frame.Layout().Timeline.W / 2, Y: d.m.frame.Layout().Timeline.Y, Button: tea.MouseLeft})
	d.look()
	d.shows("PAST")
	d.m.Update(tea.MouseClickMsg{X: 25, Y: d.m.frame.Layout().Tabs.Y, Button: tea.MouseLeft})
	if d.m.frame.Focused().Name != "events" {
		t.Fatalf("a click on the fourth tab focuses %s", d.m.frame.Focused().Name)
	}
}

func TestTooSmallSaysTheSizeNeeded(t *testing.T) {
	d := explore(t, 50, 12, -1)
	d.shows("50x12", "60x18")
}

func TestBootingClusterShowsProgress(t *testing.T) {
	d := explore(t, 80, 24, 20, func(c *Config) {
		c.Cluster = nil
		c.Booting = func(ctx ctxT, say func(string)) (clusterT, error) { return nil, nil }
	})
	d.m.Update(bootSay("three members elect a leader"))
	d.shows("three members elect a leader")
	d.press(".")
	d.shows("still starting")
	d.m.Update(bootDone{nil, errors.New("port 6443 is taken")})
	d.shows("✗ the cluster could not start: port 6443 is taken")
	if d.m.drive.Busy() {
		t.Error("nothing goes on any more, and the explorer looks for it")
	}
	for _, keys := range [][]string{{"."}, {"f"}, {"u"}, {":", "l", "s", "enter"}} {
		d.press("esc").press(keys...)
		d.hides("still starting")
		if strings.Count(d.screen(), "port 6443 is taken") < 2 {
			t.Errorf("%q is not answered with why:\n%s", keys, d.screen())
		}
	}
}

func TestThemesChangeLooksNotWords(t *testing.T) {
	d := explore(t, 120, 40, -1)
	plain := d.screen()
	frames := map[string]string{}
	for _, n := range theme.Names() {
		d.m.perform(action.Theme(n))
		d.m.screen.dirty = true
		if got := d.screen(); got != plain {
			t.Fatalf("theme %s changes the text", n)
		}
		frames[d.m.View().Content] = n
		if n == "none" && (strings.Contains(d.m.View().Content, "38;") || strings.Contains(d.m.View().Content, "[9")) {
			t.Fatal("the theme without colour has colour")
		}
	}
	if len(frames) != len(theme.Names()) {
		t.Fatalf("only %d different frames of %d themes", len(frames), len(theme.Names()))
	}
}

func TestIdleViewIsTheSameString(t *testing.T) {
	d := explore(t, 120, 40, -1)
	a := d.m.View().Content
	drawn := d.m.screen.frames
	for i := 0; i < 10; i++ {
		d.look()
		if d.m.View().Content != a {
			t.Fatal("an idle view changed")
		}
	}
	if d.m.screen.frames != drawn {
		t.Fatalf("%d frames were drawn though nothing happened", d.m.screen.frames-drawn)
	}
}

// What the start screen offers stands there whole, with what it does, at every size.
func TestStartScreenCutsNothing(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		d := explore(t, size[0], size[1], 12, func(c *Config) {
			c.Preset, c.StartScreen, c.Recordings = "", true, func() []string { return nil }
			c.Scenarios = []Scenario{{Name: "rollout", Means: "a rolling update", Line: "kviz scenario rollout"}}
		})
		d.shows("Watch", "Explore", "Scenarios", "Recording", "Declarative", "Convergence", "Distributed", "Keys", "Quit")
		for _, l := range strings.Split(d.screen(), "\n") {
			_, menu, ok := strings.Cut(l, "││")
			if size[0] == 80 {
				menu, ok = l, strings.HasPrefix(l, "│  ") || strings.HasPrefix(l, "│▸ ")
			}
			if ok && strings.Contains(menu, "…") {
				t.Errorf("at %d columns the start screen cuts %q", size[0], menu)
			}
		}
	}
}

// The key line says that one can go on differently, beside another run compare, and go anywhere, when one can.
func TestTheKeyLineOffersWhatCanBeDoneNow(t *testing.T) {
	d := explore(t, 80, 24, 600, func(c *Config) { c.Preset, c.Forks = "", &forker{} })
	d.shows("F fork", "f break it") // it is paused
	d.press("space").hides("F fork")
	d.press(",").shows("F fork", "O odds")
	d.press("end", "space", "F", "enter").settle()
	d.shows("C compare")
	wide := explore(t, 120, 40, 600, func(c *Config) { c.Preset, c.Forks = "", &forker{} })
	wide.shows("F fork", "O odds", "? help")
	wide.press("space").hides("F fork").shows("^o go to")
}
