"""Colours of activities, the same in the page and in pictures."""

# Close to the Okabe-Ito palette, with different lightness for colour-blind readers. Waiting for
# others is grey.
LIGHT = {
    "run": "#0BA97C",
    "blocked": "#0072B2",
    "gil": "#D55E00",
    "input": "#DADDE1",
    "room": "#616B76",
    "step": "#D98FB8",
}
DARK = {
    "run": "#1FAE84",
    "blocked": "#2578BE",
    "gil": "#EE7B24",
    "input": "#343A42",
    "room": "#5F6975",
    "step": "#E3A5C8",
}
