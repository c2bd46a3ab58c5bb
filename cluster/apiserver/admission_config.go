package apiserver

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	psaload "k8s.io/pod-security-admission/admission/api/load"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The AdmissionConfiguration: one file that configures admission plugins
// (apiserver pkg/admission/config.go ReadAdmissionConfiguration). The server reads
// it when it starts. A plugin that is off by default is on where the file names it;
// upstream wants --enable-admission-plugins besides.

// AdmissionFile is where the API server has the configuration of its admission
// plugins: kube-apiserver --admission-control-config-file.
const AdmissionFile = "/etc/kubernetes/admission.yaml"

// pluginConfig is a plugin's configuration that was read and found valid.
type pluginConfig struct {
	name string
	says string              // in short
	make func(s *Server) any // what a server that starts keeps of it, see Server.configured
}

// configurable are the plugins that can be configured by the file, and what reads
// the configuration of each; raw is JSON, or nil where the file only names the
// plugin.
var configurable = map[string]func(raw []byte) (*pluginConfig, error){
	"EventRateLimit":     readEventRateLimit,
	"ImagePolicyWebhook": readImagePolicy,
	"PodSecurity":        readPodSecurity,
}

// admissionConfig is an AdmissionConfiguration.
type admissionConfig struct {
	hash    string // of the file: "sha256:…"
	plugins []*pluginConfig
}

var admissionCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiserverapi.AddToScheme(scheme))
	utilruntime.Must(apiserverv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// parseAdmission reads a file's content. Errors are in upstream's words where it has
// any.
func parseAdmission(file []byte) (*admissionConfig, error) {
	obj, err := runtime.Decode(admissionCodecs.UniversalDecoder(), file)
	if err != nil {
		return nil, fmt.Errorf("failed to read plugin config: %w", err)
	}
	cfg, ok := obj.(*apiserverapi.AdmissionConfiguration)
	if !ok {
		return nil, fmt.Errorf("failed to read plugin config: unexpected type: %T", obj)
	}
	out := &admissionConfig{hash: fmt.Sprintf("sha256:%x", sha256.Sum256(file))}
	for _, p := range cfg.Plugins {
		if slices.ContainsFunc(out.plugins, func(o *pluginConfig) bool { return o.name == p.Name }) {
			continue // the first is the one that counts
		}
		read := configurable[p.Name]
		if read == nil {
			return nil, fmt.Errorf("no admission plugin %q takes a configuration here; %s do", p.Name, strings.Join(sortedKeys(configurable), ", "))
		}
		var raw []byte
		switch {
		case p.Configuration != nil:
			raw = p.Configuration.Raw
		case p.Path != "":
			return nil, fmt.Errorf("couldn't init admission plugin %q: there is no file %s on the API server's machine; write what it holds under configuration", p.Name, p.Path)
		}
		one, err := read(raw)
		if err != nil {
			return nil, fmt.Errorf("couldn't init admission plugin %q: %w", p.Name, err)
		}
		one.name = p.Name
		out.plugins = append(out.plugins, one)
	}
	return out, nil
}

// says is the configuration in short, a line a plugin.
func (cfg *admissionConfig) says() []string {
	out := make([]string, len(cfg.plugins))
	for i, p := range cfg.plugins {
		out[i] = join2(p.name, ": ", p.says)
	}
	return out
}

// admissionSettings are the file, which outlives the process, and what is in force.
type admissionSettings struct {
	file   []byte // nil where there is none
	loaded *admissionConfig
	made   map[string]any
}

// configured is what the configuration in force made for a plugin, or the zero
// value: then the plugin is as it is by default.
func configured[T any](s *Server, plugin string) T {
	v, _ := s.admission.made[plugin].(T)
	return v
}

// AdmissionState is what is known of the plugins' configuration.
type AdmissionState struct {
	FileHash, LoadedHash string // "" where there is none
	FileSays, LoadedSays []string
}

// Admission tells what the file says and what is in force.
func (s *Server) Admission() AdmissionState {
	var st AdmissionState
	if s.admission.file != nil {
		if cfg, err := parseAdmission(s.admission.file); err == nil {
			st.FileHash, st.FileSays = cfg.hash, cfg.says()
		}
	}
	if cfg := s.admission.loaded; cfg != nil {
		st.LoadedHash, st.LoadedSays = cfg.hash, cfg.says()
	}
	return st
}

// WriteAdmission puts a configuration into the server's file, which it reads when it
// starts. One that the server could not start with is refused in its words.
func (s *Server) WriteAdmission(t *sim.Task, file []byte) error {
	cfg, err := parseAdmission(file)
	if err != nil {
		return err
	}
	s.admission.file = slices.Clone(file)
	tellAdmission(t, "written", cfg)
	return nil
}

// RemoveAdmission takes the file away: the server starts without the flag then.
func (s *Server) RemoveAdmission(t *sim.Task) {
	if s.admission.file != nil {
		s.admission.file = nil
		tellAdmission(t, "removed", nil)
	}
}

// startAdmission reads the file: a part of the server's start.
func (s *Server) startAdmission(t *sim.Task) {
	a := &s.admission
	if a.file == nil && a.loaded == nil {
		return
	}
	a.loaded, a.made = nil, map[string]any{}
	if a.file != nil {
		cfg, err := parseAdmission(a.file)
		if err != nil {
			panic("apiserver: " + err.Error()) // it was read when it was written
		}
		a.loaded = cfg
		for _, p := range cfg.plugins {
			a.made[p.name] = p.make(s)
		}
	}
	tellAdmission(t, "loaded", a.loaded)
}

func tellAdmission(t *sim.Task, what string, cfg *admissionConfig) {
	p := &trace.ServerConfig{What: what, File: AdmissionFile, For: "admission"}
	if cfg != nil {
		p.Hash, p.Says = cfg.hash, cfg.says()
	}
	t.Emit(trace.Event{Kind: trace.ServerConfigured, Payload: p})
}

// readPodSecurity reads a PodSecurityConfiguration: what holds for namespaces
// without labels, and what is exempt.
func readPodSecurity(raw []byte) (*pluginConfig, error) {
	cfg, err := psaload.LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	made, err := newPodSecurity(cfg)
	if err != nil {
		return nil, err
	}
	d := &cfg.Defaults
	says := fmt.Sprintf("enforce %s, audit %s, warn %s", d.Enforce, d.Audit, d.Warn)
	for _, e := range []struct {
		what string
		list []string
	}{{"users", cfg.Exemptions.Usernames}, {"namespaces", cfg.Exemptions.Namespaces}, {"runtime classes", cfg.Exemptions.RuntimeClasses}} {
		if len(e.list) > 0 {
			says += "; exempt " + e.what + " " + strings.Join(e.list, ", ")
		}
	}
	return &pluginConfig{says: says, make: func(*Server) any { return made }}, nil
}
