// Package beside is for tests that run one of Kubernetes' own programs beside kviz: it builds the program from
// Kubernetes' tree, serves a cluster that programs of other processes reach, and starts the program in the place
// that the cluster leaves free (cluster.Config.Without).
//
// The tests are in modules of their own (cluster/scheduler/proof, cluster/controller/proof), so that what the programs
// are made of is no part of kviz. Start reading at [Serve].
package beside
