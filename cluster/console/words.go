package console

import (
	"kviz/cluster/console/etcdtool"
	"kviz/cluster/console/kubectl"
	"kviz/cluster/console/verbs"
	"kviz/cluster/control"
)

// Words are the console's commands, each with what may follow it: for whoever completes a
// line. What follows on is the tools that a node has.
func (c *Console) Words() []control.Word {
	var all []control.Word
	for _, name := range append(c.Commands(), "help") {
		w := control.Word{Name: name}
		switch name {
		case "kubectl", "k":
			w.Next = kubectl.Words()
		case etcdtool.Etcdctl, etcdtool.Etcdutl:
			w.Next = etcdtool.Words(name)
		case "kviz":
			w.Next = verbs.Words()
		case "on":
			if c.cfg.Nodes != nil {
				w.Next = control.Words(c.cfg.Nodes.Tools()...)
			}
		}
		all = append(all, w)
	}
	return all
}
