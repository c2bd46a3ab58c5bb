package scheduler_test

import (
	"strings"
	"testing"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// refuse says why a file is refused, "" if it is not.
func refuse(file string) string {
	cfg, err := configuration.Read([]byte(file))
	if err == nil {
		err = scheduler.Check(cfg)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// A wrong configuration is refused in upstream's words: those of its decoder, of its validation,
// and of its framework, which makes the plugins.
func TestRefusedConfigurations(t *testing.T) {
	for name, tt := range map[string]struct{ file, want string }{
		"no kind":           {"a: b", "Object 'Kind' is missing"},
		"another kind":      {"apiVersion: v1\nkind: Pod", `no kind "Pod" is registered for version "v1" in scheme`},
		"another version":   {"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration", `no kind "KubeSchedulerConfiguration" is registered for version "kubescheduler.config.k8s.io/v1beta3"`},
		"arguments alone":   {"apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs", "couldn't decode as KubeSchedulerConfiguration, got kubescheduler.config.k8s.io/v1, Kind=NodeAffinityArgs"},
		"unknown field":     {head + "profile: []", `strict decoding error: unknown field "profile"`},
		"no parallelism":    {head + "parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"},
		"percentage":        {head + "percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"},
		"back-offs":         {head + "podInitialBackoffSeconds: 20", "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds"},
		"no back-off":       {head + "podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"},
		"same name":         {head + "profiles: [{schedulerName: a}, {schedulerName: a}]", "profiles[1].schedulerName: Duplicate value"},
		"no name":           {head + "profiles: [{schedulerName: a}, {}]", "profiles[1].schedulerName: Required value"},
		"hard weight":       {head + "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]", "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]"},
		"default selector":  {head + "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]}}]}]", "profiles[0].pluginConfig[0].args.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they deduced for each pod"},
		"System and a list": {head + "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}}]}]", `profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty`},
		"no candidates":     {head + "profiles: [{pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]", "cannot be zero at the same time as minCandidateNodesAbsolute"},
		"strategy":          {head + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]", `initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin "NodeResourcesFit": scoringStrategy.type: Unsupported value: "Best"`},
		"no shape":          {head + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio}}}]}]", "scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio"},
		"shape":             {head + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, score: 1}, {utilization: 50, score: 11}]}}}}]}]", "values must be sorted in increasing order"},
		"balance":           {head + "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: {resources: [{name: cpu, weight: 2}]}}]}]", "profiles[0].pluginConfig[0].args.resources[0].weight: Invalid value: 2: must be 1"},
		"unknown plugin":    {head + "profiles: [{plugins: {score: {enabled: [{name: Best}]}}}]", `initializing profiles: creating profile for scheduler name default-scheduler: ScorePlugin "Best" does not exist`},
		"not that kind":     {head + "profiles: [{plugins: {score: {enabled: [{name: NodePorts}]}}}]", `plugin "NodePorts" does not extend ScorePlugin plugin`},
		"twice":             {head + "profiles: [{plugins: {filter: {enabled: [{name: NodePorts}, {name: NodePorts}]}}}]", `plugin "NodePorts" already registered as "FilterPlugin"`},
		"twice in all":      {head + "profiles: [{plugins: {multiPoint: {disabled: [{name: NodePorts}], enabled: [{name: NodePorts}, {name: NodePorts}]}}}]", `plugin "NodePorts" already registered as "PreFilterPlugin"`},
		"no order":          {head + "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]", `only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0`},
		"no binder":         {head + "profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]", `at least one bind plugin is needed for profile with scheduler name "default-scheduler"`},
		"gone since v1":     {head + "profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]", `was invalid in version "v1" (KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")`},
		"extender":          {head + "extenders: [{urlPrefix: 'http://localhost:1', filterVerb: filter}]", "extenders are not simulated"},
		"approval never":    {head + "profiles: [{plugins: {permit: {enabled: [{name: WaitForApproval}]}}, pluginConfig: [{name: WaitForApproval, args: {timeoutSeconds: 0}}]}]", `initializing plugin "WaitForApproval": timeoutSeconds: Invalid value: 0: not in valid range [1, 900]`},
		"approval's field":  {head + "profiles: [{plugins: {permit: {enabled: [{name: WaitForApproval}]}}, pluginConfig: [{name: WaitForApproval, args: {timeout: 1m}}]}]", `unknown field "timeout"`},
		"approval filters":  {head + "profiles: [{plugins: {filter: {enabled: [{name: WaitForApproval}]}}}]", `plugin "WaitForApproval" does not extend FilterPlugin plugin`},
		"too long":          {head + strings.Repeat("#", 256<<10), "at most 262144 are read"},
	} {
		if got := refuse(tt.file); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// No file makes the scheduler panic, neither when it is read nor when a pod is scheduled with it.
func FuzzConfiguration(f *testing.F) {
	for _, file := range []string{
		"", "profiles: [{schedulerName: a}, {schedulerName: default-scheduler}]", "percentageOfNodesToScore: 1",
		"profiles: [{plugins: {preFilter: {disabled: [{name: '*'}]}}}]", "profiles: [{plugins: {preScore: {disabled: [{name: '*'}]}}}]",
		"profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}}}]",
		"profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 3}, {name: nvidia.com/gpu}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 10}, {utilization: 100, score: 0}]}}}}]}]",
		"profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]}]",
		"profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Exists}]}]}}}}]}]",
		"podInitialBackoffSeconds: 9223372036854775807\npodMaxBackoffSeconds: 9223372036854775807",
		"profiles: [{plugins: {score: {enabled: [{name: NodePorts}]}}}]",
	} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file string) {
		cfg, err := configuration.Read([]byte(head + file))
		if err != nil || scheduler.Check(cfg) != nil {
			return
		}
		b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
			e := start(b, scheduler.Config{Configuration: cfg})
			e.do(task, strings.Fields("node a cpu=2 memory=4Gi labels=zone:x"))
			e.do(task, strings.Fields("node b cpu=4 memory=4Gi"))
			for _, p := range []string{"pod first cpu=1", "pod second cpu=1 memory=1Gi port=80", "pod third cpu=9"} {
				e.do(task, strings.Fields(p+" scheduler="+cfg.Profiles[0].SchedulerName))
			}
			task.Sleep(3e9)
		})
		for _, ev := range b.Events {
			if ev.Kind == trace.ProcessPanic {
				t.Fatalf("%s\n%s", file, trace.Line(ev, ""))
			}
		}
	})
}
