# miss: flooded: requests wait in queues, and none is turned down; it takes more of them, or fewer seats
kviz apiserver concurrency 1
kviz apiserver storm alice 100
kviz apiserver concurrency 600
