package apiserver

import (
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

var admissionCodecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiserverapi.AddToScheme(scheme))
	utilruntime.Must(apiserverv1.AddToScheme(scheme))
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict)
}()

// parseAdmission reads a file's content. Errors are in upstream's words where it has
// any.
func parseAdmission(file []byte) (plugins []*pluginConfig, err error) {
	obj, err := runtime.Decode(admissionCodecs.UniversalDecoder(), file)
	if err != nil {
		return nil, fmt.Errorf("failed to read plugin config: %w", err)
	}
	cfg, ok := obj.(*apiserverapi.AdmissionConfiguration)
	if !ok {
		return nil, fmt.Errorf("failed to read plugin config: unexpected type: %T", obj)
	}
	for _, p := range cfg.Plugins {
		if slices.ContainsFunc(plugins, func(o *pluginConfig) bool { return o.name == p.Name }) {
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
		plugins = append(plugins, one)
	}
	return plugins, nil
}

// admissionConfig is what the file comes to: a line a plugin, and what each is made of
// it.
func (s *Server) admissionConfig(file []byte) (config, error) {
	plugins, err := parseAdmission(file)
	if err != nil {
		return config{}, err
	}
	lines := make([]string, len(plugins))
	for i, p := range plugins {
		lines[i] = join2(p.name, ": ", p.says)
	}
	return config{lines: lines, use: func(*sim.Task) {
		s.plugins = map[string]any{}
		for _, p := range plugins {
			s.plugins[p.name] = p.make(s)
		}
	}}, nil
}

// configured is what the configuration in force made for a plugin, or the zero
// value: then the plugin is as it is by default.
func configured[T any](s *Server, plugin string) T {
	v, _ := s.plugins[plugin].(T)
	return v
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
