// Package upstream holds no code but tests: kube-scheduler's own plugins, linked in from
// k8s.io/kubernetes, judge and score the pods of random clusters beside this scheduler, and
// the two have to agree on every verdict, reason, score and total, on what pods that come
// and go change, and on which events may help a pod.
//
// A failing case says its seed: go test ./cluster/scheduler/upstream -run Cycles -seed N.
// -cases makes them more.
package upstream
