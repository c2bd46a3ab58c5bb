package descheduler

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// policy is a DeschedulerPolicy (pkg/api/v1alpha2/types.go).
type policy struct {
	metav1.TypeMeta                  `json:",inline"`
	Profiles                         []policyProfile `json:"profiles,omitempty"`
	NodeSelector                     *string         `json:"nodeSelector,omitempty"`
	MaxNoOfPodsToEvictPerNode        *uint           `json:"maxNoOfPodsToEvictPerNode,omitempty"`
	MaxNoOfPodsToEvictPerNamespace   *uint           `json:"maxNoOfPodsToEvictPerNamespace,omitempty"`
	MaxNoOfPodsToEvictTotal          *uint           `json:"maxNoOfPodsToEvictTotal,omitempty"`
	EvictionFailureEventNotification *bool           `json:"evictionFailureEventNotification,omitempty"`
	MetricsCollector                 *metrics        `json:"metricsCollector,omitempty"`
	MetricsProviders                 []any           `json:"metricsProviders,omitempty"`
	GracePeriodSeconds               *int64          `json:"gracePeriodSeconds,omitempty"`
}

type metrics struct {
	Enabled bool `json:"enabled,omitempty"`
}

// DeepCopyObject implements [apiruntime.Object]; a policy is not changed.
func (p *policy) DeepCopyObject() apiruntime.Object { return p }

type policyProfile struct {
	Name         string         `json:"name"`
	PluginConfig []pluginConfig `json:"pluginConfig"`
	Plugins      struct {
		PreSort           pluginSet `json:"presort"`
		Sort              pluginSet `json:"sort"`
		Deschedule        pluginSet `json:"deschedule"`
		Balance           pluginSet `json:"balance"`
		Filter            pluginSet `json:"filter"`
		PreEvictionFilter pluginSet `json:"preevictionfilter"`
	} `json:"plugins"`
}

type pluginConfig struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type pluginSet struct {
	Enabled  []string `json:"enabled"`
	Disabled []string `json:"disabled"`
}

// namespaces are those that a plugin is about.
type namespaces struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

func (n *namespaces) check() error {
	if n != nil && len(n.Include) > 0 && len(n.Exclude) > 0 {
		return errors.New("only one of Include/Exclude namespaces can be set")
	}
	return nil
}

func checkSelector(s *metav1.LabelSelector) error {
	if s == nil {
		return nil
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return fmt.Errorf("failed to get label selectors from strategy's params: %+v", err)
	}
	return nil
}

// profile is one that can be run.
type profile struct {
	name                string
	evictor             *evictorArgs
	deschedule, balance []step
}

// plugin is one of those that are here: its arguments' validation, and what it does.
type plugin struct {
	balance bool // else it deschedules
	make    func(args []byte) (run func(*turn, []*corev1.Node), err error)
}

// elsewhere are upstream's plugins that are not here.
var elsewhere = []string{"HighNodeUtilization", "PodLifeTime", "RemoveFailedPods", "RemovePodsViolatingNodeAffinity"}

const defaultEvictor = "DefaultEvictor"

// maxPolicy is how long a policy may be: one that says everything has some thousand bytes.
const maxPolicy = 256 << 10

var (
	group   = schema.GroupVersion{Group: "descheduler", Version: "v1alpha2"}
	decoder = func() apiruntime.Decoder {
		s := apiruntime.NewScheme()
		s.AddKnownTypeWithName(group.WithKind("DeschedulerPolicy"), &policy{})
		return serializer.NewCodecFactory(s).UniversalDeserializer()
	}()
)

// configure reads the policy and makes its profiles.
//
// Mirrors pkg/descheduler/policyconfig.go LoadPolicyConfig.
func (d *descheduler) configure(t *sim.Task, o options) error {
	if o.policy == "" {
		d.info(1, "policyconfig.go:41", "Policy config file not specified")
		return errors.New("deschedulerPolicy is nil")
	}
	file, err := d.in.Read(o.policy)
	if err != nil {
		return fmt.Errorf("failed to read policy config file %q: %+v", o.policy, err)
	}
	if d.policy, d.profiles, err = read(o.policy, file); err != nil {
		return err
	}
	d.selector = labels.Everything()
	if s := d.policy.NodeSelector; s != nil {
		if d.selector, err = labels.Parse(*s); err != nil {
			return err
		}
	}
	for _, p := range d.profiles {
		if err := p.evictor.resolve(func(class string) (int32, error) {
			c, err := client.Get[*schedulingv1.PriorityClass](t, d.api, client.PriorityClasses, "", class)
			if err != nil {
				return 0, err
			}
			return c.Value, nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// read decodes a policy and makes its profiles.
func read(name string, file []byte) (*policy, []*profile, error) {
	if len(file) > maxPolicy {
		return nil, nil, fmt.Errorf("failed to read policy config file %q: it has %d bytes; at most %d are read", name, len(file), maxPolicy)
	}
	p := &policy{}
	obj, _, err := decoder.Decode(file, nil, p)
	if err != nil {
		return nil, nil, fmt.Errorf("failed decoding descheduler's policy config %q: %v", name, err)
	}
	p = obj.(*policy)
	if p.MetricsCollector != nil && p.MetricsCollector.Enabled || len(p.MetricsProviders) > 0 {
		return nil, nil, errors.New("metrics are not simulated for the descheduler: nodes are compared by what their pods request")
	}
	var profiles []*profile
	var wrong []error
	for i := range p.Profiles {
		made, errs := p.Profiles[i].made(name)
		profiles = append(profiles, made)
		wrong = append(wrong, errs...)
	}
	if len(wrong) > 0 {
		return nil, nil, utilerrors.NewAggregate(wrong)
	}
	for i := range p.Profiles {
		if err := p.Profiles[i].place(profiles[i]); err != nil {
			return nil, nil, fmt.Errorf("failed to create new descheduler: %w", err)
		}
	}
	return p, profiles, nil
}

// made checks the plugins' arguments (validateDeschedulerConfiguration).
func (from *policyProfile) made(file string) (*profile, []error) {
	p := &profile{name: from.Name, evictor: &evictorArgs{}}
	var wrong []error
	say := func(err error) { wrong = append(wrong, fmt.Errorf("in profile %s: %s", from.Name, err)) }
	for _, cfg := range from.PluginConfig {
		switch known, ok := plugins[cfg.Name]; {
		case cfg.Name == defaultEvictor:
			p.evictor = &evictorArgs{}
			if err := strict(cfg.Args, p.evictor); err != nil {
				return p, []error{fmt.Errorf("failed decoding descheduler's policy config %q: %v", file, err)}
			}
			if err := p.evictor.check(); err != nil {
				say(err)
			}
		case ok:
			_, err := known.make(cfg.Args)
			if errors.As(err, &undecoded{}) {
				return p, []error{fmt.Errorf("failed decoding descheduler's policy config %q: %v", file, err)}
			}
			if err != nil {
				say(err)
			}
		case slices.Contains(elsewhere, cfg.Name):
			say(absent(cfg.Name))
		default:
			wrong = append(wrong, fmt.Errorf("in profile %s: plugin %s in pluginConfig not registered", from.Name, cfg.Name))
		}
	}
	return p, wrong
}

// absent refuses a plugin of upstream's.
func absent(plugin string) error {
	var here []string
	for name := range plugins {
		here = append(here, name)
	}
	slices.Sort(here)
	return fmt.Errorf("the plugin %s is not simulated; these are: %s, %s", plugin, defaultEvictor, strings.Join(here, ", "))
}

// place makes the plugins and puts them where the profile wants them.
//
// Mirrors pkg/framework/profile/profile.go NewProfile.
func (from *policyProfile) place(p *profile) error {
	for _, at := range []struct {
		point   string
		enabled []string
		steps   *[]step
		fits    func(name string, known bool) bool
	}{
		{"deschedule", from.Plugins.Deschedule.Enabled, &p.deschedule, func(name string, known bool) bool { return known && !plugins[name].balance }},
		{"balance", from.Plugins.Balance.Enabled, &p.balance, func(name string, known bool) bool { return known && plugins[name].balance }},
		{"filter", from.Plugins.Filter.Enabled, nil, func(name string, _ bool) bool { return name == defaultEvictor }},
		{"preEvictionFilter", from.Plugins.PreEvictionFilter.Enabled, nil, func(name string, _ bool) bool { return name == defaultEvictor }},
	} {
		for _, name := range at.enabled {
			known, ok := plugins[name]
			if slices.Contains(elsewhere, name) {
				return fmt.Errorf("in profile %s: %w", from.Name, absent(name))
			}
			if !at.fits(name, ok) {
				return fmt.Errorf("profile %q configures %s extension point of non-existing plugins: map[%s:{}]", from.Name, at.point, name)
			}
			if at.steps == nil {
				continue
			}
			i := slices.IndexFunc(from.PluginConfig, func(c pluginConfig) bool { return c.Name == name })
			if i < 0 {
				return fmt.Errorf("unable to build %v plugin: unable to find %q plugin config", name, name)
			}
			run, err := known.make(from.PluginConfig[i].Args)
			if err != nil {
				return err
			}
			*at.steps = append(*at.steps, step{name, run})
		}
	}
	return nil
}

// strict decodes a plugin's arguments; a field that does not exist is an error.
func strict(args []byte, into any) error {
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		err = fmt.Errorf("strict decoding error: unknown field %s", field)
	}
	return undecoded{err}
}

// undecoded is an error of decoding.
type undecoded struct{ error }
