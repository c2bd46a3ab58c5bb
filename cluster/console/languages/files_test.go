package languages

import (
	"io"
	"io/fs"
)

// none is a folder without files.
type none struct{}

func (none) Open(string) (io.ReadCloser, error)          { return nil, fs.ErrNotExist }
func (none) Create(string, bool) (io.WriteCloser, error) { return nil, fs.ErrPermission }
func (none) List(string) ([]string, error)               { return nil, fs.ErrNotExist }
