package lessons

import "fmt"

// wrong says of a beat what is wrong with it, and where it is written.
func (l *Lesson) wrong(s *Step, err error) error {
	return fmt.Errorf("%s:%d: beat %q: %w", l.file, s.line, s.ID, err)
}

// shown says of what went wrong in a beat on a cluster where the beat is written, and the command
// that shows it.
func (l *Lesson) shown(s *Step, err error) error {
	with := ""
	if l.From != "" {
		with = " --lessons " + l.From
	}
	return fmt.Errorf("%s:%d: %w\n  to see it: kviz lesson start %s#%s%s", l.file, s.line, err, l.ID, s.ID, with)
}
