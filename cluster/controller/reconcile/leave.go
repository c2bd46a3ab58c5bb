package reconcile

// leaving is how a controller ends by itself, while its process goes on with the others: what
// it works on comes to an end, and nothing else begins.
//
// In Kubernetes this is the end of the context of a controller's Run, which shuts its queue
// down and waits for the workers.
type leaving struct {
	busy int    // runs that have begun and not ended
	then func() // what to do when there are none; nil while the controller stays
}

// Leave has the controller take no more keys, forget those that wait, and hear of nothing
// more; then is called once nothing is under way, at once if nothing is. It is called on the
// kernel's goroutine.
func (e *Env) Leave(then func()) {
	e.Informers.Leave()
	for _, l := range e.loops {
		l.Drop()
	}
	if e.busy == 0 {
		then()
		return
	}
	e.leaving.then = then
}

// begin and end are those of a run.
func (e *Env) begin() { e.busy++ }

func (e *Env) end() {
	if e.busy--; e.busy == 0 && e.leaving.then != nil && e.Process.Alive() { // else it was cut off
		then := e.leaving.then
		e.leaving.then = nil
		then()
	}
}
