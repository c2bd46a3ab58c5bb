# miss: slow: this is queue/deployment; the queue of this lesson is replicaset
kviz fault slow queue/deployment 1s
