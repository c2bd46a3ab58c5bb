# The FlowSchema first, a level with queues, and the whole namespace as a group.
storm
schema quiet 8999 "{kind: Group, group: {name: \"system:serviceaccounts:tenant\"}}"
level quiet "{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 20}}"
kubectl wait --for=condition=Dangling=False flowschema/tenant
storm
