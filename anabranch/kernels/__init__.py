"""The compiled loops: everything that runs once per sample, and nothing else.

All of them are strict IEEE arithmetic in a fixed order (no `fastmath`), so a row's result
never depends on how many rows came with it: "block equals loop" holds bit for bit.
Parameter vectors are padded with zeros to a multiple of `lanes.WIDTH`; the thresholds
stand behind the padding.
"""
