# miss: mute: member/a hears nobody either now; mute is one way only
kviz fault cut member/$old
elected $old
