"""An elastic body that is clamped at one end, identified from markers in motion capture: how it sags and how it rings.

release   who moves, when the body was let go, and where it was held before
specimen  what is known of the body, and its pose found from the markers
body      finite elements: where the body rests and how it vibrates, for given E and nu
ring      the ring-down by linear least squares for given frequencies and damping ratios
fit       both together: values, intervals, verdicts
predict   the rest of the record, and sags under other loads
"""
