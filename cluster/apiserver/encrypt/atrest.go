package encrypt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kms/pkg/service"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// AtRest is encryption at rest as one server has it: the file, the flag, and what is in
// effect (apiserver pkg/server/options/etcd.go maybeApplyResourceTransformers). The
// file and the flag outlive the server's process.
type AtRest struct {
	server string // in the trace
	dial   func(path string, timeout time.Duration) service.Service

	file    []byte // what File holds; nil where there is none
	wanted  bool   // --encryption-provider-config-automatic-reload, as of the next start
	reload  bool   // the same of the running process
	process *sim.Process
	rand    *rand.Rand
	set     *Set // in force
	rules   []trace.EncryptionRule
	by      map[schema.GroupResource]*Transformer
}

// NewAtRest begins without a file. server is what the trace calls the server; dial leads
// to the KMS plugin, nil where there is none.
func NewAtRest(server string, rand *rand.Rand, dial func(path string, timeout time.Duration) service.Service) *AtRest {
	return &AtRest{server: server, dial: dial, rand: rand, set: None()}
}

// Copy takes the file and the flag of another server's machine.
func (e *AtRest) Copy(from *AtRest) { e.file, e.wanted = slices.Clone(from.file), from.wanted }

// Place puts a file where it is, unread, before the server starts.
func (e *AtRest) Place(file []byte) { e.file = file }

// Content is what the file holds; nil where there is none.
func (e *AtRest) Content() []byte { return e.file }

// plain is in effect for everything that is not configured.
var plain = &Transformer{}

// Transformer is how a resource's values are encrypted.
func (e *AtRest) Transformer(gr schema.GroupResource) *Transformer {
	if e.set.rules == nil {
		return plain
	}
	x := e.by[gr]
	if x == nil {
		x = e.set.For(gr)
		e.by[gr] = x
	}
	return x
}

// reloadEvery is how often the file is looked at where it is reloaded by itself
// (encryptionconfig/controller EncryptionConfigFileChangePollDuration).
const reloadEvery = time.Minute

// State is what is known of encryption at rest.
type State struct {
	FileHash    string // "" where there is no file
	FileRules   []trace.EncryptionRule
	LoadedHash  string // "" where nothing is in force
	LoadedRules []trace.EncryptionRule
	Reload      bool // the running server looks at the file every minute
	Wanted      bool // the next one will
	KMS         []PluginState
}

// PluginState is a KMS provider as the API server sees it.
type PluginState struct {
	Name, KeyID string
	Err         error // of the last check; nil is well
}

// State returns what the file says and what is in effect.
func (e *AtRest) State() State {
	st := State{LoadedHash: e.set.Hash, LoadedRules: e.rules, Reload: e.reload, Wanted: e.wanted}
	if e.file != nil {
		if cfg, err := Parse(e.file, e.wanted); err == nil {
			st.FileHash, st.FileRules = cfg.Hash, cfg.Rules()
		}
	}
	for _, p := range e.set.Probes() {
		st.KMS = append(st.KMS, PluginState{p.Name, p.KeyID(), p.Err()})
	}
	return st
}

// Write puts a configuration into the server's file, which it reads
// when it starts, or within a minute where it reloads. A file that the server
// could not start with is refused in its words. It reports whether a KMS plugin
// is asked.
func (e *AtRest) Write(t *sim.Task, file []byte) (kms bool, err error) {
	cfg, err := Parse(file, e.wanted)
	if err != nil {
		return false, err
	}
	if cfg.UsesKMS() && e.dial == nil {
		return false, errors.New("there is no KMS plugin beside this API server")
	}
	if _, err := cfg.Build(e.env()); err != nil {
		return false, err
	}
	e.file = slices.Clone(file)
	t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "written", File: File, Server: e.server, Hash: cfg.Hash, Rules: cfg.Rules()}})
	return cfg.UsesKMS(), nil
}

// Remove takes the file away: the server starts without the flag then.
func (e *AtRest) Remove(t *sim.Task) {
	if e.file != nil {
		e.file = nil
		t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "removed", File: File, Server: e.server}})
	}
}

// Reload sets --encryption-provider-config-automatic-reload, from the
// next start on.
func (e *AtRest) Reload(on bool) { e.wanted = on }

func (e *AtRest) env() Env { return Env{Rand: e.rand, Dial: e.dial} }

// Start reads the file: a part of the server's start, before it reads anything from the
// store. Nonces and data keys are drawn
// from rand from now on; nil: from what they were drawn from before.
func (e *AtRest) Start(t *sim.Task, p *sim.Process, rand *rand.Rand) {
	if e.process = p; rand != nil {
		e.rand = rand
	}
	e.set.Stop()
	e.reload = e.wanted && e.file != nil
	set, rules := None(), []trace.EncryptionRule(nil)
	if e.file != nil {
		cfg, err := Parse(e.file, e.reload)
		if err == nil {
			set, err = cfg.Build(e.env())
		}
		if err != nil {
			panic("apiserver: " + err.Error()) // it was read when it was written
		}
		rules = cfg.Rules()
		e.askPlugins(t, set)
	}
	e.use(t, set, rules)
	if e.reload {
		p.Go("encryption-config-reload", e.reloads)
	}
}

// askPlugins makes the first check of each KMS plugin, which may be down: it is
// asked again then (primeAndProbeKMSv2).
func (e *AtRest) askPlugins(t *sim.Task, set *Set) {
	for _, p := range set.Probes() {
		_ = p.Check(t) // the probe keeps it
		e.process.Go("kms-probe/"+p.Name, p.Run)
	}
}

func (e *AtRest) use(t *sim.Task, set *Set, rules []trace.EncryptionRule) {
	was := e.set
	e.set, e.rules, e.by = set, rules, map[schema.GroupResource]*Transformer{}
	if was != set {
		was.Stop()
	}
	if set.Hash != was.Hash || set.Hash != "" {
		t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "loaded", File: File, Server: e.server, Hash: set.Hash, Rules: rules, Reload: e.reload}})
	}
}

// reloads checks the file every minute and loads changes once its KMS plugins are
// healthy; until then the previous configuration stays in effect
// (encryptionconfig/controller/controller.go).
func (e *AtRest) reloads(t *sim.Task) {
	for {
		t.Sleep(reloadEvery)
		if e.file == nil {
			continue // a file that cannot be read changes nothing
		}
		cfg, err := Parse(e.file, true)
		if err == nil && cfg.Hash == e.set.Hash {
			continue
		}
		var set *Set
		if err == nil {
			set, err = cfg.Build(e.env())
		}
		if err == nil {
			err = e.awaitPlugins(t, set)
		}
		if err != nil {
			t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "refused", File: File, Server: e.server, Error: err.Error()}})
			continue
		}
		e.use(t, set, cfg.Rules())
	}
}

// awaitPlugins waits until every KMS plugin of a set is well.
func (e *AtRest) awaitPlugins(t *sim.Task, set *Set) error {
	e.askPlugins(t, set)
	deadline := t.Elapsed() + set.HealthTimeout()
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
		t.Sleep(healthPoll)
	}
}

// healthPoll is how often a new set's providers are looked at (controller.go
// validateNewTransformersHealth).
const healthPoll = 100 * time.Millisecond

// PluginHealth is what the check kms-providers of /healthz and /readyz says; there
// is one where KMS providers are configured or the file is reloaded.
func (e *AtRest) PluginHealth() (exists, well bool) {
	probes := e.set.Probes()
	well = !slices.ContainsFunc(probes, func(p *Probe) bool { return p.Err() != nil })
	return len(probes) > 0 || e.reload, well
}
