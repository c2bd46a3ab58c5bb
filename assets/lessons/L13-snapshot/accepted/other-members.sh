# A copy from another member, other members lost, another name in the wrong list, and the revision raised by another number.
copied copy.db --endpoints=b:2379
kviz fault crash member/a
lost wipe a b
mistaken copy.db c
kviz restore copy.db --bump-revision 5000 --mark-compacted
front
