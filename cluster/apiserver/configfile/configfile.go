// Package configfile is the files on the control plane's machine that flags of kube-apiserver
// name (--authentication-config, --authorization-config, --admission-control-config-file …):
// what they say, how much of it is in effect, and when the running server reloads a change.
// What a file means is up to its reader ([File.Read]).
//
// Simplified: a configuration with which the server could not start is refused when it is
// written, and a change is noticed at once, without watching a file system. Start reading at
// [Files].
package configfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "a configuration file with which the API server could not start is refused when it is written, and a change is noticed at once",
})

// File is a file that a flag of the server names, and that outlives its process.
type File struct {
	Name  string // as kviz apiserver has it: "tokens"
	Flag  string
	Path  string
	Title string // of what it configures

	// Read checks a file that the server could start with.
	Read func(file []byte) (Config, error)
	// Without applies the configuration for the case that there is no file.
	Without func()
	// Reloads says that the running server takes up a file that has changed, if
	// there was one when it started.
	Reloads bool

	server  string // in the trace
	file    []byte // nil where there is none
	hash    string // of what is in force; "" where nothing is
	lines   []string
	refused string // why a running server does not take up the file
	changed sim.Cond
}

// Config is what a file is decoded into.
type Config struct {
	Lines []string                // in words
	Use   func(t *sim.Task)       // puts it in force
	Reuse func(t *sim.Task) error // the same in a running server, which may find a reason not to; nil for Use
}

// State is what is known of a configuration file.
type State struct {
	Flag, File             string
	FileHash, LoadedHash   string // "" where there is none
	FileLines, LoadedLines []string
	Reloads                bool   // the running server takes up a change by itself
	Refused                string // why it has not taken up the file; "" where it may still
}

// Files are the files of a server, in the order in which they are read.
type Files struct{ all []*File }

// New are the files of the server that the trace calls server.
func New(server string, all ...*File) *Files {
	for _, f := range all {
		f.server = server
	}
	return &Files{all}
}

// Content is what a file on the server's machine holds, nil where it is not there.
func (c *Files) Content(path string) []byte {
	for _, f := range c.all {
		if f.Path == path {
			return f.file
		}
	}
	return nil
}

// Paths are those of the files that are there.
func (c *Files) Paths() (paths []string) {
	for _, f := range c.all {
		if f.file != nil {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// Copy takes the files of another server's machine.
func (c *Files) Copy(from *Files) {
	for i, f := range from.all {
		c.all[i].file = slices.Clone(f.file)
	}
}

// Names lists the files by what kviz apiserver calls them.
func (c *Files) Names() []string {
	var names []string
	for _, f := range c.all {
		names = append(names, f.Name)
	}
	return names
}

func (c *Files) find(name string) (*File, error) {
	i := slices.IndexFunc(c.all, func(f *File) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the API server has no file %q: one of %s", name, strings.Join(c.Names(), ", "))
	}
	return c.all[i], nil
}

// State returns what a file says and what is in effect; nothing for a file that does
// not exist.
func (c *Files) State(name string) State {
	f, err := c.find(name)
	if err != nil {
		return State{}
	}
	st := State{Flag: f.Flag, File: f.Path, LoadedHash: f.hash, LoadedLines: f.lines, Reloads: f.Reloads && f.hash != "", Refused: f.refused}
	if f.file != nil {
		st.FileHash = hashOf(f.file)
		if now, err := f.Read(f.file); err == nil {
			st.FileLines = now.Lines
		}
	}
	return st
}

// Write puts a configuration into one of the server's files; nil removes it.
// One that the server could not start with is refused in its words.
func (c *Files) Write(t *sim.Task, name string, file []byte) error {
	f, err := c.find(name)
	if err != nil {
		return err
	}
	if file == nil {
		if f.file != nil {
			f.file = nil
			f.tell(t, &trace.ServerConfig{What: "removed"})
		}
		return nil
	}
	read, err := f.Read(file)
	if err != nil {
		return err
	}
	f.file, f.refused = slices.Clone(file), ""
	t.SetCauses(f.tell(t, &trace.ServerConfig{What: "written", Hash: hashOf(file), Says: read.Lines}))
	f.changed.Broadcast()
	return nil
}

// Start reads the files: a part of the start of the server, whose process is p.
func (c *Files) Start(t *sim.Task, p *sim.Process) {
	for _, f := range c.all {
		was := f.hash
		if f.file == nil {
			if f.hash, f.lines = "", nil; was != "" {
				f.Without()
				f.tell(t, &trace.ServerConfig{What: "loaded"})
			}
			continue
		}
		read, err := f.Read(f.file)
		if err != nil {
			panic("configfile: " + err.Error()) // it was read when it was written
		}
		read.Use(t)
		f.refused = ""
		f.loaded(t, read)
		if f.Reloads {
			p.Go("reload/"+f.Name, f.reload)
		}
	}
}

func (f *File) loaded(t *sim.Task, c Config) {
	f.hash, f.lines = hashOf(f.file), c.Lines
	f.tell(t, &trace.ServerConfig{What: "loaded", Hash: f.hash, Says: f.lines})
}

// reload loads the file when it changes, as upstream does, which watches the file
// system (util/filesystem WatchUntil). Removing the file changes nothing, and a file
// that cannot be loaded leaves the previous configuration in effect.
func (f *File) reload(t *sim.Task) {
	seen := f.hash
	for {
		f.changed.Wait(t)
		if f.file == nil || hashOf(f.file) == seen {
			continue
		}
		seen = hashOf(f.file)
		c, err := f.take(t)
		if err != nil {
			f.refused = err.Error()
			f.tell(t, &trace.ServerConfig{What: "refused", Hash: seen, Error: err.Error()})
			continue
		}
		f.loaded(t, c)
	}
}

// take takes up what the file says now. One at which that panics is refused.
func (f *File) take(t *sim.Task) (c Config, err error) {
	if broken := t.HandleCrashOn(trace.Ref{}, "the file "+f.Path, func() {
		c, err = f.Read(f.file)
		switch {
		case err != nil:
		case c.Reuse != nil:
			err = c.Reuse(t)
		default:
			c.Use(t)
		}
	}); broken != nil {
		err = broken
	}
	return c, err
}

func (f *File) tell(t *sim.Task, p *trace.ServerConfig) trace.ID {
	p.File, p.For, p.Server = f.Path, f.Title, f.server
	return t.Emit(trace.Event{Kind: trace.ServerConfigured, Payload: p})
}

func hashOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}
