package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

func init() {
	say(trace.PodWorker, func(e *trace.Event, p *trace.PodSync) string {
		what := "starts to bring up"
		switch p.Work {
		case "terminating":
			what = "starts to end"
		case "terminated":
			what = "has cleaned up after"
		case "sync":
			what = "brings into line"
		}
		return fmt.Sprintf("the kubelet on %s %s %s%s", p.Node, what, p.Pod, tail(": ", orElse(p.Note, p.Reason)))
	})
	say(trace.PodAdmit, func(e *trace.Event, p *trace.PodSync) string {
		if p.Work == "refused" {
			return fmt.Sprintf("the kubelet on %s refuses %s: %s", p.Node, p.Pod, both(p.Reason, p.Note))
		}
		return fmt.Sprintf("the kubelet on %s accepts %s%s", p.Node, p.Pod, tail(": ", p.Note))
	})
	say(trace.VolumesMounted, func(e *trace.Event, p *trace.PodStep) string {
		then := ""
		switch p.What {
		case "", "volumes mounted":
			then = "; now its containers may be created"
		case "volume updated":
			then = "; its containers read the new files, but for those with a subPath"
		}
		return fmt.Sprintf("%s on %s: %s%s%s", p.Pod, p.Node, orElse(p.What, "volumes mounted"), tail(" ", brackets(p.Detail)), then)
	})
	say(trace.RestartBackoff, func(e *trace.Event, p *trace.PodStep) string {
		return fmt.Sprintf("%s on %s: %s, next try in %s%s", podContainer(p.Pod, p.Container), p.Node, p.What, took(p.For), tail(": ", p.Detail))
	})
	say(trace.CRICall, explainCRI)
	say(trace.CNICall, func(e *trace.Event, p *trace.RuntimeCall) string {
		if p.Error != "" {
			return fmt.Sprintf("the network plugin on %s failed to %s %s: %s", p.Node, p.Call, p.Pod, p.Error)
		}
		if p.Call == "DEL" {
			return fmt.Sprintf("the network plugin on %s took the address of %s back%s", p.Node, p.Pod, tail(": ", p.Result))
		}
		return fmt.Sprintf("the network plugin on %s gave %s the address %s", p.Node, p.Pod, p.Result)
	})
	say(trace.ContainerChange, func(e *trace.Event, p *trace.ContainerState) string {
		what := fmt.Sprintf("container %s of %s on %s", p.Container, p.Pod, p.Node)
		if p.Init {
			what = "init " + what
		}
		switch p.State {
		case "running":
			if p.Restarts > 0 {
				return fmt.Sprintf("%s runs again (restart %d)", what, p.Restarts)
			}
			return what + " runs"
		case "terminated":
			return fmt.Sprintf("%s ended with exit code %d%s", what, p.ExitCode, tail(": ", p.Reason))
		}
		return fmt.Sprintf("%s waits%s", what, tail(": ", p.Reason))
	})
	say(trace.ProbeResult, func(e *trace.Event, p *trace.Probe) string {
		what := fmt.Sprintf("%s probe of %s", p.Probe, podContainer(p.Pod, p.Container))
		if p.OK {
			return what + " succeeds" + consequence(p)
		}
		return fmt.Sprintf("%s fails (%d of %d)%s%s", what, p.Failures, p.Threshold, tail(": ", p.Output), consequence(p))
	})
	say(trace.NodeStatus, func(e *trace.Event, p *trace.NodeReport) string {
		s := fmt.Sprintf("%s says that %s is %s", p.By, p.Node, ready(p.Ready))
		if len(p.Taints) > 0 {
			s += ", taints " + strings.Join(p.Taints, ", ")
		}
		return s + tail(": ", p.Note)
	})
	say(trace.ProxySync, func(e *trace.Event, p *trace.ProxySyncInfo) string {
		if p.Added == 0 && p.Removed == 0 {
			return fmt.Sprintf("kube-proxy on %s checked its rules: nothing to change (%s, %s)", p.Node, count(p.Services, "Service"), count(p.Endpoints, "endpoint"))
		}
		full := ""
		if p.Full {
			full = ", every chain written again"
		}
		return fmt.Sprintf("kube-proxy on %s brought its rules in line: %d added, %d removed (%s, %s%s)", p.Node, p.Added, p.Removed,
			count(p.Services, "Service"), count(p.Endpoints, "endpoint"), full)
	})
	say(trace.RuleChange, func(e *trace.Event, p *trace.Rule) string {
		verb := "new rule"
		if p.Removed {
			verb = "rule removed"
		}
		return fmt.Sprintf("%s on %s, table %s%s: %s", verb, p.Node, p.Table, tail(", for ", p.Service), p.Text)
	})
	say(trace.PacketHop, func(e *trace.Event, p *trace.Hop) string {
		return fmt.Sprintf("packet %s → %s on %s meets %s: %s%s", p.Src, p.Dst, p.Node, p.Where, p.Verdict, tail(", ", p.Why))
	})
	say(trace.PacketEnd, func(e *trace.Event, p *trace.Flow) string {
		s := fmt.Sprintf("%s to %s: %s", p.From, p.To, p.Result)
		switch {
		case p.Pod != "":
			s += fmt.Sprintf(" by %s (%s)", p.Pod, p.Backend)
		case p.Backend != "":
			s += " by " + p.Backend
		}
		return s
	})
}

func explainCRI(e *trace.Event, p *trace.RuntimeCall) string {
	what := podContainer(p.Pod, p.Container)
	if p.Error != "" {
		return fmt.Sprintf("the runtime on %s failed at %s for %s: %s", p.Node, p.Call, what, p.Error)
	}
	after := ""
	if p.Took > 0 {
		after = " after " + took(p.Took)
	}
	switch p.Call {
	case "RunPodSandbox":
		return fmt.Sprintf("the runtime on %s made the sandbox of %s%s: the pod has a network of its own", p.Node, p.Pod, after)
	case "PullImage":
		return fmt.Sprintf("the runtime on %s pulled %s%s", p.Node, p.Arg, after)
	case "CreateContainer":
		return fmt.Sprintf("the runtime on %s created container %s%s%s", p.Node, what, after, tail(", assumed ", p.Assumed))
	case "StartContainer":
		return fmt.Sprintf("the runtime on %s started container %s%s", p.Node, what, after)
	case "StopContainer":
		return fmt.Sprintf("the runtime on %s stopped container %s%s", p.Node, what, after)
	case "RemoveContainer":
		return fmt.Sprintf("the runtime on %s removed container %s", p.Node, what)
	case "StopPodSandbox":
		return fmt.Sprintf("the runtime on %s stopped the sandbox of %s", p.Node, p.Pod)
	case "RemovePodSandbox":
		return fmt.Sprintf("the runtime on %s removed the sandbox of %s", p.Node, p.Pod)
	}
	return fmt.Sprintf("the runtime on %s did %s for %s%s", p.Node, p.Call, what, after)
}

func consequence(p *trace.Probe) string {
	switch {
	case p.Probe == "readiness" && p.OK:
		return ": it may receive traffic"
	case p.Probe == "readiness" && p.Failures >= p.Threshold:
		return ": it receives no more traffic"
	case p.Probe == "liveness" && !p.OK && p.Failures >= p.Threshold:
		return ": the kubelet restarts the container"
	case p.Probe == "startup" && p.OK:
		return ": from now on the other probes run"
	}
	return ""
}

func podContainer(pod, container string) string {
	if container == "" {
		return pod
	}
	return container + " of " + pod
}

func ready(s string) string {
	switch s {
	case "True":
		return "Ready"
	case "False":
		return "not Ready"
	case "Unknown":
		return "does not report (Ready is Unknown)"
	}
	return "Ready=" + s
}

func both(a, b string) string {
	if a == "" {
		return b
	}
	return a + tail(", ", b)
}

func brackets(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
