# miss: flooded: requests wait in queues, and none is turned down; send more of them, or leave fewer seats
kviz apiserver concurrency 1
kviz apiserver storm alice 100
kviz apiserver concurrency 600
