package lessons

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kviz/cluster/control"
	"kviz/cluster/expr"
)

// Stage is what a beat has on the stage, and what of the trace it shows.
type Stage struct {
	Show   *Text         // pane/view, of the object pane with /kind/namespace/name behind it; nil: as before
	Spots  []*Text       // one or two names of cells, "store:member/a"
	Hide   []*Text       // names that are not drawn until the beat ends
	From   *condition    // the event it begins with; nil: where the beat before stopped
	Stop   *condition    // the event it halts at
	Tempo  time.Duration // how long a visible change stays before the next
	ByKey  bool          // each change waits for a key instead
	Quiet  time.Duration // the longest bar for a stretch without one
	Run    string        // how the cluster goes meanwhile: "1x", "max", "0.2x"
	Within time.Duration // real time for the stop to come
	Let    []Binding     // names bound as the beat begins
	Then   []Binding     // names bound at its stop
	Big    *Text         // a headline for the projector
	Still  bool          // nothing changes
	Claim  *condition    // holds at the stop
}

// Binding gives a name to what an expression is at a moment.
type Binding struct {
	Name string
	is   *value
}

// Offer is a command that a beat offers.
type Offer struct {
	Run  *Text
	Exit int // the exit status it ends with
}

// Pin is what must be so when the scene is set.
type Pin struct {
	Is string // an expression
	By string // the command that brings it about
}

// Scene is the cluster that a lesson is written for; what is zero is as kviz has it.
type Scene struct {
	Members    int    `json:"members"`
	Nodes      int    `json:"nodes"`
	APIServers int    `json:"apiservers"`
	Store      string `json:"store"`
	Seed       string `json:"seed"`
}

// Fact is a constant that a text may say, with where it comes from.
type Fact struct {
	Say    string `json:"say"`
	Source string `json:"source"`
}

// stageText is a stage as it is written.
type stageText struct {
	Show   string            `json:"show"`
	Spot   several           `json:"spot"`
	Hide   []string          `json:"hide"`
	From   string            `json:"from"`
	Stop   string            `json:"stop"`
	Tempo  string            `json:"tempo"`
	Quiet  string            `json:"quiet"`
	Run    string            `json:"run"`
	Within string            `json:"within"`
	Let    map[string]string `json:"let"`
	Then   map[string]string `json:"then"`
	Pin    map[string]pinned `json:"pin"`
	Big    string            `json:"big"`
	Still  bool              `json:"still"`
	Claim  string            `json:"claim"`
}

// several is one text or a list of them.
type several []string

// UnmarshalJSON reads either.
func (l *several) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*l = several{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// pinned is a member's name after leader, else {is, by}.
type pinned struct {
	name string
	Is   string `json:"is"`
	By   string `json:"by"`
}

// UnmarshalJSON reads either.
func (p *pinned) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &p.name) == nil {
		return nil
	}
	type plain pinned
	return fields(b, (*plain)(p))
}

// offerText is a command, or one with the exit status that it ends with.
type offerText struct {
	Run  string `json:"run"`
	Exit int    `json:"exit"`
}

// UnmarshalJSON reads either.
func (o *offerText) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &o.Run) == nil {
		return nil
	}
	type plain offerText
	return fields(b, (*plain)(o))
}

const (
	aTempo  = 600 * time.Millisecond
	aQuiet  = time.Second
	aWithin = 20 * time.Second
)

// read reads a stage of a lesson in which names are known, and adds those that it binds.
func (t *stageText) read(r reader, names *expr.Scope) (*Stage, []Pin, error) {
	s := &Stage{Tempo: aTempo, Quiet: aQuiet, Within: aWithin, Run: t.Run, Still: t.Still}
	var err error
	if s.Let, err = bindings(t.Let, names); err != nil {
		return nil, nil, fmt.Errorf("let: %w", err)
	}
	if s.Then, err = bindings(t.Then, names); err != nil {
		return nil, nil, fmt.Errorf("then: %w", err)
	}
	for _, one := range []struct {
		what, src string
		into      **condition
	}{{"from", t.From, &s.From}, {"stop", t.Stop, &s.Stop}, {"claim", t.Claim, &s.Claim}} {
		if *one.into, err = r.in(names, one.src); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", one.what, err)
		}
	}
	if t.Show != "" {
		if s.Show, err = r.text(t.Show, names); err != nil {
			return nil, nil, fmt.Errorf("show: %w", err)
		}
	}
	if t.Big != "" {
		if s.Big, err = r.text(t.Big, names); err != nil {
			return nil, nil, fmt.Errorf("big: %w", err)
		}
	}
	if len(t.Spot) > 2 {
		return nil, nil, errors.New("spot: at most two: three rings point at nothing")
	}
	if s.Spots, err = r.texts(t.Spot, names); err != nil {
		return nil, nil, fmt.Errorf("spot: %w", err)
	}
	if s.Hide, err = r.texts(t.Hide, names); err != nil {
		return nil, nil, fmt.Errorf("hide: %w", err)
	}
	if s.ByKey = t.Tempo == "key"; s.ByKey {
		t.Tempo = ""
	}
	for _, one := range []struct {
		what, src string
		into      *time.Duration
	}{{"tempo", t.Tempo, &s.Tempo}, {"quiet", t.Quiet, &s.Quiet}, {"within", t.Within, &s.Within}} {
		if one.src == "" {
			continue
		}
		if *one.into, err = time.ParseDuration(one.src); err != nil || *one.into <= 0 {
			return nil, nil, fmt.Errorf("%s %q: want a duration, such as 800ms", one.what, one.src)
		}
	}
	if _, err := s.speed(); err != nil {
		return nil, nil, fmt.Errorf("run: %w", err)
	}
	pins, err := t.pins()
	return s, pins, err
}

// speed is how many seconds pass in the cluster in one of the learner's; 0 is as fast as it can.
func (s *Stage) speed() (float64, error) {
	if s == nil || s.Run == "" {
		return 1, nil
	}
	return control.ParseSpeed(strings.TrimSuffix(s.Run, "x"))
}

// pins are what must be so when the scene is set.
func (t *stageText) pins() ([]Pin, error) {
	var all []Pin
	for _, name := range slices.Sorted(maps.Keys(t.Pin)) {
		switch p := t.Pin[name]; {
		case name == "leader" && p.name != "":
			all = append(all, Pin{Is: fmt.Sprintf("store.leader == %q", p.name), By: "lead " + p.name})
		case p.Is == "" || p.By == "":
			return nil, fmt.Errorf("pin %s: want {is: EXPRESSION, by: COMMAND}, or leader: NAME", name)
		default:
			if _, err := expr.Compile(p.Is); err != nil {
				return nil, fmt.Errorf("pin %s: %w", name, err)
			}
			all = append(all, Pin{Is: p.Is, By: p.By})
		}
	}
	return all, nil
}

// bindings reads names and what they stand for, in whatever order they are written: one may
// use another.
func bindings(written map[string]string, names *expr.Scope) ([]Binding, error) {
	left := slices.Sorted(maps.Keys(written))
	var all []Binding
	for len(left) > 0 {
		var wrong error
		still := left[:0:0]
		for _, name := range left {
			p, err := names.CompileAny(written[name])
			if err == nil {
				if err = names.Bind(name, p); err != nil {
					return nil, err
				}
				all = append(all, Binding{name, &value{p}})
				continue
			}
			still = append(still, name)
			if uses := slices.ContainsFunc(left, func(other string) bool { return strings.Contains(written[name], other) }); wrong == nil || !uses {
				wrong = fmt.Errorf("%s: %w", name, err) // one that waits for another is not to blame
			}
		}
		if len(still) == len(left) {
			return nil, wrong
		}
		left = still
	}
	return all, nil
}

// value is an expression that a name stands for.
type value struct{ program *expr.Program }
