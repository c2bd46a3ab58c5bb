package menu

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/overlay"
)

// Scenario is a script that the start screen and the palette offer.
type Scenario struct {
	Name  string
	Means string
	Line  string    // the console line that runs it
	Shows trace.Ref // what the object pane shows meanwhile; zero where the map tells it
}

// do runs the scenario, with what it is about in sight.
func (s Scenario) do() action.Action {
	if s.Shows.Name == "" {
		return action.Scenario(s.Line)
	}
	return action.All{action.Scenario(s.Line), action.Show{Ref: s.Shows}}
}

// Start is the start screen. It offers lessons, of which so many are done, scenarios and
// recordings where there are some.
func Start(done, lessons int, scenarios []Scenario, recordings bool) overlay.Overlay {
	var items []overlay.Item
	add := func(label, brief, note, key string, stay bool, do action.Action) {
		items = append(items, overlay.Item{Label: overlay.Padded(label, 11), Brief: brief, Note: note, Key: key, Stay: stay, Do: do})
	}
	add("Watch", "apply, step by step", "an apply, told step by step", "", false, action.Watch{Name: action.Apply})
	add("Explore", "pause, step, break it", "pause, step, break, ask why", "", false, action.Explore{})
	if lessons > 0 {
		add("Lessons", fmt.Sprintf("%d of %d done", done, lessons), fmt.Sprintf("learn by doing, %d of %d done", done, lessons), "", true, action.Lessons)
	}
	if len(scenarios) > 0 {
		add("Scenarios", "one scene, then yours", "one scene, then it is yours", "", true, action.Scenarios)
	}
	if recordings {
		add("Recording", "open a saved run", "open a run that was saved", "", true, action.Recordings)
	}
	add("Declarative", "apply it twice", "a minute: apply it twice", "f2", false, action.Watch{Name: action.Declarative})
	add("Convergence", "pods come back", "a minute: what is missing returns", "f3", false, action.Watch{Name: action.Convergence})
	add("Distributed", "members are killed", "a minute: the store loses members", "f4", false, action.Watch{Name: action.Distributed})
	add("Keys", "all on one page", "all keys on one page", "?", true, action.Key(keymap.Help))
	add("Quit", "leave kviz", "leave, and save if you like", "q", false, action.Quit{})
	return &overlay.Picker{
		Title: "kviz · a debugger for Kubernetes", Items: items, Beside: true,
		Brief: "A whole cluster runs here. All that happens is an event to stop at.",
		Intro: "A whole cluster runs in this program: a replicated store, a control plane, nodes, a service network. Everything that happens in it is an event you can stop at.",
	}
}

// Scenarios lists the scenarios.
func Scenarios(list []Scenario) overlay.Overlay {
	p := &overlay.Picker{Title: "Scenarios", Search: true}
	for _, s := range list {
		p.Items = append(p.Items, overlay.Item{Label: s.Name, Note: s.Means, Detail: s.Means, Do: s.do()})
	}
	return p
}
