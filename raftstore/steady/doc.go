// Package steady is for tests that must fail only because of the code: on a busy machine, on a
// slow one and at any hour they say the same.
//
// A test depends on the machine in four ways, and there is one answer to each:
//
//   - [Check] is rapid.Check with a seed that is fixed. Fresh seeds are for .ci/explore.
//   - [Bubble] gives a test virtual machine time: the members of a store elect, time out and
//     wait by it, however long the machine takes to run them.
//   - [Await] waits for something in real time, with the one limit that all tests share.
//   - [RealTime] is for what only the real machine shows (processes, sockets, terminals): such
//     tests take turns, so that none competes with another.
//
// No test asserts that something took less than so much real time: that is a benchmark's.
package steady
