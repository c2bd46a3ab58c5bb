package stage

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"kviz/lessons"
	"kviz/lessons/link"
	"kviz/tui/action"
	"kviz/tui/keymap"
)

// hands are what the learner is in the middle of.
type hands struct {
	typed  string // of a number
	cell   string // the name of what the pointer is on
	lookOn bool   // a mistake is looked at; the beat is not undone
}

// The keys of the stage. Those with a rank stand in the last row.
var (
	onKey      = bind(1, "on", "space", "Go on: end the motion, then to the next beat.", "space", "n", "pgdown")
	runKey     = bind(1, "run", "run", "Run the command that is offered.", "enter")
	editKey    = bind(2, "edit", "edit", "Change the command before it is run.", "tab")
	typeKey    = bind(0, "type", "type", "Type a command of your own.", ":")
	backKey    = bind(3, "back", "back", "The beat before, at its end.", "left", "pgup")
	againKey   = bind(4, "again", "replay", "Show the beat again.", "r")
	fasterKey  = bind(0, "faster", "faster", "Show changes for a shorter time.", "+", "=")
	slowerKey  = bind(5, "slower", "tempo", "Show changes for a longer time.", "-")
	hintKey    = bind(2, "hint", "hint", "A hint.", "?")
	showKey    = bind(3, "show", "show me", "Have kviz type and run what is offered; once more: have it done at once, and go on.", "s")
	undoKey    = bind(1, "undo", "undo", "Take back what you did last in this beat.", "u")
	goOnKey    = bind(2, "go on", "go on", "Go on with what has become of it.", "o")
	whyKey     = bind(6, "why", "why?", "Why did the event happen at which the stage stands?", "w")
	exploreKey = bind(7, "explore", "explore", "The whole explorer; L there comes back.", "x")
	linkKey    = bind(0, "link", "copy link", "Copy a link to this beat; kviz open goes there on another machine.", "c", "Y")
	leaveKey   = bind(8, "leave", "leave", "Leave the lesson, or kviz.", "q", "ctrl+c")
	listKey    = bind(0, "lessons", "lessons", "The list of lessons.", "L")
	takeKey    = bind(0, "take back", "take back", "Take the last part of an answer back.", "backspace", "0")
)

func bind(rank int, act, words, means string, keys ...string) keymap.Binding {
	b := keymap.Bind(act, words, means, keys...)
	b.Rank = rank
	return b
}

// All are the keys of the stage, for its page of the help.
func All() []keymap.Binding {
	return []keymap.Binding{
		onKey, runKey, editKey, typeKey, backKey, againKey, fasterKey, slowerKey, hintKey, showKey, undoKey, goOnKey, whyKey, exploreKey, linkKey, listKey,
		takeKey, leaveKey,
	}
}

// Keys are those that do something now, most useful first.
func (s *Stage) Keys() []keymap.Binding {
	b := s.look.Beat
	if b == nil {
		return []keymap.Binding{leaveKey}
	}
	if s.over() {
		return s.cardKeys()
	}
	if s.look.Recorded != nil {
		return s.recordedKeys()
	}
	var keys []keymap.Binding
	switch {
	case b.AskSure:
		keys = append(keys, keymap.Binding{Binding: keymap.Hint("1-3", "say", "1")})
	case s.asks():
		keys = append(keys, keymap.Binding{Binding: keymap.Hint(digits(len(s.look.Choices)), "answer", "1")})
	case b.Typed:
		keys = append(keys, keymap.Binding{Binding: keymap.Hint("⏎", "answer", "enter")})
	case s.points():
		keys = append(keys, pointKeys...)
	case b.Mistake != "" && !s.hands.lookOn:
		keys = append(keys, undoKey, goOnKey)
	case b.Offer != "" && s.running:
		keys = append(keys, editKey)
	case b.Offer != "":
		keys = append(keys, runKey, editKey)
	}
	if s.look.CanNext || s.playing() || b.Late {
		on := onKey
		on.SetHelp("space", "on")
		keys = append(keys, on)
	}
	keys = append(keys, backKey)
	switch {
	case !b.Acts || b.Mistake != "":
	case !s.look.CanNext:
		keys = append(keys, hintKey, showKey)
		if !b.Undo.IsZero() && b.Mistake == "" {
			undo := undoKey
			undo.Rank = 4
			keys = append(keys, undo)
		}
	case s.look.Kind == lessons.Free:
		keys = append(keys, hintKey)
	}
	if b.Stopped && !b.Acts && !b.Still {
		keys = append(keys, againKey, slowerKey)
	}
	return append(keys, whyKey, exploreKey, leaveKey)
}

// recordedKeys are those of a beat that a recording shows.
func (s *Stage) recordedKeys() []keymap.Binding {
	var keys []keymap.Binding
	if s.playing() {
		on := onKey
		on.SetHelp("space", "on")
		keys = append(keys, on)
	}
	if b := s.look.Beat; b.Stopped && !b.Acts && !b.Still {
		keys = append(keys, againKey, slowerKey, fasterKey)
	}
	return append(keys, leaveKey)
}

// Link leads to the beat on the stage, "" where there is none.
func (s *Stage) Link() string {
	if !s.Has() || s.look.Beat == nil {
		return ""
	}
	return link.Link{Lesson: s.look.ID, Version: s.look.Version, Beat: s.look.Beat.ID}.String()
}

func digits(n int) string {
	if n < 2 {
		return "1"
	}
	return "1-" + string(rune('0'+min(n, 9)))
}

// asks reports whether a question is open that digits answer.
func (s *Stage) asks() bool {
	b := s.look.Beat
	return b != nil && !b.Past && (len(s.look.Choices) > 0 && !s.look.Answered || b.AskSure)
}

// Key is what a key does, nil where it is none of the stage's.
func (s *Stage) Key(k tea.KeyPressMsg) action.Action {
	b := s.look.Beat
	if b == nil {
		if keymap.Action(k, []keymap.Binding{leaveKey}) != "" {
			return action.Key(keymap.Quit)
		}
		return nil
	}
	if s.over() {
		return s.cardKey(k)
	}
	if s.look.Recorded != nil && keymap.Action(k, s.recordedKeys()) == "" {
		return action.Notice{Text: "this can be done as soon as your cluster is there"}
	}
	if does, ours := s.answer(k); ours {
		return does
	}
	switch name := keymap.Action(k, All()); name {
	case onKey.Action:
		return s.on()
	case runKey.Action:
		if s.running && b.Offer != "" { // one after another
			return action.Redraw{}
		}
		if b.Offer != "" && b.Mistake == "" && !s.playing() {
			s.show.passed = 0
			return action.Offered(b.Offer)
		}
		return s.on()
	case editKey.Action:
		s.show = showing{}
		return action.Type(b.Offer)
	case typeKey.Action:
		s.show = showing{}
		return action.Type("")
	case backKey.Action:
		return action.Lesson("back")
	case againKey.Action:
		if len(s.play.Frames) > 0 {
			s.play.Again()
		}
		return action.Redraw{}
	case fasterKey.Action:
		s.tempo = min(s.tempo*2, 8)
		return action.Redraw{}
	case slowerKey.Action:
		s.tempo = max(s.tempo/2, 0.125)
		return action.Redraw{}
	case hintKey.Action:
		return action.Lesson("hint")
	case showKey.Action:
		if s.show.on || b.Offer == "" || b.Past { // twice, or there is nothing to be run: done at once
			s.show = showing{}
			return action.Lesson("skip")
		}
		s.show = showing{on: true}
		return action.Lesson("shown")
	case undoKey.Action:
		if b.Undo.IsZero() || b.Past {
			return action.Lesson("again")
		}
		return action.Undo{At: b.Undo}
	case goOnKey.Action:
		s.hands.lookOn = true
		return action.Lesson("skip")
	case whyKey.Action:
		return action.Why{ID: s.Event()}
	case exploreKey.Action:
		s.Leave()
		return action.All{action.Focus{Pane: s.pane()}, action.Goto{ID: s.Event()}, action.Notice{Text: "L comes back to the lesson"}}
	case linkKey.Action:
		return action.Link{To: s.Link()}
	case listKey.Action:
		return action.Lessons
	case leaveKey.Action:
		return action.Key(keymap.Quit)
	}
	return action.Redraw{}
}

// on goes on: it ends the motion first.
func (s *Stage) on() action.Action {
	switch b := s.look.Beat; {
	case s.playing():
		s.play.Next()
		return action.Redraw{}
	case b.Late && !s.look.CanNext:
		return action.Lesson("skip")
	case b.Held:
		return action.Lesson("sure 0")
	}
	return action.Lesson("next")
}

// answer is what a key does while a question is open.
func (s *Stage) answer(k tea.KeyPressMsg) (does action.Action, ours bool) {
	b := s.look.Beat
	if b.Past || s.playing() {
		return nil, false
	}
	digit := len(k.Text) == 1 && k.Text >= "0" && k.Text <= "9"
	switch {
	case b.Typed:
		return s.typeNumber(k, digit)
	case s.points():
		return s.point(k)
	case b.AskSure:
		switch {
		case digit && k.Text >= "1" && k.Text <= "3":
			return action.Lesson("sure " + k.Text), true
		case k.Code == tea.KeyEnter:
			return action.Lesson("sure 0"), true
		}
	case s.asks() && digit && k.Text != "0":
		return action.Lesson("answer " + k.Text), true
	case s.asks() && (s.look.Form == lessons.Order || s.look.Form == lessons.Match) && keymap.Action(k, []keymap.Binding{takeKey}) != "":
		return action.Lesson("undo"), true
	}
	return nil, false
}

// typeNumber takes a number that is typed.
func (s *Stage) typeNumber(k tea.KeyPressMsg, digit bool) (action.Action, bool) {
	switch {
	case digit, k.Text == "." && !strings.Contains(s.hands.typed, "."):
		if len(s.hands.typed) < 9 {
			s.hands.typed += k.Text
		}
	case k.Code == tea.KeyBackspace:
		if n := len(s.hands.typed); n > 0 {
			s.hands.typed = s.hands.typed[:n-1]
		}
	case k.Code == tea.KeyEnter && s.hands.typed != "":
		return action.Lesson("number " + s.hands.typed), true
	default:
		return nil, false
	}
	return action.Redraw{}, true
}
