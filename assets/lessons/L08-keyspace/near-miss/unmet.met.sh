# miss: unmet: the comparison held, and so the put was made
printf 'mod("/lesson/color") = "0"\n\nput /lesson/color mine\n\nget /lesson/color\n\n' | etcdctl txn
