package apiserver

import (
	"slices"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/webhook"
)

// ReadFile is what a file on the server's machine holds: its configurations and
// its audit log. The error of a file that is not there is fs.ErrNotExist.
func (s *Server) ReadFile(name string) ([]byte, error) {
	if name == encrypt.File && s.encryption.Content() != nil {
		return s.encryption.Content(), nil
	}
	if file := s.configs.Content(name); file != nil {
		return file, nil
	}
	if file := webhook.File(name); file != nil {
		return file, nil
	}
	return s.audit.ReadFile(name)
}

// Files are the names of the files that ReadFile can read.
func (s *Server) Files() []string {
	var names []string
	if s.encryption.Content() != nil {
		names = append(names, encrypt.File)
	}
	names = append(names, s.configs.Paths()...)
	names = append(names, webhook.Files()...)
	names = append(names, s.audit.Files()...)
	slices.Sort(names)
	return names
}
