package lessons

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	Pause() error
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
	beats   *playing // of a lesson in beats; nil while the scene is being set
	step    int
	since   time.Time // when the beat was entered
	hint    int       // hints shown of the beat, 0 for none
	trouble string
	wrong   string // what is the matter with the text that its author has saved
	memory  memory // of what was answered, for the attempt that begins
	attempt int    // counts scenes, so that an old one that ends late is ignored
	folder  string // where the console stands during a lesson; "" while there is none
	before  string // where it stood before

	recordings Recordings // nil: there are none
	recorded   *recorded  // the beat that is shown until the scene is set; nil for none

	recalling *recalling // questions of lessons that were done before are asked; nil while a lesson is taken
	ahead     bool       // it was begun at a beat that the learner had not come to: what they do there does not count
	card      *EndCard   // of a lesson in beats that is over; nil until it is asked for

	ended chan struct{}      // closed when the scripts that were begun last have ended; nil before the first
	stop  context.CancelFunc // ends the scene that is being set; nil where none was
}

// NewPlayer makes a player. progress may be nil.
func NewPlayer(c Cluster, lessons []*Lesson, progress *Progress) *Player {
	if progress == nil {
		progress = NewProgress(time.Now)
	}
	return &Player{cluster: c, lessons: lessons, progress: progress}
}

// Recalling, in the place of a lesson's ID, asks the questions of lessons that were done.
const Recalling = "recall"

// Start begins a lesson, or goes on with it at the beat where it was left: its
// scene is set in the background. "L09#crash" is the lesson at that beat, "L09#" from its
// beginning, and [Recalling] the questions that are due.
func (p *Player) Start(id string) error {
	if id == Recalling {
		return p.recall()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at, err := p.place(id)
	if err != nil {
		return err
	}
	if err := p.progress.shuffles(); err != nil {
		return err
	}
	l, mark := at.lesson, p.progress.Lessons[at.lesson.ID]
	p.recalling, p.ahead = nil, at.beat != "" && !mark.Done && at.step > max(0, slices.Index(l.beats, mark.Step))
	if mark.Done && at.beat == "" || at.named && at.step == 0 {
		err = p.progress.anew(l.ID)
	}
	p.begin(l, at.step)
	return err
}

// place is where a lesson is begun.
type place struct {
	lesson *Lesson
	step   int
	beat   string // its ID, where it was asked for
	named  bool   // it was, or the beginning
}

// place is the place that [Player.Start] is asked for. The lock is held.
func (p *Player) place(id string) (place, error) {
	id, at, named := strings.Cut(id, "#")
	l, err := p.whole(id)
	if err != nil {
		return place{}, err
	}
	mark := p.progress.Lessons[l.ID]
	step := max(0, slices.Index(l.beats, mark.Step))
	if mark.Done || named {
		step = 0
	}
	if at != "" {
		if step = slices.Index(l.beats, at); step < 0 {
			return place{}, fmt.Errorf("lesson %s has no beat %q: one of %s", l.ID, at, strings.Join(l.beats, ", "))
		}
	}
	return place{l, step, at, named}, nil
}

// whole is a lesson by its ID.
func (p *Player) whole(id string) (*Lesson, error) {
	i := slices.Index(p.ids(), id)
	if i < 0 {
		return nil, fmt.Errorf("there is no lesson %q: one of %s", id, strings.Join(p.ids(), ", "))
	}
	return p.lessons[i].Whole()
}

// begin sets the scene of a lesson. The lock is held.
func (p *Player) begin(l *Lesson, step int) {
	again := p.lesson != nil && p.lesson.ID == l.ID
	p.lesson = l
	p.memory = p.remembers(false)
	p.beats, p.step, p.hint, p.trouble, p.card = nil, step, 0, "", nil
	if p.recalling == nil {
		p.foresee(l, step)
	}
	p.attempt++
	if err := p.enter(); err != nil {
		p.trouble = err.Error()
	}
	p.halt()
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	attempt, c := p.attempt, l.on(p.cluster, p.folder)
	p.behind(func() { p.setScene(ctx, l, c, attempt, again) })
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
	p.keepRun()
	p.halt()
	p.discard()
	p.lesson, p.beats, p.recorded = nil, nil, nil
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

func (p *Player) setScene(ctx context.Context, l *Lesson, c Cluster, attempt int, again bool) {
	base := p.cluster.Clock().Speed
	back := p.hurry()
	if again {
		perform(ctx, c, l.script(l.Cleanup), "cleanup.sh")
	}
	out, exit := perform(ctx, c, l.setup(), "setup.sh")
	back()
	if exit == 0 {
		p.setBeats(ctx, l, attempt, base)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempt == attempt {
		p.trouble = "The scene could not be set:\n" + strings.TrimSpace(out)
	}
}

// setBeats begins an attempt at a lesson in beats, and brings it to the beat where the learner
// goes on.
func (p *Player) setBeats(ctx context.Context, l *Lesson, attempt int, base float64) {
	err := p.cluster.Pause()
	h := view.NewHistory(p.cluster.Trace())
	h.CatchUp(0)
	a := NewAttempt(l, h.Latest(), p.cluster.Trace(), h.Len())
	p.mu.Lock()
	a.seed = p.seed()
	to := p.step
	p.mu.Unlock()
	if err == nil {
		err = p.recipe(a).to(ctx, to)
	}
	p.take(a, attempt, base, uint64(attempt)*1000, err)
}

// Look is a lesson's present step.
type Look struct {
	Beat     *BeatLook   // of a lesson in beats, else nil
	Card     *EndCard    // what its run came to; nil until it is asked for at the end
	Recall   *RecallLook // of questions that come back, else nil
	Walk     *WalkLook   // of a walk in the place of a lesson, else nil
	Active   bool
	Setting  bool          // the scene is being set, and nothing can be done yet
	Recorded *view.History // the beat is that of a recording, which it belongs to, until the scene is set; else nil
	ID       string
	Title    string
	Version  int    // of the lesson
	Trouble  string // what the lesson cannot do
	Within   string // the folder that what it offers is confined to; "" where it is kviz' own, or the learner's
	Wrong    string // what is the matter with the text that its author has saved
	Step     int    // from 1
	Steps    int
	Kind     string   // see, predict, do, break, free
	Text     string   // paragraphs, `code` and **bold**
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

// Offers reports whether a line is what the lesson offers out of a bundle, and has to be confined to its folder.
func (l *Look) Offers(line string) bool {
	return l.Within != "" && l.Beat != nil && line == l.Beat.Offer
}

// GoalLook is one line of the checklist.
type GoalLook struct {
	Say   string
	Met   bool
	Ahead bool // it is met, by what the stage has not come to yet
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
		look, _ := p.foreseen()
		return look
	}
	return p.lookBeat()
}

// lookBeat is Look in a lesson in beats. The lock is held.
func (p *Player) lookBeat() Look {
	look := Look{Active: true, Title: p.lesson.Title, ID: p.lesson.ID, Version: p.lesson.Version, Steps: len(p.lesson.Steps), Step: p.step + 1, Text: "Setting the scene …", Wrong: p.wrong}
	if p.lesson.Bundled {
		look.Within = p.folder
	}
	if p.recalling != nil {
		look.Recall = p.recalling.look(p)
		look.Text = "Bringing a new run to the question …"
	}
	if p.beats == nil {
		look.Setting = p.trouble == ""
		if p.trouble != "" {
			look.Text = p.trouble
		} else if seen, ok := p.foreseen(); ok {
			seen.Within, seen.Wrong = look.Within, look.Wrong
			return seen
		}
		return look
	}
	wrong := p.beats.looks(p.cluster)
	p.beats.look(&look, p.hint)
	p.step = p.beats.at
	for _, err := range []error{wrong, p.beats.Err(), p.keep(&look)} {
		if err != nil {
			look.Text += "\n\n" + err.Error()
			look.Trouble = err.Error()
		}
	}
	if p.recalling != nil {
		look.Recall = p.recalling.look(p)
		look.CanNext = look.CanNext || p.recalling.told && !p.recalling.over && p.beats.Done(p.beats.at)
	} else {
		look.Card = p.card
		look.CanNext = look.CanNext || look.Finished && p.card == nil
	}
	return look
}

// Do answers: "next", "back", "hint", "restart", "leave", "reveal" (go on
// without having done the beat), "answer 2" for the second choice (or the second
// card as the next one, the second label for the next item), or "undo".
func (p *Player) Do(action string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lesson == nil && p.recorded != nil {
		return fmt.Errorf("the cluster of the lesson is still being started")
	}
	if p.lesson == nil {
		return fmt.Errorf("no lesson is under way")
	}
	word, arg, _ := strings.Cut(action, " ")
	switch word {
	case "restart":
		p.recalling, p.ahead = nil, false
		err := p.progress.anew(p.lesson.ID)
		p.begin(p.lesson, 0)
		return err
	case "leave":
		p.keepRun()
		p.recalling = nil
		p.halt()
		p.discard()
		l := p.lesson
		p.behind(func() {
			defer p.hurry()()
			l.cleansUp(context.Background(), p.cluster)
		})
		p.lesson, p.beats, p.recorded = nil, nil, nil
		p.attempt++
		return nil
	}
	if p.beats == nil {
		return fmt.Errorf("the scene is still being set")
	}
	p.step = p.beats.at
	if done, err := p.doBeat(word, arg); done {
		return err
	}
	step := p.lesson.Steps[p.step]
	switch word {
	case "hint":
		return p.giveHint(step)
	case "answer":
		return p.answer(step, arg)
	case "undo":
		if !p.beats.Undo(step) {
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
	if n > len(p.beats.layout(step).answers) {
		return fmt.Errorf("there is no answer %q here", arg)
	}
	if p.beats.Answer(step, p.beats.layout(step).answers[n-1]) {
		return p.keepSaid(step)
	}
	if step.Question.Form() == Order && !p.beats.Settled(step) {
		return fmt.Errorf("card %d has its place already", n)
	}
	return fmt.Errorf("the question is answered already")
}

func (p *Player) giveHint(step *Step) error {
	fit := p.beats.Hints(step)
	if len(fit) == 0 {
		return fmt.Errorf("there is no hint for where you are: read the beat again")
	}
	p.hint = p.hint%len(fit) + 1
	if p.recalling != nil || p.ahead {
		return nil
	}
	return p.progress.hint(p.lesson.ID, step.ID)
}
