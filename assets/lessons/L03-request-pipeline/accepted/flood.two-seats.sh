# More seats, and more requests.
kviz apiserver concurrency 2
kviz apiserver storm alice 1200
kviz apiserver concurrency 600
