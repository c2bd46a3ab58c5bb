# miss: mute: member/b follows; make the leader mute
kviz fault mute member/b
wrote
