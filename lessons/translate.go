package lessons

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/chai2010/gettext-go/po"
)

// Translation is how far the texts of a lesson are there in another language.
type Translation struct {
	Lang    string
	Of      int      // texts that the lesson has
	Missing []string // those that are shown as they were written, with their places
	Stale   []string // what is translated and stands in the lesson no more
}

// langForm is the name of a language, as files of gettext are named: de, pt_BR.
var langForm = regexp.MustCompile(`^[a-z]{2,3}(_[A-Z]{2})?$`)

// wording is one text of a lesson, as it was written, and how another one comes to its place. Which text a
// translation is for say the beat, the block of it, and the text itself: one that was changed is translated anew.
type wording struct {
	place string // "crash/goal"
	src   string
	put   func(string) error
}

// In puts the texts of another language in the place of those that the lessons were written with, as far as there are
// any: i18n/LANG.po in a lesson's folder. Commands, names and expressions are not texts.
func In(lang string, all []*Lesson) error {
	if !langForm.MatchString(lang) {
		return fmt.Errorf("%q is no language: want de, or pt_BR", lang)
	}
	var wrong []error
	for _, l := range all {
		if l.rest == nil {
			wrong = append(wrong, l.translate(lang))
			continue
		}
		messages, err := l.messages(lang)
		if wrong = append(wrong, err); err != nil {
			continue
		}
		for _, w := range l.headWordings() {
			if text := messages[w.place][w.src]; text != "" {
				wrong = append(wrong, w.put(text))
			}
		}
		rest := l.rest
		l.rest = sync.OnceValues(func() (*Lesson, error) {
			whole, err := rest()
			if err == nil {
				err = whole.translate(lang)
			}
			return whole, err
		})
	}
	return errors.Join(wrong...)
}

// translate puts the texts of another language into a lesson that is whole.
func (l *Lesson) translate(lang string) error {
	messages, err := l.messages(lang)
	if err != nil {
		return err
	}
	t := &Translation{Lang: lang}
	used := map[string]map[string]bool{}
	var wrong []error
	for _, w := range l.wordings() {
		if used[w.place] == nil {
			used[w.place] = map[string]bool{}
		}
		if !used[w.place][w.src] {
			t.Of++
		}
		text := messages[w.place][w.src]
		switch {
		case text == "":
			if !used[w.place][w.src] {
				t.Missing = append(t.Missing, fmt.Sprintf("%s: %s", w.place, w.src))
			}
		case !slices.Equal(holes(text), holes(w.src)):
			wrong = append(wrong, fmt.Errorf("%s: %s: it has the values %s where the lesson has %s: %s",
				l.po(lang), w.place, braced(holes(text)), braced(holes(w.src)), text))
		default:
			if err := w.put(text); err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %s: %w", l.po(lang), w.place, err))
			}
		}
		used[w.place][w.src] = true
	}
	for place, texts := range messages {
		for src := range texts {
			if !used[place][src] {
				t.Stale = append(t.Stale, fmt.Sprintf("%s: %s", place, src))
			}
		}
	}
	slices.Sort(t.Stale)
	for _, s := range l.Steps { // its text is said whole elsewhere
		var paragraphs []string
		for _, p := range s.Caption {
			paragraphs = append(paragraphs, p.Source())
		}
		if len(paragraphs) > 0 {
			s.Text = strings.Join(paragraphs, "\n\n")
		}
	}
	l.Translated = t
	return errors.Join(wrong...)
}

// po is the name of a lesson's file of translations.
func (l *Lesson) po(lang string) string { return path.Join(l.dir, "i18n", lang+".po") }

// messages are the translations of a lesson, by their places and the texts that they are for.
func (l *Lesson) messages(lang string) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	text, err := fs.ReadFile(l.files, path.Join(l.in, "i18n", lang+".po"))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lesson %s: %w", l.ID, err)
	}
	file, err := readPO(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.po(lang), err)
	}
	for _, m := range file.Messages {
		if all[m.MsgContext] == nil {
			all[m.MsgContext] = map[string]string{}
		}
		all[m.MsgContext][m.MsgId] = m.MsgStr
	}
	return all, nil
}

// readPO reads a file of gettext. It may have come in a bundle, and the parser was not written for strangers.
func readPO(text []byte) (file *po.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it is no file of gettext (%v)", v)
		}
	}()
	if file, err = po.Load(text); err == nil && len(file.Messages) == 0 {
		err = errors.New("it is no file of gettext, or has nothing in it")
	}
	return file, err
}

// Template is the file of translations for a language, complete: with what is translated already, and nothing
// for what is not.
func (l *Lesson) Template(lang string) (string, error) {
	if !langForm.MatchString(lang) {
		return "", fmt.Errorf("%q is no language: want de, or pt_BR", lang)
	}
	messages, err := l.messages(lang)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "msgid \"\"\nmsgstr \"\"\n\"Language: %s\\n\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n", lang)
	said := map[string]bool{}
	for _, w := range l.wordings() {
		if key := w.place + "\x00" + w.src; !said[key] {
			said[key] = true
			fmt.Fprintf(&b, "\nmsgctxt %s\nmsgid %s\nmsgstr %s\n", quotePO(w.place), quotePO(w.src), quotePO(messages[w.place][w.src]))
		}
	}
	return b.String(), nil
}

// quotePO is a string as files of gettext have it.
func quotePO(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// headWordings are the texts that stand before the beats.
func (l *Lesson) headWordings() []wording {
	all := []wording{{"lesson/title", l.Title, into(&l.Title)}}
	for i := range l.Teaches {
		all = append(all, wording{"lesson/teaches", l.Teaches[i], into(&l.Teaches[i])})
	}
	return all
}

// wordings are all texts of a lesson, in their order.
func (l *Lesson) wordings() []wording {
	all := l.headWordings()
	for _, s := range l.Steps {
		all = append(all, s.wordings()...)
	}
	return all
}

// into puts a text without values.
func into(place *string) func(string) error {
	return func(text string) error { *place = text; return nil }
}

// wordings are the texts of a beat.
func (s *Step) wordings() (all []wording) {
	r := reader{names: s.names, said: s.said}
	plain := func(block string, place *string) {
		if *place != "" {
			all = append(all, wording{s.ID + "/" + block, *place, func(text string) error { *place = text; return r.saying(text) }})
		}
	}
	filled := func(block string, place **Text) {
		if *place == nil {
			return
		}
		all = append(all, wording{s.ID + "/" + block, (*place).Source(), func(text string) (err error) {
			*place, err = r.text(text, s.names)
			return err
		}})
	}
	if s.Chapter != "" {
		all = append(all, wording{"lesson/chapter", s.Chapter, into(&s.Chapter)})
	}
	plain("title", &s.Title)
	for i := range s.Caption {
		filled("text", &s.Caption[i])
	}
	if s.Stage != nil {
		filled("stage", &s.Stage.Big)
	}
	for _, g := range s.Goals {
		plain("goal", &g.Say)
		for _, h := range g.Hints {
			plain("goal", &h.Text)
		}
		for _, m := range g.Misses {
			filled("goal", &m.Say)
		}
	}
	if s.Question != nil {
		s.Question.wordings(plain, filled, func(by map[string]string) {
			for _, answer := range slices.Sorted(maps.Keys(by)) {
				all = append(all, wording{s.ID + "/question", by[answer], func(text string) error { by[answer] = text; return r.saying(text) }})
			}
		})
	}
	return all
}

// wordings are the texts of a question: plain ones, those that are filled in, and those that are said by answer.
func (q *Question) wordings(plain func(block string, place *string), filled func(block string, place **Text), by func(map[string]string)) {
	const block = "question"
	plain(block, &q.Ask)
	ghosts := func(all []*Ghost) {
		for _, g := range all {
			filled(block, &g.Says)
		}
	}
	for _, c := range q.Choices {
		plain(block, &c.Text)
		plain(block, &c.Why)
		ghosts(c.Ghosts)
	}
	for _, c := range q.Cards {
		plain(block, &c.Text)
		plain(block, &c.Why)
	}
	for _, l := range q.Labels {
		plain(block, &l.Text)
	}
	for _, it := range q.Items {
		plain(block, &it.Text)
		plain(block, &it.Why)
	}
	if n := q.Number; n != nil {
		plain(block, &n.Unit)
		by(n.Why)
	}
	if q.Point != nil {
		by(q.Point.Why)
	}
}

// holes are the values in a text, in the order of their names.
func holes(src string) (all []string) {
	for rest := src; ; {
		at := opening.FindStringIndex(rest)
		if at == nil {
			slices.Sort(all)
			return all
		}
		end := closing(rest[at[0]:])
		if end < 0 {
			return append(all, "{")
		}
		all = append(all, rest[at[0]+1:at[0]+end])
		rest = rest[at[0]+end+1:]
	}
}

func braced(holes []string) string {
	if len(holes) == 0 {
		return "none"
	}
	return "{" + strings.Join(holes, "}, {") + "}"
}
