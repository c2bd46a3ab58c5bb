package scheduler

import (
	"container/heap"

	"kviz/cluster/scheduler/framework"
)

// podHeap is a priority queue of pods that knows each pod's place, so that one
// in the middle can be taken out.
type podHeap struct {
	less func(a, b *framework.QueuedPodInfo) bool
	pods []*framework.QueuedPodInfo
}

func (h *podHeap) Len() int           { return len(h.pods) }
func (h *podHeap) Less(i, j int) bool { return h.less(h.pods[i], h.pods[j]) }
func (h *podHeap) Swap(i, j int) {
	h.pods[i], h.pods[j] = h.pods[j], h.pods[i]
	h.pods[i].Index, h.pods[j].Index = i, j
}

// Push and Pop are container/heap's; use add, first, take and remove.
func (h *podHeap) Push(x any) {
	p := x.(*framework.QueuedPodInfo)
	p.Index = len(h.pods)
	h.pods = append(h.pods, p)
}

// Pop is container/heap's.
func (h *podHeap) Pop() any {
	n := len(h.pods) - 1
	p := h.pods[n]
	h.pods[n] = nil
	h.pods = h.pods[:n]
	p.Index = -1
	return p
}

func (h *podHeap) add(p *framework.QueuedPodInfo)    { heap.Push(h, p) }
func (h *podHeap) take() *framework.QueuedPodInfo    { return heap.Pop(h).(*framework.QueuedPodInfo) }
func (h *podHeap) remove(p *framework.QueuedPodInfo) { heap.Remove(h, p.Index) }
func (h *podHeap) fix(p *framework.QueuedPodInfo)    { heap.Fix(h, p.Index) }

// first is the pod that would be taken next; nil if there is none.
func (h *podHeap) first() *framework.QueuedPodInfo {
	if len(h.pods) == 0 {
		return nil
	}
	return h.pods[0]
}
