package cluster

import (
	"slices"

	"kviz/cluster/runtime"
)

// Running lists the containers that run on a node, as "namespace/pod container ID";
// on all nodes if it is "".
func (c *Cluster) Running(node string) (list []string, err error) {
	doErr := c.k.Do(func() {
		for _, n := range c.nodes {
			if node != "" && n.name != node {
				continue
			}
			pods, e := n.runtime.Pods()
			if e != nil {
				err = e
				return
			}
			for _, s := range pods {
				st, e := n.runtime.PodStatus(s.PodUID)
				if e != nil {
					err = e
					return
				}
				for _, x := range st.Containers {
					if x.State == runtime.Running {
						list = append(list, s.Namespace+"/"+s.Name+" "+x.ID)
					}
				}
			}
		}
	})
	slices.Sort(list)
	if doErr != nil {
		err = doErr
	}
	return list, err
}
