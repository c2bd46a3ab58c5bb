package class_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/lessons"
	"kviz/tui/class"
)

// clock is a clock that goes on by a second with each look.
func clock() func() time.Time {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { at = at.Add(time.Second); return at }
}

func choice(n int) *lessons.Answer {
	return &lessons.Answer{Said: lessons.Said{Parts: []int{n}}, Sure: 2}
}

// told is a room in lines.
func told(s *class.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %q, %d here", s.Lesson, s.Beat, s.Here)
	for _, seat := range s.Seats {
		fmt.Fprintf(&b, "\n%s here %d beat %s", seat.Name, seat.Here, seat.Beat)
		if seat.Alone {
			fmt.Fprintf(&b, " alone %d of %d %s", seat.Done, seat.Of, seat.Miss)
		}
		for _, beat := range s.Asked {
			if a, ok := seat.Answers[beat]; ok {
				fmt.Fprintf(&b, " %s=%v", beat, a.Parts)
			}
			if right, ok := seat.Right[beat]; ok {
				fmt.Fprintf(&b, " right=%v", right)
			}
		}
	}
	for _, beat := range s.Asked {
		p := s.Polls[beat]
		fmt.Fprintf(&b, "\npoll %s %s:", beat, p.State)
		for _, a := range p.Answers {
			fmt.Fprintf(&b, " %s %d", a.Words, a.Count)
		}
	}
	for beat, g := range s.Gates {
		fmt.Fprintf(&b, "\ngate %s %s: %d of %d", beat, g.State, g.Done, g.Of)
	}
	return b.String()
}

// TestAClass is the story of a poll and a gate, and of a class whose process ends in between.
func TestAClass(t *testing.T) {
	var journal bytes.Buffer
	r := class.NewRoom(clock(), &journal)
	r.Begin("L09@3")
	for _, name := range []string{"mira", "jonas", "tarek"} {
		r.Come(name)
	}
	if err := r.Answer("mira", "guess", choice(0), "it waits"); !errors.Is(err, class.ErrNoPoll) {
		t.Errorf("an answer before the poll: %v", err)
	}
	r.GoTo("guess")
	r.Poll("guess", class.Open)
	for name, n := range map[string]int{"mira": 0, "jonas": 1, "tarek": 1} {
		if err := r.Answer(name, "guess", choice(n), fmt.Sprintf("choice %d", n+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Answer("tarek", "guess", choice(0), "choice 1"); err != nil { // which takes the place of the one before
		t.Fatal(err)
	}
	r.Poll("guess", class.Closed)
	r.Poll("guess", class.Open) // it is not opened again
	if err := r.Answer("jonas", "guess", choice(0), "choice 1"); !errors.Is(err, class.ErrFrozen) {
		t.Errorf("an answer after the poll: %v", err)
	}
	if p := r.State().Polls["guess"]; !p.Hidden() {
		t.Error("the answers are seen before they are shown")
	}
	r.Judge("guess", func(a lessons.Answer) (bool, bool) { return a.Parts[0] == 1, true })
	r.Poll("guess", class.Shown)
	r.GoTo("crash")
	r.Gate("crash", class.Open)
	r.Progress("mira", "crash", 1, 2, "", false)
	r.Progress("jonas", "crash", 0, 2, "you crashed member/b", false)
	r.Progress("mira", "crash", 2, 2, "", false)
	r.Leave("tarek")
	r.Raise("mira", true)
	r.Ask("jonas", "what if a comes back during the vote?")
	const want = `L09@3 at "crash", 2 here
mira here 1 beat crash alone 2 of 2  guess=[0] right=false
jonas here 1 beat crash alone 0 of 2 you crashed member/b guess=[1] right=true
tarek here 0 beat crash guess=[0] right=false
poll guess shown: choice 1 2 choice 2 1
gate crash open: 1 of 2`
	s := r.State()
	if got := told(s); got != want {
		t.Errorf("the class is\n%s\nwant\n%s", got, want)
	}
	if fmt.Sprint(s.Hands) != "[mira]" || len(s.Questions) != 1 {
		t.Errorf("hands %v, questions %v", s.Hands, s.Questions)
	}
	jonas, _ := s.Seat("jonas")
	if late := s.Since.Add(class.StuckAfter + time.Minute); !jonas.Stuck(late) || jonas.Stuck(s.Since) {
		t.Error("jonas is stuck after three minutes, and not before")
	}

	entries, err := class.ReadJournal(strings.NewReader(journal.String() + `{"t":"hand","na`)) // it ended while it wrote
	if err != nil {
		t.Fatal(err)
	}
	again := class.NewRoom(clock(), nil)
	again.Restore(entries)
	for _, name := range []string{"mira", "jonas"} {
		again.Come(name)
	}
	const back = `L09@3 at "crash", 2 here
mira here 1 beat crash guess=[0] right=false
jonas here 1 beat crash guess=[1] right=true
tarek here 0 beat crash guess=[0] right=false
poll guess shown: choice 1 2 choice 2 1
gate crash open: 1 of 2`
	if got := told(again.State()); got != back {
		t.Errorf("after its end the class is\n%s\nwant\n%s", got, back)
	}
}

// TestAJournalThatIsNone says in which line.
func TestAJournalThatIsNone(t *testing.T) {
	_, err := class.ReadJournal(strings.NewReader("{\"t\":\"opened\"}\nfrom a log\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("it answers %v", err)
	}
}

// TestAStateSharesNothing: what somebody does with a state is not seen in the room.
func TestAStateSharesNothing(t *testing.T) {
	r := class.NewRoom(clock(), nil)
	r.Come("mira")
	r.Poll("guess", class.Open)
	if err := r.Answer("mira", "guess", choice(0), "one"); err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(r.State())
	s := r.State()
	s.Seats[0].Answers["guess"] = lessons.Answer{}
	s.Seats[0].Name = "eve"
	delete(s.Polls, "guess")
	if after, _ := json.Marshal(r.State()); !bytes.Equal(before, after) {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
}

// TestTheBellWakesAll who wait, once each.
func TestTheBellWakesAll(t *testing.T) {
	var bell class.Bell
	bell.Ring() // nobody waits
	first, second := bell.Next(), bell.Next()
	bell.Ring()
	<-first
	<-second
	select {
	case <-bell.Next():
		t.Error("it rings twice")
	default:
	}
}

// TestAnswersWithoutWords are counted apart where they are different ones.
func TestAnswersWithoutWords(t *testing.T) {
	r := class.NewRoom(clock(), nil)
	for i, name := range []string{"ada", "bo", "carla"} {
		r.Come(name)
		r.Poll("guess", class.Open)
		if err := r.Answer(name, "guess", choice(i/2), ""); err != nil {
			t.Fatal(err)
		}
	}
	if all := r.State().Polls["guess"].Answers; len(all) != 2 || all[0].Count != 2 || all[1].Count != 1 {
		t.Errorf("they are %+v", all)
	}
}

// TestHeld: everybody is called back and held until they are let go, also where the class's process ends in between.
func TestHeld(t *testing.T) {
	var journal bytes.Buffer
	r := class.NewRoom(clock(), &journal)
	r.Begin("L09@3")
	before := r.State().Called
	r.Pin(true)
	r.Pin(true)
	held := r.State()
	if !held.Pinned || held.Called == before {
		t.Errorf("held: %+v", held)
	}
	if n := strings.Count(journal.String(), `"t":"pin"`); n != 1 {
		t.Errorf("the journal says so %d times", n)
	}
	entries, err := class.ReadJournal(bytes.NewReader(journal.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	again := class.NewRoom(clock(), nil)
	again.Restore(entries)
	if !again.State().Pinned {
		t.Error("after a restart nobody is held")
	}
	again.Pin(false)
	if now := again.State(); now.Pinned || now.Called != held.Called {
		t.Errorf("let go: %+v", now)
	}
}
