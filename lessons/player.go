package lessons

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Cluster is a running cluster as far as a lesson drives it. All methods may be called
// from any goroutine and return at once, except for Exec.
type Cluster interface {
	// Trace is the stream of events.
	Trace() *trace.Stream
	Clock() control.Clock
	Resume() error
	Speed(x float64) error
	// Exec runs one console line and gives its exit status. It blocks until
	// the command ends or ctx does.
	Exec(ctx context.Context, line string, io control.Streams) int
	// Stand has the console stand in a folder from its next line on, and gives
	// where it stood. What runs goes on where it is.
	Stand(dir string) (before string)
}

// Player takes a learner through lessons on one cluster. Its methods may be
// called from any goroutine and return at once; scripts that set a scene run
// in the background.
type Player struct {
	cluster  Cluster
	lessons  []*Lesson
	progress *Progress

	mu      sync.Mutex
	lesson  *Lesson
	session *Session // nil while the scene is being set
	next    uint64   // position of the next event to judge
	step    int
	hint    int // hints shown of the step, 0 for none
	trouble string
	attempt int    // counts scenes, so that an old one that ends late is ignored
	folder  string // where the console stands during a lesson; "" while there is none
	before  string // where it stood before

	ended chan struct{}      // closed when the scripts that were begun last have ended; nil before the first
	stop  context.CancelFunc // ends the scene that is being set; nil where none was
}

// NewPlayer makes a player. progress may be nil.
func NewPlayer(c Cluster, lessons []*Lesson, progress *Progress) *Player {
	if progress == nil {
		progress = &Progress{Version: progressVersion, Lessons: map[string]Mark{}}
	}
	return &Player{cluster: c, lessons: lessons, progress: progress}
}

// Info is one lesson in the list.
type Info struct {
	ID      string
	Title   string
	Part    string
	Teaches string
	Minutes int
	Done    bool
	From    string // the folder it was read from; "" for kviz' own
	Locked  string // what should be taken before; "" if nothing. It is advice: a lesson can be started anyway.
}

// List lists the lessons in the order they are meant to be taken.
func (p *Player) List() []Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Info
	for _, l := range p.lessons {
		out = append(out, Info{
			ID: l.ID, Title: l.Title, Part: l.Part, Teaches: strings.Join(l.Teaches, ", "), Minutes: l.Minutes,
			Done: p.progress.Lessons[l.ID].Done, From: l.From,
		})
	}
	return out
}

// Start begins a lesson, or goes on with it at the step where it was left: its
// scene is set in the background.
func (p *Player) Start(id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.lessons, func(l *Lesson) bool { return l.ID == id })
	if i < 0 {
		var known []string
		for _, l := range p.lessons {
			known = append(known, l.ID)
		}
		return fmt.Errorf("there is no lesson %q: one of %s", id, strings.Join(known, ", "))
	}
	l, err := p.lessons[i].Whole()
	if err != nil {
		return err
	}
	step := 0
	if mark := p.progress.Lessons[id]; !mark.Done {
		step = max(0, slices.IndexFunc(l.Steps, func(s *Step) bool { return s.ID == mark.Step }))
	}
	p.begin(l, step)
	return nil
}

// begin sets the scene of a lesson. The lock is held.
func (p *Player) begin(l *Lesson, step int) {
	again := p.lesson == l
	p.lesson, p.session, p.step, p.hint, p.trouble = l, nil, step, 0, ""
	p.attempt++
	if err := p.enter(); err != nil {
		p.trouble = err.Error()
	}
	p.halt()
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	attempt := p.attempt
	p.behind(func() { p.setScene(ctx, l, attempt, again) })
}

// halt ends the scene that is being set, if there is one: nobody waits for it any
// more. The lock is held.
func (p *Player) halt() {
	if p.stop != nil {
		p.stop()
		p.stop = nil
	}
}

// behind runs scripts in the background, after those that were begun before: what
// puts a cluster back must not run beside what sets a scene. The lock is held.
func (p *Player) behind(scripts func()) {
	before, ended := p.ended, make(chan struct{})
	p.ended = ended
	go func() {
		defer close(ended)
		if before != nil {
			_ = p.cluster.Resume() // they would not end while the cluster stands
			<-before
		}
		scripts()
	}()
}

// enter has the console stand in a folder of the lesson's own, which goes with it:
// what a lesson writes (a backup of the store) must not lie among somebody's files.
// The lock is held.
func (p *Player) enter() error {
	p.discard()
	dir, err := os.MkdirTemp("", "kviz-lesson-")
	if err != nil {
		return fmt.Errorf("the lesson has no folder for its files: %w", err)
	}
	p.folder, p.before = dir, p.cluster.Stand(dir)
	return nil
}

// discard goes back to where the console stood before the lesson, and removes what the
// lesson wrote. The lock is held.
func (p *Player) discard() {
	if p.folder == "" {
		return
	}
	p.cluster.Stand(p.before)
	_ = os.RemoveAll(p.folder) // one that is left over lies among temporary ones
	p.folder = ""
}

// Close ends the lesson that is under way, if there is one, as the explorer ends; the
// cluster is left as it is.
func (p *Player) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.halt()
	p.discard()
	p.lesson, p.session = nil, nil
	p.attempt++
}

// hurry lets the cluster run as fast as it can, though it may have been slow
// or standing: a script could not end otherwise. The function it returns puts
// the speed back.
func (p *Player) hurry() (back func()) {
	was := p.cluster.Clock()
	// What they answer fails the script, which says so. It
	// goes on whatever was.Paused says: that may be a moment old.
	_ = p.cluster.Resume()
	_ = p.cluster.Speed(0)
	return func() { _ = p.cluster.Speed(was.Speed) }
}

func (p *Player) setScene(ctx context.Context, l *Lesson, attempt int, again bool) {
	back := p.hurry()
	if again {
		perform(ctx, p.cluster, l.script(l.Cleanup), "cleanup.sh")
	}
	out, exit := perform(ctx, p.cluster, l.script(l.Setup), "setup.sh")
	back()
	h := view.NewHistory(p.cluster.Trace())
	h.CatchUp(0)

	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempt != attempt {
		return
	}
	if exit != 0 {
		p.trouble = "The scene could not be set:\n" + strings.TrimSpace(out)
		return
	}
	p.session, p.next = NewSession(l, h.Latest()), h.Len()
	p.session.Assume(p.step)
}

// Look is a lesson's present step.
type Look struct {
	Active   bool
	Setting  bool // the scene is being set, and nothing can be done yet
	Title    string
	Step     int // from 1
	Steps    int
	Kind     string   // see, predict, do, break, free
	Text     string   // paragraphs, `code`, **bold** and "- " lists
	Notes    string   // for the teacher
	View     []string // panes to show
	Goals    []GoalLook
	Ask      string
	Form     string // how the question is answered: OneOf, Order or Match
	Choices  []ChoiceLook
	Items    []ItemLook // of Match: what gets the choices as labels
	Answered bool
	Verdict  string // after an answer: what the simulation then did
	Hint     string
	HintNo   int
	HintsOf  int
	CanNext  bool
	Finished bool
}

// GoalLook is one line of the checklist.
type GoalLook struct {
	Say string
	Met bool
}

// ChoiceLook is one answer to choose.
type ChoiceLook struct {
	Text   string
	Chosen bool
	Right  bool   // only once it is known
	Place  int    // of Order: the place it was given; 0 is none yet
	Event  string // of Order: the event it stood for, once it is known
}

// ItemLook is one thing that gets a label.
type ItemLook struct {
	Text  string
	Label string // "" as long as it has none
	Next  bool   // the next answer is its label
	Right bool   // only once it is known
	Event string // its event, once it is known
}

// judged bounds how many events one look judges, so that it returns at once.
const judged = 4096

// Look judges what has happened and is what to show now. It judges the cluster
// as it is, also while the learner looks at the past.
func (p *Player) Look() Look {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lesson == nil {
		return Look{}
	}
	step := p.lesson.Steps[p.step]
	look := Look{
		Active: true, Title: p.lesson.Title, Step: p.step + 1, Steps: len(p.lesson.Steps), Kind: step.Kind,
		Text: "**" + step.Title + "**\n\n" + step.Text, Notes: step.Notes, View: p.lesson.ViewAt(p.step),
	}
	if p.session == nil {
		look.Text, look.Setting = "Setting the scene …", p.trouble == ""
		if p.trouble != "" {
			look.Text = p.trouble
		}
		return look
	}
	p.judge()
	s := p.session
	for _, g := range step.Goals {
		look.Goals = append(look.Goals, GoalLook{g.Say, s.Met(g) || s.reached(step) && !g.Never()})
	}
	p.lookQuestion(&look, step)
	if fit := s.Hints(step); p.hint > 0 && len(fit) > 0 && !s.reached(step) {
		n := min(p.hint, len(fit))
		look.Hint, look.HintNo, look.HintsOf = fit[n-1].Text, n, len(fit)
	}
	look.CanNext = s.Passed(step) && p.step+1 < len(p.lesson.Steps)
	look.Finished = s.Solved() && len(s.Unsettled()) == 0 && p.step+1 == len(p.lesson.Steps) && s.Passed(step)
	m := p.progress.Lessons[p.lesson.ID]
	if look.Finished {
		m.Done = true
	}
	m.Step = step.ID
	if err := p.progress.set(p.lesson.ID, m); err != nil {
		look.Text += "\n\n" + err.Error()
	}
	return look
}

// lookQuestion shows a step's question, and the verdict of the last
// prediction until it is known and read.
func (p *Player) lookQuestion(look *Look, step *Step) {
	s := p.session
	if q := step.Question; q != nil {
		look.Ask, look.Form = q.Ask, q.Form()
		look.Text += "\n\n**" + q.Ask + "**"
		if q.Form() != OneOf {
			s.lookParts(look, step)
			return
		}
		chosen := s.Answered(step)
		look.Answered = chosen >= 0
		known := look.Answered && s.Revealed(step)
		for i, c := range q.Choices {
			look.Choices = append(look.Choices, ChoiceLook{Text: c.Text, Chosen: i == chosen, Right: known && c.Right})
		}
		look.Verdict = s.Verdict(step)
		if look.Answered && !known {
			look.Verdict = "You will see. Go on, and make it happen."
		}
		return
	}
	for i := p.step - 1; i >= 0 && i >= p.step-2; i-- {
		if before := p.lesson.Steps[i]; before.Kind == Predict {
			if v := s.Verdict(before); v != "" {
				look.Verdict = "Your prediction: " + v
			}
			return
		}
	}
}

// judge folds what has happened since the last look.
func (p *Player) judge() {
	events, next, lost := p.cluster.Trace().Read(p.next, judged)
	if lost > 0 {
		p.trouble = fmt.Sprintf("%d events were let go before they were judged; restart the lesson if a goal does not tick", lost)
	}
	for _, e := range events {
		p.session.Apply(e)
	}
	p.next = next
}

// Do answers: "next", "back", "hint", "restart", "leave", "reveal" (go on
// without having done the step), "answer 2" for the second choice (or the second
// card as the next one, the second label for the next item), or "undo".
func (p *Player) Do(action string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lesson == nil {
		return fmt.Errorf("no lesson is under way")
	}
	word, arg, _ := strings.Cut(action, " ")
	switch word {
	case "restart":
		p.begin(p.lesson, 0)
		return nil
	case "leave":
		p.halt()
		p.discard()
		script := p.lesson.script(p.lesson.Cleanup)
		p.behind(func() {
			defer p.hurry()()
			perform(context.Background(), p.cluster, script, "cleanup.sh")
		})
		p.lesson, p.session = nil, nil
		p.attempt++
		return nil
	}
	if p.session == nil {
		return fmt.Errorf("the scene is still being set")
	}
	step := p.lesson.Steps[p.step]
	switch word {
	case "next":
		p.judge()
		if !p.session.Passed(step) {
			return fmt.Errorf("this step is not done yet (%s)", p.missing(step))
		}
		return p.move(1)
	case "reveal":
		return p.move(1)
	case "back":
		return p.move(-1)
	case "hint":
		return p.giveHint(step)
	case "answer":
		return p.answer(step, arg)
	case "undo":
		if !p.session.Undo(step) {
			return fmt.Errorf("there is nothing to take back")
		}
		return nil
	}
	return fmt.Errorf("unknown action %q: next, back, hint, restart, leave, reveal, undo or answer N", action)
}

func (p *Player) answer(step *Step, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil || step.Question == nil || n < 1 {
		return fmt.Errorf("there is no answer %q here", arg)
	}
	if _, among := step.Question.parts(); n > among {
		return fmt.Errorf("there is no answer %q here", arg)
	}
	if p.session.Answer(step, n-1) {
		return nil
	}
	if step.Question.Form() == Order && !p.session.Settled(step) {
		return fmt.Errorf("card %d has its place already", n)
	}
	return fmt.Errorf("the question is answered already")
}

func (p *Player) move(by int) error {
	to := p.step + by
	if to < 0 || to >= len(p.lesson.Steps) {
		return fmt.Errorf("there is no further step; leave the lesson, or go on trying things")
	}
	p.step, p.hint = to, 0
	return nil
}

// missing says what keeps a step from being done.
func (p *Player) missing(step *Step) string {
	switch q := step.Question; {
	case q != nil && q.Form() != OneOf:
		if !p.session.Settled(step) {
			return "answer the question right"
		}
	case q != nil && p.session.Answered(step) < 0:
		return "choose an answer"
	}
	for _, g := range step.Goals {
		if !p.session.Met(g) {
			return g.Say
		}
	}
	return "the steps before it are open"
}

func (p *Player) giveHint(step *Step) error {
	fit := p.session.Hints(step)
	if len(fit) == 0 {
		return fmt.Errorf("there is no hint for where you are: read the step again")
	}
	p.hint = p.hint%len(fit) + 1
	m := p.progress.Lessons[p.lesson.ID]
	m.Hints++
	return p.progress.set(p.lesson.ID, m)
}
