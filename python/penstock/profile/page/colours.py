"""The colours of a profile: each has one meaning, in the page and in pictures."""

# After Okabe and Ito, who chose them for all kinds of colour vision. What waits for others is grey.
LIGHT = {
    "run": "#009E73",
    "blocked": "#0072B2",
    "gil": "#D55E00",
    "input": "#DADDE1",
    "room": "#98A1AB",
    "step": "#CC79A7",
}
DARK = {
    "run": "#1FAE84",
    "blocked": "#3D93D6",
    "gil": "#EE7B24",
    "input": "#343A42",
    "room": "#717C88",
    "step": "#DB93BB",
}
