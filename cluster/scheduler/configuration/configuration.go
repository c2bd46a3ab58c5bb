// Package configuration reads the file that kube-scheduler is started with
// (--config): a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1. It says
// which profiles there are, which plugins each has and what their arguments are.
//
// Decoding, defaults and validation are upstream's own code
// (pkg/scheduler/apis/config), and so are the words in which a wrong file is refused.
// Simplified: extenders are refused; of what is not about scheduling, only
// clientConnection.qps and burst and leaderElection.leaderElect are followed.
//
// Start reading at [Read].
//
// Mirrors cmd/kube-scheduler/app/options/configfile.go.
package configuration

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"

	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "of a KubeSchedulerConfiguration, only what is about scheduling is followed, and of the rest clientConnection.qps and burst and leaderElection.leaderElect; one with extenders is refused",
	Seen: "kviz scheduler config, in its error",
})

const (
	// maxBytes is how long a file may be: a profile that says everything has some
	// ten thousand bytes.
	maxBytes = 256 << 10
	// maxProfiles is how many profiles it may have: each has its own plugins and its own
	// recorder of Events.
	maxProfiles = 32
)

// Default is the configuration of a scheduler that is given no file.
func Default() *config.KubeSchedulerConfiguration {
	cfg, err := Read([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"))
	if err != nil {
		panic("configuration: upstream's defaults are invalid: " + err.Error())
	}
	return cfg
}

// Read decodes a file, fills in the defaults and validates it.
func Read(file []byte) (*config.KubeSchedulerConfiguration, error) {
	if len(file) > maxBytes {
		return nil, fmt.Errorf("the file has %d bytes; at most %d are read", len(file), maxBytes)
	}
	obj, gvk, err := scheme.Codecs.UniversalDecoder().Decode(file, nil, nil)
	if err != nil {
		return nil, err
	}
	cfg, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("couldn't decode as KubeSchedulerConfiguration, got %s: ", gvk)
	}
	cfg.APIVersion = gvk.GroupVersion().String()
	if err := validation.ValidateKubeSchedulerConfiguration(cfg); err != nil {
		return nil, inOrder(err)
	}
	if len(cfg.Profiles) > maxProfiles {
		return nil, fmt.Errorf("the file has %d profiles; at most %d are served", len(cfg.Profiles), maxProfiles)
	}
	if len(cfg.Extenders) > 0 {
		return nil, errors.New("extenders are not simulated (kviz help simulated): a scheduler that is to ask one would decide differently without it")
	}
	return cfg, nil
}

// inOrder sorts errors that upstream collects from a map, so that a run that is repeated says the same.
func inOrder(err utilerrors.Aggregate) error {
	all := slices.Clone(err.Errors())
	slices.SortStableFunc(all, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return utilerrors.NewAggregate(all)
}
