package apiserver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// configFile is a file on the control plane's machine that a flag of the server
// names, and that outlives its process.
type configFile struct {
	server string // in the trace
	name   string // as kviz apiserver has it: "tokens"
	flag   string
	path   string
	title  string // of what it configures

	// read checks a file that the server could start with.
	read func(file []byte) (config, error)
	// without puts in force what holds where there is no file.
	without func()
	// reloads says that the running server takes up a file that has changed, if
	// there was one when it started.
	reloads bool

	file    []byte // nil where there is none
	hash    string // of what is in force; "" where nothing is
	lines   []string
	refused string // why a running server does not take up the file
	changed sim.Cond
}

// content is what a file on the server's machine holds, nil where it is not there.
func (c *ConfigFiles) content(path string) []byte {
	for _, f := range c.all {
		if f.path == path {
			return f.file
		}
	}
	return nil
}

// paths are those of the files that are there.
func (c *ConfigFiles) paths() (paths []string) {
	for _, f := range c.all {
		if f.file != nil {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// copy takes the files of another server's machine.
func (c *ConfigFiles) copy(from *ConfigFiles) {
	for i, f := range from.all {
		c.all[i].file = slices.Clone(f.file)
	}
}

// config is what a file comes to.
type config struct {
	lines []string                // in words
	use   func(t *sim.Task)       // puts it in force
	reuse func(t *sim.Task) error // the same in a running server, which may find a reason not to; nil for use
}

// ConfigState is what is known of a configuration file.
type ConfigState struct {
	Flag, File             string
	FileHash, LoadedHash   string // "" where there is none
	FileLines, LoadedLines []string
	Reloads                bool   // the running server takes up a change by itself
	Refused                string // why it has not taken up the file; "" where it may still
}

// ConfigFiles are the files of a server, in the order in which they are read.
type ConfigFiles struct{ all []*configFile }

func newConfigFiles(s *Server) *ConfigFiles {
	all := []*configFile{
		{
			name: "admission", flag: "--admission-control-config-file", path: admission.File, title: "admission",
			read: s.admissionConfig, without: func() { s.handlers.Admission = s.newAdmission(nil) },
		},
		{
			name: "tokens", flag: "--token-auth-file", path: authn.TokenFilePath, title: "static token", without: func() { s.authenticators.Tokens.File = nil },
			read: func(file []byte) (config, error) {
				f, err := authn.ParseTokenFile(file)
				if err != nil {
					return config{}, err
				}
				return config{lines: f.Lines(), use: func(*sim.Task) { s.authenticators.Tokens.File = f }}, nil
			},
		},
		{
			name: "authentication", flag: "--authentication-config", path: oidc.File, title: "authentication",
			read: s.authenticationConfig, without: func() {
				s.issuers.Leave()
				s.useIssuers(nil)
			}, reloads: true,
		},
		{
			name: "token-webhook", flag: "--authentication-token-webhook-config-file", path: tokenWebhookFile, title: "token webhook",
			read: s.tokenWebhookConfig, without: func() { s.authenticators.Webhook = nil },
		},
		{
			name: "authorization", flag: "--authorization-config", path: authz.File, title: "authorization",
			read: s.authorizationConfig, without: func() { s.authorizers.Chain = nil }, reloads: true,
		},
	}
	for _, f := range all {
		f.server = s.whose()
	}
	return &ConfigFiles{all}
}

// Names lists the files by what kviz apiserver calls them.
func (c *ConfigFiles) Names() []string {
	var names []string
	for _, f := range c.all {
		names = append(names, f.name)
	}
	return names
}

func (c *ConfigFiles) find(name string) (*configFile, error) {
	i := slices.IndexFunc(c.all, func(f *configFile) bool { return f.name == name })
	if i < 0 {
		return nil, fmt.Errorf("the API server has no file %q: one of %s", name, strings.Join(c.Names(), ", "))
	}
	return c.all[i], nil
}

// State tells what a file says and what is in force; nothing of one that there
// is not.
func (c *ConfigFiles) State(name string) ConfigState {
	f, err := c.find(name)
	if err != nil {
		return ConfigState{}
	}
	st := ConfigState{Flag: f.flag, File: f.path, LoadedHash: f.hash, LoadedLines: f.lines, Reloads: f.reloads && f.hash != "", Refused: f.refused}
	if f.file != nil {
		st.FileHash = hashOf(f.file)
		if now, err := f.read(f.file); err == nil {
			st.FileLines = now.lines
		}
	}
	return st
}

// Write puts a configuration into one of the server's files; nil removes it.
// One that the server could not start with is refused in its words.
func (c *ConfigFiles) Write(t *sim.Task, name string, file []byte) error {
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
	read, err := f.read(file)
	if err != nil {
		return err
	}
	f.file, f.refused = slices.Clone(file), ""
	t.SetCauses(f.tell(t, &trace.ServerConfig{What: "written", Hash: hashOf(file), Says: read.lines}))
	f.changed.Broadcast()
	return nil
}

// start reads the files: a part of the server's start.
func (c *ConfigFiles) start(t *sim.Task, p *sim.Process) {
	for _, f := range c.all {
		was := f.hash
		if f.file == nil {
			if f.hash, f.lines = "", nil; was != "" {
				f.without()
				f.tell(t, &trace.ServerConfig{What: "loaded"})
			}
			continue
		}
		read, err := f.read(f.file)
		if err != nil {
			panic("apiserver: " + err.Error()) // it was read when it was written
		}
		read.use(t)
		f.refused = ""
		f.loaded(t, read)
		if f.reloads {
			p.Go("reload/"+f.name, f.reload)
		}
	}
}

func (f *configFile) loaded(t *sim.Task, c config) {
	f.hash, f.lines = hashOf(f.file), c.lines
	f.tell(t, &trace.ServerConfig{What: "loaded", Hash: f.hash, Says: f.lines})
}

// reload takes up the file when it changes, as upstream does, which is told so by
// the file system (util/filesystem WatchUntil). A file that was removed changes
// nothing, and one that is not taken up leaves in force what was.
func (f *configFile) reload(t *sim.Task) {
	seen := f.hash
	for {
		f.changed.Wait(t)
		if f.file == nil || hashOf(f.file) == seen {
			continue
		}
		seen = hashOf(f.file)
		c, err := f.read(f.file)
		switch {
		case err != nil:
		case c.reuse != nil:
			err = c.reuse(t)
		default:
			c.use(t)
		}
		if err != nil {
			f.refused = err.Error()
			f.tell(t, &trace.ServerConfig{What: "refused", Hash: seen, Error: err.Error()})
			continue
		}
		f.loaded(t, c)
	}
}

func (f *configFile) tell(t *sim.Task, p *trace.ServerConfig) trace.ID {
	p.File, p.For, p.Server = f.path, f.title, f.server
	return t.Emit(trace.Event{Kind: trace.ServerConfigured, Payload: p})
}

func hashOf(file []byte) string {
	sum := sha256.Sum256(file)
	return "sha256:" + hex.EncodeToString(sum[:])
}
