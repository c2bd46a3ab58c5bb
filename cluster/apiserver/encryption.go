package apiserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/encrypt"
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
	by     map[*Kind]*encrypt.Transformer
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
	t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "written", File: encrypt.File, Hash: cfg.Hash, Rules: cfg.Rules()}})
	return cfg.UsesKMS(), nil
}

// RemoveEncryption takes the file away: the server starts without the flag then.
func (s *Server) RemoveEncryption(t *sim.Task) {
	if s.enc.file != nil {
		s.enc.file = nil
		t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "removed", File: encrypt.File}})
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
	e.set, e.rules, e.by = set, rules, map[*Kind]*encrypt.Transformer{}
	if was != set {
		was.Stop()
	}
	if set.Hash != was.Hash || set.Hash != "" {
		t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "loaded", File: encrypt.File, Hash: set.Hash, Rules: rules, Reload: e.reload}})
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
			t.Emit(trace.Event{Kind: trace.EncryptionConfig, Payload: &trace.Encryption{What: "refused", File: encrypt.File, Error: err.Error()}})
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

// transformer is how a kind's values are encrypted.
func (s *Server) transformer(k *Kind) *encrypt.Transformer {
	x := s.enc.by[k]
	if x == nil {
		x = s.enc.set.For(k.groupResource())
		s.enc.by[k] = x
	}
	return x
}

// untransformable is a value that could not be decrypted.
type untransformable struct {
	err   error
	label string
}

func (e *untransformable) Error() string { return e.err.Error() }
func (e *untransformable) Unwrap() error { return e.err }

// opened is how a value of a kind with encryption was read.
type opened struct {
	label         string // who had encrypted it
	stored, plain int    // bytes
	stale         bool   // it would be encrypted otherwise now
}

// open is the object at a key, decrypted and decoded. how is nil for kinds
// without encryption. Only with a task can a KMS plugin be asked.
func (s *Server) open(t *sim.Task, k *Kind, kv *mvccpb.KeyValue) (en *entry, how *opened, err error) {
	x := s.transformer(k)
	if !x.Configured() && !trace.Encrypted(kv.Value) {
		en, err = decodeKV(k, kv)
		return en, nil, err
	}
	label := encrypt.Label(kv.Value)
	plain, stale, err := x.Read(t, string(kv.Key), kv.Value)
	if err != nil {
		return nil, nil, &untransformable{err, label}
	}
	obj, err := decodeStored(k, plain, kv.ModRevision)
	if err != nil {
		return nil, nil, err
	}
	return &entry{obj: obj, value: plain, revision: kv.ModRevision}, &opened{label, len(kv.Value), len(plain), stale}, nil
}

// seal encrypts what is to be written: a part of the storage stage that only
// kinds with encryption have.
func (c *call) seal(key string, value []byte) ([]byte, error) {
	x := c.s.transformer(c.kind)
	if !x.Configured() {
		return value, nil
	}
	c.t.SetCauses(c.last)
	sealed, err := x.Write(c.t, key, value)
	if err != nil {
		return nil, c.refuse(trace.StageEncrypt, "", apierrors.NewInternalError(err))
	}
	label := encrypt.Label(sealed)
	if !trace.Encrypted(sealed) {
		c.pass(trace.StageEncrypt, label, "Left the value as it is: the first provider is identity.", nil)
		return sealed, nil
	}
	c.pass(trace.StageEncrypt, label, "Encrypted "+strconv.Itoa(len(value))+" bytes to "+strconv.Itoa(len(sealed))+".", nil)
	return sealed, nil
}

// undecrypted is the answer to a request that needs a value which could not be
// decrypted; see [call.refuse].
type undecrypted struct {
	*apierrors.StatusError
	label string
}

func undecryptable(bad *untransformable, err error) error {
	return &undecrypted{apierrors.NewInternalError(err), bad.label}
}

// read is an object of the call's kind from the store; nil if there is none.
// told, if given, tells of the reading before the decryption is told.
func (c *call) read(key string, told func(*entry)) (*entry, error) {
	if c.s.transformer(c.kind).Configured() {
		c.t.SetCauses(c.last)
	}
	en, how, err := c.s.look(c.t, c.kind, key)
	var bad *untransformable
	if errors.As(err, &bad) && told != nil {
		c.pass(trace.StageStorage, "etcd", "Read "+c.kind.Prefix+key+" from the store.", nil)
	}
	if err != nil {
		return nil, c.storeError(err)
	}
	if en != nil && told != nil {
		told(en)
	}
	c.stale = how != nil && how.stale
	if how != nil {
		note := "Decrypted " + strconv.Itoa(how.stored) + " bytes to " + strconv.Itoa(how.plain)
		if how.label == "identity" {
			note = "The value is not encrypted"
		}
		if how.stale {
			note += "; what is written now would be encrypted otherwise"
		}
		c.pass(trace.StageDecrypt, how.label, note+".", nil)
	}
	return en, nil
}

// tally counts values by who had encrypted them.
type tally struct {
	by []string
	n  map[string]int
}

func (y *tally) add(how *opened) {
	if how == nil {
		return
	}
	if y.n == nil {
		y.n = map[string]int{}
	}
	if y.n[how.label] == 0 {
		y.by = append(y.by, how.label)
	}
	y.n[how.label]++
}

func (y *tally) total() (n int) {
	for _, l := range y.by {
		n += y.n[l]
	}
	return n
}

// openItem is an object of a list that comes from the store.
func (c *call) openItem(kv *mvccpb.KeyValue) (*entry, error) {
	if c.s.transformer(c.kind).Configured() {
		c.t.SetCauses(c.last)
	}
	en, how, err := c.s.open(c.t, c.kind, kv)
	if bad := (*untransformable)(nil); errors.As(err, &bad) {
		return nil, undecryptable(bad, untransformed(kv.Key, bad.err))
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	c.listed.add(how)
	return en, nil
}

// untransformed is what a list fails with (etcd3 store.go processListItem).
func untransformed(key []byte, err error) error {
	return fmt.Errorf("unable to transform key %q: %w", key, err)
}

// tellTally tells how the values of a list were read.
func (c *call) tellTally() {
	y := &c.listed
	if len(y.by) == 0 {
		return
	}
	var parts []string
	for _, l := range y.by {
		parts = append(parts, plural(y.n[l], "value", "values")+" of "+l)
	}
	c.pass(trace.StageDecrypt, strings.Join(y.by, ", "), "Read "+strings.Join(parts, ", ")+".", nil)
}

// rewrites reports whether an update that changes nothing has to be written all
// the same, because the value is encrypted otherwise than it would be now. Only
// the store knows that: the cache has no bytes (etcd3 store.go GuaranteedUpdate,
// origStateIsCurrent).
func (c *call) rewrites() (bool, error) {
	if !c.s.transformer(c.kind).Configured() {
		return false, nil
	}
	if c.cached {
		en, err := c.read(keyOf(c.kind, c.ref.Namespace, c.ref.Name), nil)
		switch {
		case err != nil:
			return false, c.refuse(trace.StageStorage, "", err)
		case en == nil:
			return false, c.overtaken(0)
		case en.revision != c.oldRev:
			return false, c.overtaken(en.revision)
		}
	}
	return c.stale, nil
}
