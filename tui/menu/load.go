package menu

import "kviz/tui/action"

// AskLoad asks which load is to be set for what.
func AskLoad() action.Prompt {
	return action.Prompt{
		For: action.ForLoad, Title: "Which load for what?", Text: "deployment/web --cpu 0.5",
		Intro: "As after kviz load: a pod or a workload, then --cpu, --memory or --metric NAME=, each with a figure or a curve (0.2..2/5m rises, 0.2~2/10m is a wave). --off takes it away; kviz help load tells more.",
	}
}
