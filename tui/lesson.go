package tui

import "kviz/cluster/view"

// LessonFace is what the explorer needs of the lessons. All methods are called
// from the explorer's goroutine and return at once.
type LessonFace interface {
	// List lists the lessons in the order they are meant to be taken.
	List() []LessonInfo
	// Start begins a lesson; the explorer shows its first step.
	Start(id string) error
	// Look is what to show now, judged at a state; Active is false when no
	// lesson is under way.
	Look(s *view.State) LessonLook
	// Do answers: "next", "back", "hint", "restart", "leave", "reveal", "undo", or
	// "answer 2" for the second choice (card, label).
	Do(action string) error
}

// LessonInfo is one lesson in the list.
type LessonInfo struct {
	ID      string
	Title   string
	Part    string // heading it stands under
	Teaches string
	Minutes int
	Done    bool
	Locked  string // why it cannot be taken; "" if it can
}

// LessonLook is a lesson's present step.
type LessonLook struct {
	Active   bool
	Title    string
	Step     int // 1-based
	Steps    int
	Kind     string   // see, predict, do, break, free
	View     []string // names of the panes to show, the most important first; none leaves them
	Notes    string   // for who teaches
	Text     string   // paragraphs, `code`, **bold** and "- " lists
	Goals    []LessonGoal
	Form     string // how the question is answered: "choice", "order" (choices are cards), "match" (choices are labels)
	Choices  []LessonChoice
	Items    []LessonItem // of "match"
	Answered bool
	Verdict  string // after an answer: what the simulation then did
	Hint     string
	HintNo   int
	HintsOf  int
	CanNext  bool
	Finished bool
}

// LessonGoal is one line of the checklist.
type LessonGoal struct {
	Say string
	Met bool
}

// LessonChoice is one answer to choose.
type LessonChoice struct {
	Text   string
	Chosen bool
	Right  bool   // shown once answered
	Place  int    // of a card: where it was put; 0 is nowhere yet
	Event  string // of a card: the event it was, once answered
}

// LessonItem is one thing that gets a label.
type LessonItem struct {
	Text  string
	Label string // "" as long as it has none
	Next  bool   // the next answer is its label
	Right bool
	Event string
}
