# The level was forgotten: the FlowSchema dangles.
storm
schema tenant 500 "$robot"
storm
