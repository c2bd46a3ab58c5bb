package lessons

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// playing is where a learner is in a lesson in beats.
type playing struct {
	*Attempt
	shown   int  // the beat on the stage, which may be one before that under way
	behind  bool // there are events that have not been judged yet
	offered int  // how many of the beat's commands have been run from the offer
	asked   asked
	entered time.Time       // in real time, when the beat under way was entered
	base    float64         // the speed where a beat names none
	version uint64          // of what is on the stage
	tells   map[string]int  // by step with a question: the beat in which its answer became known
	noted   map[string]bool // by step with a question: what its answer was worth is kept
	gains   gains
	helped  map[string]bool // by step: kviz runs what it offers
	silent  map[string]bool // by step with a question: how sure the learner is they do not say
}

// gains are how far the goals of the beat under way have come, and since when.
type gains struct {
	most  int
	since time.Time // in real time
}

// stuckAfter is the time without progress after which a learner is told what came nearest.
const stuckAfter = 3 * time.Second

// stuck reports whether the goals have not come nearer for a while.
func (p *playing) stuck() bool {
	if n := p.gained(); n > p.gains.most {
		p.gains = gains{n, time.Now()}
	}
	return time.Since(p.gains.since) >= stuckAfter
}

// asked is what the cluster was asked for last.
type asked struct {
	beat int
	runs bool
}

// BeatLook is a beat as the stage shows it.
type BeatLook struct {
	ID, Title, Chapter string

	Show        string   // pane/view
	Spots, Hide []string // names of cells; a spot whose subject is not known yet is not among them
	Big         string

	Before, After string // what is said before the change, and after it; After is "" until the beat stands
	Start         *view.State
	Event         *trace.Event // the one at which it stands; nil until it does
	From, At      uint64       // the events that it shows: those from From on, before At
	Stopped       bool         // At is where it stands
	Acts          bool         // it is at the newest event
	Tempo, Quiet  time.Duration
	ByKey, Still  bool
	Most          time.Duration // the longest that all changes take together; 0 is as long as they take
	AtEnd         bool          // it is shown where it stands; the way there is shown when that is asked for

	Runs    bool   // the cluster runs for it
	Behind  bool   // there are events that have not been judged yet
	Late    bool   // its stop has not come in its time
	Offer   string // the command that is offered now; "" for none
	OfferNo int    // from 1
	Offers  int
	Does    []string // all that it offers, as of where it stands
	Miss    string   // what came nearest to the first open goal
	Mistake string   // what went wrong, so that the beat cannot be done any more
	Undo    trace.ID // the event after which an undo goes on; zero where the learner has done nothing
	Noticed trace.ID // the event at which the mistake was noticed
	AskSure bool     // how sure the learner is can be said
	Held    bool     // the verdict is known, and given once that was said or passed over
	Sure    int      // 1 guess, 2 thinks so, 3 sure; 0 not said
	Typed   bool     // the answer is a number that is typed
	Point   string   // the cells that can be pointed at, while that is the answer; "" else
	Past    bool     // the learner has been further
	Answers string   // the title of the beat whose question the verdict is about
	Told    *Told    // the verdict in its parts, of a question with choices or a number
	Ghosts  []GhostLook
	Frozen  trace.ID // the event at which the ghosts were said
	Version uint64   // another one: another beat, or the same entered anew
}

// begins takes up an attempt whose scene is set, at the beat it has come to.
func begins(a *Attempt, base float64, version uint64) *playing {
	_, at := a.Beat()
	return &playing{
		Attempt: a, shown: at, asked: asked{beat: -1}, entered: time.Now(), base: base, version: version, tells: map[string]int{}, noted: map[string]bool{},
		silent: map[string]bool{}, helped: map[string]bool{},
		gains: gains{since: time.Now()},
	}
}

// steer has the cluster run or stand as the beat wants it.
func (p *playing) steer(c Cluster) error {
	step, at := p.Beat()
	want := asked{at, p.Runs()}
	if want == p.asked {
		return nil
	}
	speedAnew := p.asked.beat != at
	p.asked = want
	if !want.runs {
		return c.Pause()
	}
	if speedAnew {
		x := p.base
		if step.Stage.Run != "" {
			x, _ = step.Stage.speed() // it was read when the lesson was
		}
		if err := c.Speed(x); err != nil {
			return err
		}
	}
	return c.Resume()
}

// looks brings the attempt up to date and steers the cluster.
func (p *playing) looks(c Cluster) error {
	p.behind = true
	for i := 0; i < judged/batch && p.behind; i++ {
		p.behind = p.Attempt.Look()
	}
	for _, step := range p.Lesson.Steps[:p.at+1] {
		if p.at == slices.Index(p.Lesson.Steps, step) && p.unsaid(step) { // who knows what is right cannot say how sure they were
			continue
		}
		if _, known := p.tells[step.ID]; !known && step.Question != nil && p.Verdict(step) != "" && p.revealedHere(step) {
			p.tells[step.ID] = p.at
		}
	}
	return p.steer(c)
}

// unsaid reports whether it is still to be said how sure the learner is of an answer.
func (p *playing) unsaid(step *Step) bool {
	return step.Question != nil && p.said(step) != nil && p.sure[step.ID] == 0 && !p.silent[step.ID]
}

// revealedHere reports whether what answers a question has been on the stage.
func (a *Attempt) revealedHere(step *Step) bool {
	if v, ok := a.told[step.ID]; ok {
		return a.Known(v.at)
	}
	if q := step.Question; q.InParts() && !q.happens() {
		return true
	}
	for _, f := range a.facts[step.ID] {
		if f.at.IsZero() || !a.Known(f.at) {
			return false
		}
	}
	return true
}

// enter goes on to the next beat.
func (p *playing) enter(beat int) {
	p.Enter(beat)
	p.shown, p.offered, p.entered, p.gains = beat, 0, time.Now(), gains{since: time.Now()}
	p.version++
}

// passOver goes past questions that nobody asks now, to what answers the one that was asked.
func (p *playing) passOver() {
	for p.Lesson.Steps[p.at].Kind == Predict && p.at+1 < len(p.Lesson.Steps) {
		p.Session.shown[p.Lesson.Steps[p.at].ID] = true
		if !p.Span(p.at).Stopped {
			return
		}
		p.enter(p.at + 1)
	}
}

// look is what to show now.
func (p *playing) look(look *Look, hint int) {
	step, span := p.Lesson.Steps[p.shown], p.Span(p.shown)
	now := p.shown == p.at
	look.Step, look.Steps, look.Kind, look.Notes = p.shown+1, len(p.Lesson.Steps), step.Kind, step.Notes
	b := &BeatLook{
		ID: step.ID, Title: step.Title, Chapter: step.Chapter, Start: span.Start(), From: span.From, At: span.At, Stopped: span.Stopped, Acts: step.Acts(),
		Tempo: step.Stage.Tempo, Quiet: step.Stage.Quiet, ByKey: step.Stage.ByKey, Still: step.Stage.Still,
		Runs: now && p.Runs() && (step.Acts() || !span.Stopped), Behind: p.behind, Past: !now, Version: p.version*uint64(len(p.Lesson.Steps)+1) + uint64(p.shown),
	}
	look.Beat = b
	if span.end != nil {
		b.Event = span.end.Event
	}
	b.Before, b.After, _ = p.Caption(p.shown)
	for i := p.shown; i >= 0 && b.Show == ""; i-- {
		if show := p.Lesson.Steps[i].Stage.Show; show != nil {
			b.Show, _ = p.At(i, show)
		}
	}
	if name, _, _ := strings.Cut(b.Show, "/"); name != "" {
		look.View = []string{name}
	}
	b.Spots, b.Hide = p.names(step.Stage.Spots), p.names(step.Stage.Hide)
	b.Big, _ = p.At(p.shown, step.Stage.Big)
	p.lookGhosts(b)
	look.Text = "**" + step.Title + "**\n\n" + b.Before
	if b.After != "" {
		look.Text += "\n\n" + b.After
	}
	for _, g := range step.Goals {
		met := p.Met(g) || p.reached(step) && !g.Never() && !g.Optional
		look.Goals = append(look.Goals, GoalLook{p.fill(step, g.Say), met, met && !g.Never() && p.ahead(step, g)})
	}
	p.lookQuestion(look, step, now)
	if fit := p.Hints(step); now && hint > 0 && len(fit) > 0 && !p.reached(step) {
		n := min(hint, len(fit))
		look.Hint, look.HintNo, look.HintsOf = p.fill(step, fit[n-1].Text), n, len(fit)
	}
	if now {
		p.lookDoing(b, step, span, hint > 0)
	}
	last := len(p.Lesson.Steps) - 1
	look.CanNext = p.shown < p.at || p.Done(p.at) && p.at < last
	look.Finished = p.shown == last && p.Done(last)
}

// names are the names of cells that can be said already.
func (p *playing) names(texts []*Text) (all []string) {
	for _, t := range texts {
		if name, whole := p.At(p.shown, t); whole {
			all = append(all, name)
		}
	}
	return all
}

// lookDoing shows what the beat under way offers, and what went wrong in it.
// What came nearest to a goal is said when the learner did it, has come no nearer for a while, or asks.
func (p *playing) lookDoing(b *BeatLook, step *Step, span *Span, asks bool) {
	late := !span.Stopped && !step.Acts() && time.Since(p.entered) > step.Stage.Within
	b.Late = late
	if _, words, at := p.Nearest(); words != "" && !p.reached(step) && (p.stuck() || asks || p.Own(at)) {
		b.Miss = words
	}
	if !p.reached(step) {
		if _, words, at := p.Mistake(); words != "" {
			b.Mistake, b.Noticed, b.Miss = words, at, ""
		}
		b.Undo = p.undoTo()
	}
	b.Offers = len(step.Offers)
	for _, o := range step.Offers {
		line, _ := p.At(p.shown, o.Run)
		b.Does = append(b.Does, line)
	}
	if offers := step.Acts() && !p.reached(step) || late; offers && p.offered < len(step.Offers) {
		b.Offer, _ = p.Now(step.Offers[p.offered].Run)
		b.OfferNo = p.offered + 1
	}
}

// lookQuestion shows the beat's question, or what came of one that this beat answers.
func (p *playing) lookQuestion(look *Look, step *Step, now bool) {
	b := look.Beat
	for _, before := range p.Lesson.Steps[:p.shown+1] {
		if beat, known := p.tells[before.ID]; known && beat == p.shown {
			look.Verdict, b.Answers, b.Sure = p.Verdict(before), before.Title, p.sure[before.ID]
			b.Told = p.toldOf(before)
		}
	}
	q := step.Question
	if q == nil {
		return
	}
	look.Ask, look.Form = p.fill(step, q.Ask), q.Form()
	if q.claims != "" {
		look.Ask += " “" + p.fill(step, q.claims) + "”: is that so?"
	}
	switch q.Form() {
	case Order, Match:
		_, told := p.tells[step.ID]
		p.lookParts(look, step, told)
		want, _ := q.parts()
		look.Answered = len(p.given[step.ID]) == want
	case Count:
		x, ok := p.numbers[step.ID]
		b.Typed, look.Answered = !ok, ok
		if ok {
			_, told := p.tells[step.ID]
			look.Choices = append(look.Choices, ChoiceLook{Text: "You say: " + q.Number.unit(x), Chosen: true, Right: told && p.right(step)})
		}
	case Point:
		name := p.pointed[step.ID]
		if look.Answered = name != ""; !look.Answered {
			b.Point, _ = p.At(p.shown, q.Point.At)
			break
		}
		_, told := p.tells[step.ID]
		look.Choices = append(look.Choices, ChoiceLook{Text: "You point at " + called(name), Chosen: true, Right: told && p.right(step)})
	default:
		chosen := p.Answered(step)
		look.Answered = chosen >= 0
		_, told := p.tells[step.ID]
		for _, i := range p.layout(step).answers {
			look.Choices = append(look.Choices, ChoiceLook{Text: p.fill(step, q.Choices[i].Text), Chosen: i == chosen, Right: told && p.came(step, i)})
		}
	}
	if b.Answers == "" {
		b.Sure = p.sure[step.ID]
	}
	_, told := p.tells[step.ID]
	b.AskSure = now && look.Answered && p.unsaid(step) && !told
	b.Held = b.AskSure && p.Verdict(step) != "" && p.revealedHere(step)
	if look.Answered && !told && look.Verdict == "" {
		look.Verdict = "You will see. Go on."
	} else if told && look.Verdict == "" {
		look.Verdict = p.Verdict(step)
	}
}

// Told is a verdict in its parts.
type Told struct {
	Said    string       // what the learner said
	Right   bool         // it came so
	Choices []ChoiceLook // all that could be said; none of a number
	Why     string       // of what was said: why not, or why so
	More    string       // of what came instead: why
	Parts   []PartLook   // of order and match: all parts, as they are right
	By      trace.ID     // the event that answered
}

// toldOf takes apart what became of an answer; nil where it has no such parts.
func (p *playing) toldOf(step *Step) *Told {
	q := step.Question
	v, told := p.told[step.ID]
	if q.InParts() {
		return p.toldParts(step)
	}
	n := p.Answered(step)
	if q.Form() != OneOf || n < 0 || !told {
		return nil
	}
	t := &Told{Said: p.fill(step, q.Choices[n].Text), Right: p.came(step, n), Why: p.fill(step, q.Choices[n].Why), By: v.at}
	for _, i := range p.layout(step).answers {
		c := q.Choices[i]
		t.Choices = append(t.Choices, ChoiceLook{Text: p.fill(step, c.Text), Chosen: i == n, Right: p.came(step, i)})
		if !t.Right && p.came(step, i) {
			if t.More = p.fill(step, c.Why); t.More == t.Why {
				t.More = ""
			}
		}
	}
	t.More = strings.TrimSpace(t.More + p.usual(step))
	return t
}

// came reports whether the simulation did what a choice says; where it was not asked, whether
// the choice is marked.
func (p *playing) came(step *Step, choice int) bool {
	if v, ok := p.told[step.ID]; ok {
		return v.holds[choice]
	}
	return step.Question.Choices[choice].Right
}

// do answers what the learner does in a lesson in beats; done says whether it was that.
func (p *Player) doBeat(word, arg string) (done bool, err error) {
	b := p.beats
	step, at := b.Beat()
	switch word {
	case "next":
		_ = b.looks(p.cluster)
		switch {
		case p.card != nil:
			return true, fmt.Errorf("the lesson is over; leave it, or take another")
		case b.shown < at:
			b.shown++
			return true, nil
		case !b.Done(at):
			return true, fmt.Errorf("this beat is not over yet (%s)", p.missingBeat(step))
		case p.recalling != nil && p.recalling.told:
			return true, p.askNext()
		case at+1 == len(p.lesson.Steps):
			err := p.keepBeat(at)
			p.card = p.endCard()
			return true, err
		}
		p.hint = 0
		err := p.keepBeat(at)
		b.enter(at + 1)
		if p.recalling != nil {
			b.passOver()
		}
		p.since = p.progress.now()
		return true, err
	case "back":
		if p.card != nil {
			p.card = nil
			return true, nil
		}
		if b.shown == 0 {
			return true, fmt.Errorf("this is the first beat")
		}
		b.shown--
	case "reveal", "skip":
		if at+1 == len(p.lesson.Steps) {
			return true, fmt.Errorf("this is the last beat")
		}
		return true, p.skip(at)
	case "shown": // what the beat wants is done for the learner
		b.helped[step.ID] = true
	case "again":
		var err error
		if p.recalling == nil && !p.ahead {
			err = p.progress.beat(p.lesson.ID, step.ID, func(m *BeatMark) { m.Undone++ })
		}
		p.anew(at)
		return true, err
	case "offered":
		b.offered++
	case "number":
		x, err := strconv.ParseFloat(strings.TrimSpace(arg), 64)
		if err != nil {
			return true, fmt.Errorf("%q is no number", arg)
		}
		if !b.AnswerNumber(step, x) {
			return true, fmt.Errorf("the question is answered already")
		}
		return true, p.keepSaid(step)
	case "point": // which, then all that can be pointed at
		names := strings.Fields(arg)
		if len(names) == 0 {
			return true, fmt.Errorf("point at what?")
		}
		if err := b.PointAt(step, names[0], names[1:]); err != nil {
			return true, err
		}
		return true, p.keepSaid(step)
	case "sure":
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 || n > 3 {
			return true, fmt.Errorf("how sure: 1 guess, 2 think so, 3 sure, 0 does not say")
		}
		if n == 0 {
			b.silent[step.ID] = true
			return true, nil
		}
		b.sure[step.ID] = n
		return true, p.keepSaid(step)
	default:
		return false, nil
	}
	return true, nil
}

// missingBeat says what keeps a beat from being over.
func (p *Player) missingBeat(step *Step) string {
	switch q := step.Question; {
	case q != nil && !p.beats.Passed(step):
		return "answer the question"
	case !step.Acts():
		return "what it shows has not happened yet"
	}
	if _, words, _ := p.beats.Mistake(); words != "" {
		return words
	}
	for _, g := range step.Goals {
		if !g.Optional && !p.beats.Met(g) {
			return p.beats.fill(step, g.Say)
		}
	}
	return "its goals were not met all together"
}

// skip has kviz do what a beat asks for, and goes on to the next. The lock is held.
func (p *Player) skip(at int) error {
	b, l := p.beats, p.lesson
	b.Session.shown[l.Steps[at].ID] = true
	err := p.keepBeat(at)
	if b.Done(at) && (b.Span(at).Stopped || b.Passed(l.Steps[at])) {
		b.enter(at + 1)
		p.since = p.progress.now()
		return err
	}
	p.memory = p.remembers(true)
	p.beats = nil
	p.attempt++
	attempt := p.attempt
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.behind(func() {
		err := p.recipe(b.Attempt).to(ctx, at+1)
		p.take(b.Attempt, attempt, b.base, b.version, err)
	})
	return err
}

// anew sets the scene again and goes on at a beat. The lock is held.
func (p *Player) anew(beat int) {
	m := p.remembers(true)
	p.begin(p.lesson, beat)
	p.memory = m
}

// recipe is what brings an attempt on, on the player's cluster.
func (p *Player) recipe(a *Attempt) *recipe {
	p.mu.Lock()
	c := a.Lesson.on(p.cluster, p.folder)
	p.mu.Unlock()
	return &recipe{c: c, a: a, fast: true, look: func() {
		for a.Look() {
		}
	}}
}

// take takes up an attempt that was brought on in the background.
func (p *Player) take(a *Attempt, attempt int, base float64, version uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempt != attempt {
		return
	}
	if err != nil {
		p.trouble = "The scene could not be set:\n" + err.Error()
		return
	}
	_ = p.cluster.Pause() // what it answers the next look meets
	p.beats, p.since, p.recorded = begins(a, base, version+1), p.progress.now(), nil
	p.beats.goOn(p.memory)
}
