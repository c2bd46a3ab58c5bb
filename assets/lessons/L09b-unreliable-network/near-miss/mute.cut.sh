# miss: mute: member/a receives nothing now either; mute is one way only
kviz fault cut member/$old
elected $old
