package attach

import (
	"os"

	"github.com/muesli/cancelreader"
)

// typed is what is typed on a terminal, until it is cancelled: a key that is typed after that is the shell's.
type typed struct{ cancelreader.CancelReader }

func newTyped(in *os.File) (*typed, error) {
	r, err := cancelreader.NewReader(in)
	if err != nil {
		return nil, err
	}
	return &typed{r}, nil
}

func (t *typed) cancel() {
	t.Cancel()
	_ = t.Close()
}
