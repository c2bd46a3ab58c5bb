// Package glossary has the words of Kubernetes, etcd and Raft that kviz takes for granted,
// each with a sentence or two. The explorer's glossary and kviz why show the same ones.
//
// Kubernetes keeps its own at kubernetes.io/docs/reference/glossary; these are shorter and
// say where the explorer shows the thing. Start reading at [Concepts].
package glossary

import (
	"strings"

	"kviz/cluster/nearest"
)

// Concept is a word, and the pane of the explorer where it is seen.
type Concept struct {
	Word  string
	Means string
	Look  string // at what in the pane
	Pane  string // its name
}

// Words are those that have an entry.
func Words() (words []string) {
	for _, c := range Concepts {
		words = append(words, c.Word)
	}
	return words
}

// Find is the entry of a word as people type it: in any case, a part of a longer name
// ("pause"), with or without blanks ("resource version"); nil if there is none.
func Find(word string) *Concept {
	typed := plain(word)
	if typed == "" {
		return nil
	}
	for i, c := range Concepts {
		if plain(c.Word) == typed {
			return &Concepts[i]
		}
	}
	for i, c := range Concepts {
		for _, part := range strings.Fields(c.Word) {
			if plain(part) == typed {
				return &Concepts[i]
			}
		}
	}
	return nil
}

// Near is the word that a mistyped one most likely meant, or "".
func Near(word string) string { return nearest.To(word, Words()) }

func plain(word string) string {
	return strings.TrimSuffix(strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(word)), "s")
}

// Concepts are what somebody new meets on the screen, in the order in which they build on
// each other.
var Concepts = []Concept{
	{"object", "A thing that the cluster knows by kind, namespace and name, such as a pod: spec says what is wanted, status what is.", "its YAML, its history, its owners", "object"},
	{"pod", "One or more containers that are started together on one node and share an address. All else about workloads is about making pods.", "the squares on each node; o on one opens it", "map"},
	{"pause container", "The first container of every pod, which does nothing but sleep. It holds the pod's network and address, so that the other containers can stop and start without losing them; crictl pods lists it as the sandbox.", "the step sandbox of a pod", "node"},
	{"node", "A machine that runs pods. Its kubelet watches for the pods bound to it and reports how it is.", "what the kubelet did for each pod, step by step", "node"},
	{"Deployment", "Wants so many pods of one template, and replaces them a few at a time when the template changes. It makes a ReplicaSet for each template.", "its controller's runs", "queues"},
	{"ReplicaSet", "Wants so many pods of exactly one template, and makes or deletes pods until there are.", "its controller's runs", "queues"},
	{"Service", "One name and one virtual address for all pods that a label selector finds. No process listens there: every node has rules that lead on.", "the rules a packet meets on its way", "network"},
	{"EndpointSlice", "The addresses of a Service's pods, with which of them are ready. kube-proxy makes rules of it.", "the rules before and after it changed", "network"},
	{"API server", "The only program that talks to the store. Every other program reads and changes objects through it.", "a request on its way through the stages", "api"},
	{"admission", "Stages of the API server that change or refuse an object before it is stored: defaults, quotas, policies, webhooks.", "the stages mutat and admit of a request", "api"},
	{"RBAC", "The permissions: a Role lists verbs on resources, a RoleBinding gives it to somebody.", "the view access", "api"},
	{"revision", "The number of a write in the store; every write gets the next one. The whole history is in one order.", "the keys and their revisions", "store"},
	{"resourceVersion", "The revision of the store at which an object was written last. A write that names an older one is refused with 409 Conflict, because another client wrote first.", "metadata of an object", "object"},
	{"compaction", "The store drops the history before a revision. A watch from an older one is answered with 410 Gone.", "the oldest revision that is left", "store"},
	{"410 Gone", "The answer to a list or watch from a resourceVersion that is too old: the store has compacted it, or the watch cache no longer has it. The client lists again and watches from what it got.", "the oldest revision that is left", "store"},
	{"watch", "A request that is not answered once but goes on: the server tells of every change after a revision.", "the view watches: each watcher, and how far behind it is", "api"},
	{"watch cache", "The API server's own copy of each kind, fed by one watch at the store; all clients' watches and most reads are served from it.", "the view watches", "api"},
	{"informer", "A program's own copy of a kind: it lists once and then watches. What a program reads from it is true of a moment ago.", "the view informers: the copies beside the store", "queues"},
	{"work queue", "The keys of objects that a controller has yet to look at. A key that is in it already is not added twice.", "keys waiting, in process, delayed", "queues"},
	{"controller", "A loop that compares what is wanted with what is, and does the next thing to bring them together.", "its runs, and what each did", "queues"},
	{"reconcile", "One run of a controller over one key. It does not matter what changed: it looks at how things are.", "the runs of the controller", "queues"},
	{"level-triggered", "Acting on how things are instead of on what happened. An event that was missed is made up for by the next look.", "a run that does what a missed event did not", "queues"},
	{"scheduler", "Chooses a node for each pod that has none: filters leave those on which it can run, scores rank them.", "the matrix of filters and scores", "scheduler"},
	{"taint", "A mark on a node that keeps pods off which do not tolerate it.", "the column TaintToleration", "scheduler"},
	{"kubelet", "The agent on each node: it has the container runtime start what is bound to its node, and probes it.", "its steps for each pod", "node"},
	{"CRI", "The interface by which the kubelet tells the container runtime what to do: sandbox, image, container.", "the steps of a pod and how long each took", "node"},
	{"probe", "A look of the kubelet at a container: readiness decides whether a Service sends traffic, liveness whether it is restarted.", "the probes of a pod", "node"},
	{"kube-proxy", "Writes on each node the rules that lead from a Service's address to those of its pods.", "the rules, and the last change of them", "network"},
	{"Lease", "A small object that its holder renews. A holder that stops renewing it counts as gone: this is how a lost leader or node is noticed.", "renewTime and holderIdentity", "object"},
	{"leader election", "Several copies of a program run, one is active: the one that holds the Lease.", "who holds the Lease", "queues"},
	{"owner reference", "Says which object another one belongs to. When the owner goes, the garbage collector deletes what it owned.", "the owners of an object", "object"},
	{"finalizer", "A name in an object's metadata that keeps it from going: a deletion waits until the controller that put it on has tidied up and takes it off.", "the deletion of an object", "object"},
	{"Raft", "How the members of the store agree: one leads, sends its log to the others, and counts what most have as committed.", "the logs of the members", "store"},
	{"quorum", "More than half of the members. With it the store can write, without it nothing that would be new is agreed on.", "how many are up of how many", "store"},
	{"term", "The number of a leadership. Every election begins a new one, and no term has two leaders.", "the term of each member", "store"},
	{"commit", "A log entry is committed when a quorum has it on disk: it will not be lost any more.", "the mark in each log", "store"},
	{"learner", "A member that receives the log and does not count for the quorum, until it is promoted.", "the members", "store"},
	{"virtual time", "The cluster's clock. It can stand still, run slower and faster; everything in the cluster goes by it.", "the timeline", "events"},
}
