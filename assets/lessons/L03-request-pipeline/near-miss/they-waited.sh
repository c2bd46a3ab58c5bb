# So many requests wait in their queues, and none is turned down.
first
stranger
jane
typo
misnamed
late
storm 1 100
