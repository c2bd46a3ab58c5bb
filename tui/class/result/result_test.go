package result_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kviz/tui/class/result"
)

func TestReading(t *testing.T) {
	c, err := result.Read(strings.NewReader(`{"lesson":"L09@3","students":27,"later":1,"polls":[{"beat":"guess-crash","question":"What now?","answers":[
		{"text":"It waits","count":18,"right":true},{"text":"It \u001b[31mfails\u202e","count":9}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Of("guess-crash")[0]
	if c.Students != 27 || p.Voted() != 27 || p.Share(p.Answers[0]) != 67 || p.Share(p.Answers[1]) != 33 || !p.Answers[0].Right {
		t.Errorf("read as %+v", c)
	}
	if said := p.Answers[1].Text; said != "It ·[31mfails" {
		t.Errorf("a hostile answer is %q", said)
	}
	if len(c.Of("other")) != 0 || len((*result.Class)(nil).Of("guess-crash")) != 0 || (result.Poll{}).Share(result.Answer{}) != 0 {
		t.Error("there are polls where there are none")
	}
	long := strings.Repeat("long ", 1000)
	c, err = result.Read(strings.NewReader(fmt.Sprintf(`{"lesson":"L09","polls":[{"question":%q}]}`, long)))
	if err != nil || len(c.Polls[0].Question) > 410 {
		t.Errorf("a long question: %v, %d bytes", err, len(c.Polls[0].Question))
	}
}

// What no class can have come to is refused in words, before anything of it is used.
func TestRefused(t *testing.T) {
	for _, c := range [][2]string{
		{`{`, "not what a class writes"},
		{`[]`, "not what a class writes"},
		{`{}`, "lesson: it is missing"},
		{`{"lesson":"L09","students":-1}`, "students: -1"},
		{`{"lesson":"L09","students":1000000}`, "students: 1000000"},
		{`{"lesson":"L09","polls":[{"beat":"x","answers":[{"count":-3}]}]}`, `"x": count: -3`},
		{`{"lesson":"L09","polls":[` + strings.TrimSuffix(strings.Repeat("{},", 201), ",") + `]}`, "polls: 201"},
		{`{"lesson":"L09","polls":[{"beat":"x","answers":[` + strings.TrimSuffix(strings.Repeat("{},", 41), ",") + `]}]}`, "41 answers"},
		{`{"lesson":"L09"}` + strings.Repeat(" ", 1<<20), "more than 1048576 bytes"},
	} {
		if _, err := result.Read(strings.NewReader(c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%.60s: %v; want %q", c[0], err, c[1])
		}
	}
}

// TestRareAnswers are counted together, so that what a class writes is what is read.
func TestRareAnswers(t *testing.T) {
	p := result.Poll{Beat: "guess", Question: "How many?"}
	for i := range 60 {
		p.Add(result.Answer{Text: fmt.Sprintf("%d\x1b[31m", i), Count: 1, Right: true})
	}
	text, err := json.Marshal(result.Class{Lesson: "L09@3", Students: 60, Polls: []result.Poll{p}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := result.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := c.Polls[0].Answers
	if last := all[len(all)-1]; len(all) != 40 || last != (result.Answer{Text: "something else", Count: 21}) || c.Polls[0].Voted() != 60 || all[0].Text != "0·[31m" {
		t.Errorf("%d answers, from %+v to %+v", len(all), all[0], last)
	}
}
