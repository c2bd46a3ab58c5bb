package fault

import "kviz/cluster/trace"

// StorageCalls are the calls of a storage driver that can fail, by short names.
var StorageCalls = []string{"create", "delete", "attach", "detach", "expand", "stage", "publish", "unpublish", "unstage", "node-expand"}

// Driver is a storage driver.
type Driver interface {
	Slow
	Healer
	Runtime
	Disk
	Fail(call string, why []trace.ID) error
}

// Faults of the storage driver and of its sidecars.
var (
	_ = of("csi-driver", append([]Row{
		{
			Name: "fail", Heals: "heal", Args: "CALL", do: with(word("", "a call of the driver", StorageCalls...), Driver.Fail),
			Ways: ways(say("Have it make no disk: claims stay Pending", "create"), say("Have it attach no disk", "attach"), say("Have it mount no disk on a node", "stage"),
				say("Have it give no volume to a pod", "publish"), say("Have it delete no disk", "delete"), ask("Have another call fail …", "which call: detach, expand, unpublish, unstage or node-expand")),
			Means: "Have each further call of a kind answer with an error: create, delete, attach (ControllerPublishVolume), detach, expand, stage, publish (NodePublishVolume), unpublish, unstage or node-expand.",
		},
		{
			Name: "full", Heals: "free", Ways: ways(say("Leave no room for a further disk")),
			Means: "Leave the disk service no room: CreateVolume and ControllerExpandVolume answer ResourceExhausted.",
			do:    act(func(d Driver, why []trace.ID) error { return d.Full(true, why) }),
		},
		{
			Name: "free", Repairs: true, Ways: ways(say("Make room for disks again")), Means: "Undo full.",
			do: act(func(d Driver, why []trace.ID) error { return d.Full(false, why) }),
		},
		{
			Name: "stop", Heals: "start", Ways: ways(say("Stop it: every call is refused")),
			Means: "Stop it, on its controller and on every node: each call answers Unavailable. What is mounted stays mounted.",
			do:    act(func(d Driver, why []trace.ID) error { return d.Run(false, why) }),
		},
		{
			Name: "start", Repairs: true, Ways: ways(say("Start it again")), Means: "Start what was stopped.",
			do: act(func(d Driver, why []trace.ID) error { return d.Run(true, why) }),
		},
		{
			Name: "heal", As: []string{"fast", "free", "start"}, Repairs: true, do: act(Driver.Heal), Ways: ways(say("Make it whole again")),
			Means: "Have every call work again, as fast as it was.",
		},
	}, slowRows("call", "Have each call take so much longer. Sidecars wait 10 or 15 s for an answer, kubelets 2 min; the call goes on without them.", "20s",
		say("Make it slower than its sidecars wait", "20s"), ask("Make it slower by …", "how much longer each call takes, such as 5s"), say("Make it as fast as it was"))...)...)

	_ = of("csi-provisioner", sidecarRows("Stop it: no volume is made, and none deleted")...)
	_ = of("csi-attacher", sidecarRows("Stop it: no volume is attached, and none detached")...)
	_ = of("csi-resizer", sidecarRows("Stop it: no volume grows")...)
)

func sidecarRows(stopped string) []Row {
	return append(processRows(stopped, killed), slowRows("run", "Have each of its runs take so much longer.", "2s",
		say("Have its runs take 2 s longer", "2s"), ask("Have its runs take longer by …", "how much longer each run takes, such as 500ms"), say("Let its runs be as short as they were"))...)
}
