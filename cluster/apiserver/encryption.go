package apiserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// encryption is encryption at rest as one server has it
// (apiserver pkg/server/options/etcd.go maybeApplyResourceTransformers).
type encryption struct {
	file   []byte // what encrypt.File holds; nil where there is none
	wanted bool   // --encryption-provider-config-automatic-reload, as of the next start
	reload bool   // the same of the running process
	rand   *rand.Rand
	set    *encrypt.Set // in force
	rules  []trace.EncryptionRule
	by     map[*registry.Kind]*encrypt.Transformer
}

// reloadEvery is how often the file is looked at where it is reloaded by itself
// (encryptionconfig/controller EncryptionConfigFileChangePollDuration).
const reloadEvery = time.Minute

// EncryptionState is what is known of encryption at rest.
type EncryptionState struct {
	FileHash    string // "" where there is no file
	FileRules   []trace.EncryptionRule
	LoadedHash  string // "" where nothing is in force
	LoadedRules []trace.EncryptionRule
	Reload      bool // the running server looks at the file every minute
	Wanted      bool // the next one will
	KMS         []KMSState
}

// KMSState is a KMS provider as the API server sees it.
type KMSState struct {
	Name, KeyID string
	Err         error // of the last check; nil is well
}

// Encryption tells what the file says and what is in force.
func (s *Server) Encryption() EncryptionState {
	e := &s.enc
	st := EncryptionState{LoadedHash: e.set.Hash, LoadedRules: e.rules, Reload: e.reload, Wanted: e.wanted}
	if e.file != nil {
		if cfg, err := encrypt.Parse(e.file, e.wanted); err == nil {
			st.FileHash, st.FileRules = cfg.Hash, cfg.Rules()
		}
	}
	for _, p := range e.set.Probes() {
		st.KMS = append(st.KMS, KMSState{p.Name, p.KeyID(), p.Err()})
	}
	return st
}

// WriteEncryption puts a configuration into the server's file, which it reads
// when it starts, or within a minute where it reloads. A file that the server
// could not start with is refused in its words. It reports whether a KMS plugin
// is asked.
func (s *Server) WriteEncryption(t *sim.Task, file []byte) (kms bool, err error) {
	cfg, err := encrypt.Parse(file, s.enc.wanted)
	if err != nil {
		return false, err
	}
	if cfg.UsesKMS() && s.cfg.KMS == nil {
		return false, errors.New("there is no KMS plugin beside this API server")
	}
	if _, err := cfg.Build(s.encryptEnv()); err != nil {
		return false, err
	}
	s.enc.file = slices.Clone(file)
	t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "written", File: encrypt.File, Server: s.whose(), Hash: cfg.Hash, Rules: cfg.Rules()}})
	return cfg.UsesKMS(), nil
}

// RemoveEncryption takes the file away: the server starts without the flag then.
func (s *Server) RemoveEncryption(t *sim.Task) {
	if s.enc.file != nil {
		s.enc.file = nil
		t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "removed", File: encrypt.File, Server: s.whose()}})
	}
}

// ReloadEncryption sets --encryption-provider-config-automatic-reload, from the
// next start on.
func (s *Server) ReloadEncryption(on bool) { s.enc.wanted = on }

func (s *Server) encryptEnv() encrypt.Env { return encrypt.Env{Rand: s.enc.rand, Dial: s.cfg.KMS} }

// startEncryption reads the file: a part of the server's start, before it reads
// anything from the store.
func (s *Server) startEncryption(t *sim.Task) {
	e := &s.enc
	e.set.Stop()
	e.reload = e.wanted && e.file != nil
	set, rules := encrypt.None(), []trace.EncryptionRule(nil)
	if e.file != nil {
		cfg, err := encrypt.Parse(e.file, e.reload)
		if err == nil {
			set, err = cfg.Build(s.encryptEnv())
		}
		if err != nil {
			panic("apiserver: " + err.Error()) // it was read when it was written
		}
		rules = cfg.Rules()
		s.askPlugins(t, set)
	}
	s.useEncryption(t, set, rules)
	if e.reload {
		s.p.Go("encryption-config-reload", s.reloadEncryption)
	}
}

// askPlugins makes the first check of each KMS plugin, which may be down: it is
// asked again then (primeAndProbeKMSv2).
func (s *Server) askPlugins(t *sim.Task, set *encrypt.Set) {
	for _, p := range set.Probes() {
		_ = p.Check(t) // the probe keeps it
		s.p.Go("kms-probe/"+p.Name, p.Run)
	}
}

func (s *Server) useEncryption(t *sim.Task, set *encrypt.Set, rules []trace.EncryptionRule) {
	e := &s.enc
	was := e.set
	e.set, e.rules, e.by = set, rules, map[*registry.Kind]*encrypt.Transformer{}
	if was != set {
		was.Stop()
	}
	if set.Hash != was.Hash || set.Hash != "" {
		t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "loaded", File: encrypt.File, Server: s.whose(), Hash: set.Hash, Rules: rules, Reload: e.reload}})
	}
}

// reloadEncryption looks at the file every minute and takes up what has changed,
// once its KMS plugins are well; until then what was in force stays
// (encryptionconfig/controller/controller.go).
func (s *Server) reloadEncryption(t *sim.Task) {
	for {
		t.Sleep(reloadEvery)
		if s.enc.file == nil {
			continue // a file that cannot be read changes nothing
		}
		cfg, err := encrypt.Parse(s.enc.file, true)
		if err == nil && cfg.Hash == s.enc.set.Hash {
			continue
		}
		var set *encrypt.Set
		if err == nil {
			set, err = cfg.Build(s.encryptEnv())
		}
		if err == nil {
			err = s.awaitPlugins(t, set)
		}
		if err != nil {
			t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "refused", File: encrypt.File, Server: s.whose(), Error: err.Error()}})
			continue
		}
		s.useEncryption(t, set, cfg.Rules())
	}
}

// awaitPlugins waits until every KMS plugin of a set is well.
func (s *Server) awaitPlugins(t *sim.Task, set *encrypt.Set) error {
	s.askPlugins(t, set)
	deadline := t.Elapsed() + set.Patience()
	for {
		var ill error
		for _, p := range set.Probes() {
			if p.Err() != nil {
				ill = p.Check(t)
			}
		}
		if ill == nil {
			return nil
		}
		if t.Elapsed() >= deadline {
			set.Stop()
			return fmt.Errorf("health check for new transformers failed, polling error context deadline exceeded: %w", ill)
		}
		t.Sleep(100 * time.Millisecond)
	}
}

// PluginHealth is what the check kms-providers of /healthz and /readyz says; there
// is one where KMS providers are configured or the file is reloaded.
func (s *Server) PluginHealth() (exists, well bool) {
	probes := s.enc.set.Probes()
	well = !slices.ContainsFunc(probes, func(p *encrypt.Probe) bool { return p.Err() != nil })
	return len(probes) > 0 || s.enc.reload, well
}
